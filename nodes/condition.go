package nodes

import (
	"context"
	"strconv"

	"sluice/flow"
	"sluice/nodes/expression"
)

// The condition kind sends a value to one of two ports. The engine skips the
// nodes that depend only on the other one.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "condition", Title: "Condition", Group: groupControl, Icon: "split",
		Summary: "Sends a value to one of two branches.",
		Doc: "Evaluates an expression in CEL (Common Expression Language) over `value` and passes the value on through `true` or " +
			"`false`. Nodes that depend only on the other port are skipped. " +
			"Join the two branches with first_of.\n\n" +
			"Examples: `value > 10`, `value == \"refund\"`, `value.score >= 0.5 && value.label != \"spam\"`, " +
			"`\"urgent\" in value.tags`, `value.matches(\"^[A-Z]{2}[0-9]+$\")`, `size(value) > 200`, `has(value.email)`, " +
			"`value.items.exists(i, i.price > 100)`. Whole numbers and numbers with decimals compare with each other; to calculate " +
			"with both, write double(value). An expression may use a limited amount of CPU time.",
		Fields: []flow.Field{
			{Name: "expression", Title: "True if", Type: flow.FieldText, Typed: true, Required: true, Syntax: flow.SyntaxCEL,
				Help: "True or false, for example value.score > 0.5."},
		},
		Inputs: []flow.Port{{Name: "value", Title: "Value", Type: flow.TypeAny, Required: true, Help: "The value to test."}},
		Outputs: []flow.Port{
			{Name: "true", Title: "True", Type: flow.TypeAny, Passes: "value", Branch: true, Help: "The value, when the expression is true."},
			{Name: "false", Title: "False", Type: flow.TypeAny, Passes: "value", Branch: true, Help: "The value, when it is false."},
		},
		Example: flow.Example{
			Config:  map[string]any{"expression": `value.score >= 0.5`},
			Ports:   map[string]any{"value": map[string]any{"label": "billing", "score": flow.Number(0.82)}},
			Outputs: map[string]any{"true": map[string]any{"label": "billing", "score": flow.Number(0.82)}},
		},
		Check: checkCondition,
		Run:   decide,
	}
})

// checkCondition compiles the expression and checks that its result is a boolean.
func checkCondition(n *flow.Node) []flow.Problem {
	source, _ := n.Config["expression"].(string)
	if source == "" {
		return nil // missing, which is reported as such
	}
	e, err := expression.Compile(source)
	if err == nil {
		err = e.CheckBoolean()
	}
	if err != nil {
		return []flow.Problem{{Pointer: "/expression", Code: string(flow.CodeExpressionFailed), Detail: err.Error()}}
	}
	return nil
}

// decide evaluates the expression. A step that outputs nothing on a port marks
// the edges from that port as dead.
func decide(ctx context.Context, in *flow.In) (flow.Out, error) {
	e, err := expression.Compile(in.Text("expression"))
	if err != nil {
		return flow.Out{}, err
	}
	value := in.Ports["value"]
	taken, err := e.Test(ctx, value)
	if err != nil {
		return flow.Out{}, err
	}
	return flow.Out{Outputs: map[string]any{strconv.FormatBool(taken): value}}, nil
}
