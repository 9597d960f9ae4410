package nodes

import (
	"context"

	"sluice/flow"
)

// The template kind inserts values into a text. Package flow fills in
// templates, once and without any logic, before the node runs.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "template", Title: "Template", Group: groupText, Icon: "braces",
		Summary: "Inserts values into a text.",
		Doc: "Each `{{name}}` in the text becomes an input port, and the value that arrives there takes its place. " +
			"`{{name.path}}` takes a member of an object or, with a number, an item of a list; both share the port `name`. " +
			"Text is inserted unchanged, everything else as JSON. Inserted values are never expanded as templates. " +
			"Write `\\{{` for two literal braces.",
		Fields: []flow.Field{
			{Name: "template", Title: "Template", Type: flow.FieldArea, Typed: true, Required: true, Template: true,
				Help: "Type {{ to insert a value."},
		},
		Outputs: []flow.Port{{Name: "text", Title: "Text", Type: flow.TypeText, Help: "The text with the values in it."}},
		Example: flow.Example{
			Config:  map[string]any{"template": "Dear {{customer.name}},\n{{answer}}"},
			Ports:   map[string]any{"customer": map[string]any{"name": "Ada"}, "answer": "It arrives on Tuesday."},
			Outputs: map[string]any{"text": "Dear Ada,\nIt arrives on Tuesday."},
		},
		Run: func(_ context.Context, in *flow.In) (flow.Out, error) {
			return flow.Out{Outputs: map[string]any{"text": in.Text("template")}}, nil
		},
	}
})
