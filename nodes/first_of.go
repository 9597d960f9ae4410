package nodes

import (
	"context"

	"sluice/flow"
)

// The first_of kind joins branches. The engine decides which edge counts: it
// drops skipped ones and passes only the first of the rest (flow.Port.First).
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "first_of", Title: "First of", Group: groupControl, Icon: "merge",
		Summary: "Joins branches: outputs the first value that was not skipped.",
		Doc: "Connect the ends of several branches to `values`, in order of preference. The node passes on the first one, in that " +
			"order, that was not skipped, as soon as all before it have been skipped. If all are skipped, so is the node.\n\n" +
			"Use it after a condition to continue with the branch that was taken, or to fall back to another source when a node " +
			"that routes its errors has failed.",
		Inputs: []flow.Port{{Name: "values", Title: "Values", Type: flow.TypeAny, Required: true, List: true, First: true,
			Help: "Edges in order of preference."}},
		Outputs: []flow.Port{{Name: "value", Title: "Value", Type: flow.TypeAny, Passes: "values", Help: "The first value that was not skipped."}},
		Example: flow.Example{
			Ports:   map[string]any{"values": []any{"from the cache", "from the model"}},
			Outputs: map[string]any{"value": "from the cache"},
		},
		Run: firstOf("values"),
	}
})

// firstOf returns a Run function that outputs the first value at a port.
func firstOf(port string) func(context.Context, *flow.In) (flow.Out, error) {
	return func(_ context.Context, in *flow.In) (flow.Out, error) {
		values, _ := in.Ports[port].([]any)
		if len(values) == 0 {
			return flow.Out{}, nil
		}
		return flow.Out{Outputs: map[string]any{"value": values[0]}}, nil
	}
}
