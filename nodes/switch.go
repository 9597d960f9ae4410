package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/nodes/expression"
)

// Options of the field "by".
const (
	switchEqual      = "equal to"
	switchExpression = "expression"
)

// elsePort is the port for a value that matches no case.
const elsePort = "else"

// maxCases bounds the cases of one switch.
const maxCases = 50

// The switch kind sends a value to one of many branches.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "switch", Title: "Switch", Group: groupControl, Icon: "route",
		Summary: "Sends a value to one of many branches.",
		Doc: "The value leaves through the port of the first case that matches, or `else` if none does. Nodes on the other branches are skipped. Join the branches with an output or with *First of*.\n\n" +
			"*Equal to* compares `on`, or the value itself without it, with the text of each case, such as the labels of a classifier: connect `label` to `on`. The port of a case has its " +
			"name in lowercase with `_` for other characters: `Billing question` is `billing_question`.\n\n" +
			"*Expression* tests a CEL expression over `value` for each case, such as `value.score > 0.8`. The port of a case is made of its name in `names`, in the same way; without one it is `case_1`, `case_2` ….",
		Fields: []flow.Field{
			{Name: "by", Title: "Compare", Type: flow.FieldSelect, Typed: true, Default: switchEqual, Options: []string{switchEqual, switchExpression}, Labels: []string{"With texts", "By conditions"}, Help: "How cases are tested."},
			{Name: "cases", Title: "Cases", Type: flow.FieldList, Typed: true, Required: true, Max: ptr(maxCases), SyntaxOf: caseSyntax, NamedBy: "names", Help: "Tested in this order. Each gets a port."},
			{Name: "names", Title: "Names", Type: flow.FieldList, Typed: true, More: true, Max: ptr(maxCases), Help: "One for each case by expression, in the same order. Names the port."},
			{Name: "ignore_case", Title: "Ignore case", Type: flow.FieldBoolean, Typed: true, More: true, Default: true, Help: "Upper and lower case match."},
		},
		DynamicSchema: switchSchema,
		Inputs: []flow.Port{
			{Name: "value", Title: "Value", Type: flow.TypeAny, Required: true, Help: "The value that is passed on."},
			{Name: "on", Title: "On", Type: flow.TypeAny, Help: "The value to compare. Not connected: Value."},
		},
		Outputs: []flow.Port{{Name: elsePort, Title: "Else", Type: flow.TypeAny, Passes: "value", Branch: true, Rest: true, Help: "The value, if no case matches."}},
		Example: flow.Example{
			Config:  map[string]any{"cases": []any{"Billing", "Shipping"}},
			Ports:   map[string]any{"value": "I was charged twice.", "on": "billing"},
			Outputs: map[string]any{"billing": "I was charged twice."},
		},
		Check: checkSwitch,
		Run:   choose,
	}
})

// switchSchema declares a port for each case.
func switchSchema(n *flow.Node) (shape flow.DynamicSchema) {
	titles := caseNames(n.Config)
	for i, port := range casePorts(n.Config) {
		if port != "" && !slices.ContainsFunc(shape.Outputs, func(p flow.Port) bool { return p.Name == port }) {
			shape.Outputs = append(shape.Outputs, flow.Port{Name: port, Title: titles[i], Type: flow.TypeAny, Passes: "value", Branch: true, Help: "The value, if this case matches."})
		}
	}
	return shape
}

// notInPort matches the characters of a case that are replaced by _ in the name of its port.
var notInPort = regexp.MustCompile(`[^a-z0-9]+`)

// caseSyntax returns the language of the cases.
func caseSyntax(n *flow.Node) string {
	if n.Config["by"] == switchExpression {
		return flow.SyntaxCEL
	}
	return ""
}

// caseNames returns what each case is called: its name, or else its text.
func caseNames(config map[string]any) []string {
	titles := slices.Clone(portNames(config["cases"]))
	if config["by"] == switchExpression {
		for i, name := range portNames(config["names"]) {
			if i < len(titles) && name != "" {
				titles[i] = name
			}
		}
	}
	return titles
}

// casePorts returns the port name of each case. A port is named after its case, so that edges
// stay attached when cases are reordered. The builder has the same rule (inspector/cases.ts), and
// both run the vectors in testdata/cases.json.
func casePorts(config map[string]any) []string {
	cases, named := portNames(config["cases"]), portNames(config["cases"])
	if config["by"] == switchExpression {
		named = portNames(config["names"])
	}
	ports := make([]string, min(len(cases), maxCases))
	for i := range ports {
		ports[i] = "case_" + strconv.Itoa(i+1)
		if i < len(named) {
			if name := strings.Trim(notInPort.ReplaceAllString(strings.ToLower(named[i]), "_"), "_"); name != "" {
				ports[i] = name[:min(len(name), 60)]
			}
		}
		if ports[i] == elsePort || ports[i] == flow.ErrorPort || ports[i][0] >= '0' && ports[i][0] <= '9' {
			ports[i] = "case_" + ports[i]
		}
	}
	return ports
}

// checkSwitch checks that each case has a text and a unique port name and, if the node
// compares by expression, compiles to a boolean expression.
func checkSwitch(n *flow.Node) (problems []flow.Problem) {
	ports := casePorts(n.Config)
	for i, text := range portNames(n.Config["cases"])[:len(ports)] {
		why := ""
		switch {
		case text == "":
			why = "is empty"
		case slices.Contains(ports[:i], ports[i]):
			why = fmt.Sprintf("has the same port as another: %s. Give it another name", ports[i])
		case n.Config["by"] == switchExpression:
			e, err := expression.Compile(text)
			if err == nil {
				err = e.CheckBoolean()
			}
			if err != nil {
				why = "cannot be used. " + err.Error()
			}
		}
		if why != "" {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer("cases"), Code: "invalid", Detail: fmt.Sprintf("case %d (%q) %s", i+1, text, why)})
		}
	}
	return problems
}

// choose passes the value to the port of the first case that matches.
func choose(ctx context.Context, in *flow.In) (flow.Out, error) {
	value := in.Ports["value"]
	on, compared := in.Ports["on"]
	if !compared {
		on = value
	}
	ports := casePorts(in.Config)
	for i, text := range portNames(in.Config["cases"])[:len(ports)] {
		fits, err := fitsCase(ctx, in, text, value, on)
		if err != nil {
			return flow.Out{}, err
		}
		if fits {
			return flow.Out{Outputs: map[string]any{ports[i]: value}}, nil
		}
	}
	return flow.Out{Outputs: map[string]any{elsePort: value}}, nil
}

// fitsCase reports whether a case matches: its expression is true for the value that is
// passed on, or its text equals on, as a number if both are numbers.
func fitsCase(ctx context.Context, in *flow.In, text string, passed, on any) (bool, error) {
	if in.Text("by") == switchExpression {
		e, err := expression.Compile(text)
		if err != nil {
			return false, err
		}
		return e.Test(ctx, passed)
	}
	if order, numbers := value.CompareNumbers(on, json.Number(text)); numbers {
		return order == 0, nil // 2.0 is 2
	}
	got := strings.TrimSpace(flow.Text(on))
	return got == text || in.Config["ignore_case"] == true && strings.EqualFold(got, text), nil
}
