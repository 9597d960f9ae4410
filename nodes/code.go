package nodes

import (
	"context"
	_ "embed" // the types
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/javascript"
)

// CodeTypes declares in TypeScript what JavaScript in code nodes can use.
//
//go:embed code.d.ts
var CodeTypes string

// codePorts are the reserved names: inputs and outputs of code cannot have them.
var codePorts = []string{"code", "inputs", "outputs"}

// CodeRunner runs programs; *javascript.Runner implements it. Errors caused by the program
// are *javascript.Error.
type CodeRunner interface {
	Run(ctx context.Context, group string, p javascript.Program) (javascript.Result, error)
}

// errCodeOff is returned when the operator has turned code off.
var errCodeOff = flow.Errorf(flow.CodeCodeFailed, "Code is turned off on this server (SLUICE_CODE=off). Ask its operator to turn it on.")

// The code kind runs JavaScript.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "code", Title: "Code", Group: groupText, Icon: "braces", Class: flow.Compute,
		Summary: "Runs JavaScript that you write.",
		Doc: "Runs a JavaScript module (ES2023). Its default export is a function of an object with the values of the input ports:\n\n" +
			"```js\nexport default function ({ items, rate }) {\n  const total = items.reduce((sum, item) => sum + item.price, 0);\n  return { total, tax: total * rate };\n}\n```\n\n" +
			"Each name under *Inputs* becomes an input port. Without *Outputs*, the return value goes to the port `result`. With them, " +
			"it returns an object, and each name under *Outputs* becomes an output port; a name missing from the object has no value. The function may be async. Values are JSON: " +
			"texts, numbers, booleans, null, lists and objects, in which names that are whole numbers come first. A whole number that JavaScript would round, such as a 64-bit ID, is a BigInt; values that are passed on keep every digit. A file is an object such as `{\"file\": \"file_…\"}` and can be passed on.\n\n" +
			"`console.log` writes to the log of the step (64 KiB), which the run's page shows.\n\n" +
			"Code has no files, network, timers, environment or modules. `Date` says when the run was created, and `Math.random` follows the run, so that a rerun gives the same. " +
			"The time zone is UTC, and there is no `Intl`: `toLocaleString` and its like throw if they get a locale or options, such as `timeZone`, because they could not honor them. " +
			"`localeCompare` sorts as in browsers, also with `numeric` and `sensitivity`, and throws for languages and options that it does not know.\n\n" +
			"It may use 10 seconds of CPU time and 128 MiB of memory; beyond that, the step fails with `code_failed` and the line.",
		Fields: []flow.Field{
			{Name: "code", Title: "Code", Type: flow.FieldArea, Typed: true, Syntax: flow.SyntaxJavaScript, Max: ptr(javascript.MaxSource),
				Default: "export default function ({ value }) {\n  return value;\n}\n", Help: "A JavaScript module with a default function."},
			{Name: "inputs", Title: "Inputs", Type: flow.FieldList, Typed: true, Default: []any{"value"}, Help: "Values that the function gets. Each becomes a port."},
			{Name: "outputs", Title: "Outputs", Type: flow.FieldList, Typed: true, Help: "Members of the object that the function returns. Each becomes a port. Empty: one port, result."},
		},
		DynamicSchema: func(n *flow.Node) flow.DynamicSchema {
			shape := flow.DynamicSchema{Fields: namedInputs(valueNames(n.Config["inputs"]), codePorts, "A value that the function gets."), Outputs: namedOutputs(portNames(n.Config["outputs"]), codePorts, "A value that the function returns.")}
			if len(shape.Outputs) == 0 {
				shape.Outputs = []flow.Port{{Name: "result", Title: "Result", Type: flow.TypeAny, Help: "What the function returned."}}
			}
			return shape
		},
		Example: flow.Example{
			Config:  map[string]any{"code": "export default ({ words }) => words.map((w) => w.toUpperCase());", "inputs": []any{"words"}},
			Ports:   map[string]any{"words": []any{"a", "b"}},
			Outputs: map[string]any{"result": []any{"A", "B"}},
		},
		Check: func(n *flow.Node) []flow.Problem { return checkCode(d, n) },
		Tool:  &flow.ToolUse{},
		Run:   func(ctx context.Context, in *flow.In) (flow.Out, error) { return runCode(ctx, d, in) },
	}
})

// checkCode compiles a typed program, so that the editor shows a syntax error before the
// first run.
func checkCode(d Deps, n *flow.Node) []flow.Problem {
	problems := append(checkPortNames(n, "inputs", codePorts), checkPortNames(n, "outputs", codePorts)...)
	if d.CodeOff {
		return append(problems, flow.Problem{Pointer: "/code", Code: "invalid", Detail: errCodeOff.Message})
	}
	source, typed := n.Config["code"].(string)
	if !typed {
		return problems // the default, or no text, which is reported as such
	}
	if err := javascript.Check(source); err != nil {
		problems = append(problems, flow.Problem{Pointer: "/code", Code: "invalid", Detail: atLine(err)})
	}
	return problems
}

// atLine returns the message of an error, prefixed by its line if that is known.
func atLine(e *javascript.Error) string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("Line %d: %s", e.Line, e.Message)
}

// runCode runs the program in a child process. Its clock and random numbers come from the
// origin of the step, so that a retry or a rerun computes the same. The log is returned
// even if the program fails.
func runCode(ctx context.Context, d Deps, in *flow.In) (flow.Out, error) {
	if d.CodeOff {
		return flow.Out{}, errCodeOff
	}
	origin, err := in.Origin(ctx)
	if err != nil {
		return flow.Out{}, err
	}
	if d.Code == nil {
		return flow.Out{}, errAbsent
	}
	values := &flow.Object{}
	for _, name := range valueNames(in.Config["inputs"]) {
		values.Set(name, in.Config[name])
	}
	result, err := d.Code.Run(ctx, string(in.WorkspaceID), javascript.Program{
		Source: in.Text("code"), Inputs: flow.EncodeJSON(values), Time: origin.Time, Seed: origin.Seed,
	})
	out := flow.Out{Log: result.Log}
	if fault, ok := errors.AsType[*javascript.Error](err); ok {
		return out, flow.Errorf(flow.CodeCodeFailed, "%s", atLine(fault))
	}
	if err != nil {
		return out, err
	}
	out.Outputs, err = codeOutputs(result.Value, portNames(in.Config["outputs"]))
	return out, err
}

// codeOutputs maps the value that a program returned to ports: to "result", or the members
// of an object to the ports in names.
func codeOutputs(returned json.RawMessage, names []string) (map[string]any, error) {
	if returned == nil {
		return nil, flow.Errorf(flow.CodeCodeFailed, "The function returned nothing. End it with return and a value, or return null.")
	}
	value, err := flow.DecodeJSON(returned)
	if err != nil {
		return nil, flow.Errorf(flow.CodeCodeFailed, "The return value is not valid: %v.", err)
	}
	if len(names) == 0 {
		return map[string]any{"result": value}, nil
	}
	object, ok := flow.AsMap(value)
	if !ok {
		return nil, flow.Errorf(flow.CodeCodeFailed, "The function must return an object with the names under Outputs, but returned a %s.", flow.TypeOf(value))
	}
	for _, name := range sorting.Keys(object) {
		if !slices.Contains(names, name) {
			return nil, flow.Errorf(flow.CodeCodeFailed, "The function returned %q, which is not under Outputs. Add it there.", name)
		}
	}
	return object, nil
}
