package nodes

import (
	"context"

	"sluice/flow"
	"sluice/nodes/expression"
)

// expressionPorts are reserved: values of an expression cannot have these names.
var expressionPorts = []string{"expression", "values"}

// The expression kind computes a value.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "expression", Title: "Expression", Group: groupText, Icon: "square-function",
		Summary: "Computes a value from others.",
		Doc: "Evaluates an expression in CEL (Common Expression Language). Each name under *Values* becomes an input port and a variable of the expression.\n\n" +
			"Examples: `price * double(amount)`, `first + \" \" + last`, `items.filter(i, i.price > 10).map(i, i.name)`, `size(text) > 100 ? \"long\" : \"short\"`, " +
			"`{\"total\": total, \"paid\": total == 0}`. Whole numbers and numbers with decimals compare with each other; to calculate with both, write double(value). " +
			"An expression may use a limited amount of CPU time.",
		Fields: []flow.Field{
			{Name: "expression", Title: "Expression", Type: flow.FieldArea, Typed: true, Required: true, Help: "A CEL expression, such as price * double(amount)."},
			{Name: "values", Title: "Values", Type: flow.FieldList, Typed: true, Default: []any{"value"}, Help: "Values that the expression uses. Each becomes a port."},
		},
		DynamicSchema: func(n *flow.Node) flow.DynamicSchema {
			return flow.DynamicSchema{Fields: namedInputs(valueNames(n.Config["values"]), expressionPorts, "A value of the expression.")}
		},
		Outputs: []flow.Port{{Name: "value", Title: "Value", Type: flow.TypeAny, Help: "The result."}},
		Example: flow.Example{
			Config:  map[string]any{"expression": `price * double(amount)`, "values": []any{"price", "amount"}},
			Ports:   map[string]any{"price": flow.Number(2.5), "amount": flow.Number(4)},
			Outputs: map[string]any{"value": flow.Number(10)},
		},
		Check: checkExpression,
		Tool:  &flow.ToolUse{},
		Run:   evaluate,
	}
})

// checkExpression compiles the expression with the names of its values, so that the editor
// reports mistakes.
func checkExpression(n *flow.Node) []flow.Problem {
	if problems := checkPortNames(n, "values", expressionPorts); problems != nil {
		return problems
	}
	source, _ := n.Config["expression"].(string)
	if source == "" {
		return nil // missing, which is reported as such
	}
	if _, err := expression.Compile(source, valueNames(n.Config["values"])...); err != nil {
		return []flow.Problem{{Pointer: "/expression", Code: string(flow.CodeExpressionFailed), Detail: err.Error()}}
	}
	return nil
}

// evaluate evaluates the expression. Package expression caches compiled expressions, so most
// runs compile nothing.
func evaluate(ctx context.Context, in *flow.In) (flow.Out, error) {
	names := valueNames(in.Config["values"])
	e, err := expression.Compile(in.Text("expression"), names...)
	if err != nil {
		return flow.Out{}, err
	}
	values := map[string]any{}
	for _, name := range names {
		values[name] = in.Config[name]
	}
	result, err := e.Eval(ctx, values)
	if err != nil {
		return flow.Out{}, err
	}
	return flow.Out{Outputs: map[string]any{"value": result}}, nil
}
