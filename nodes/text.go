package nodes

import (
	"context"

	"sluice/flow"
)

// The text kind is a constant: a prompt, a list of labels or a document that is
// stored in the flow.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "text", Title: "Text", Group: groupText, Icon: "type",
		Summary: "A fixed text.",
		Doc: "Outputs the same text in every run, exactly as typed. Use it for text that several nodes share, such as instructions or a " +
			"list of labels. To put values into a text, use a template.",
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldArea, Typed: true, Default: "",
				Help: "The text. Braces have no special meaning here."},
		},
		Outputs: []flow.Port{{Name: "text", Title: "Text", Type: flow.TypeText, Help: "The text as typed."}},
		Example: flow.Example{
			Config:  map[string]any{"text": "Be brief and friendly."},
			Outputs: map[string]any{"text": "Be brief and friendly."},
		},
		Run: func(_ context.Context, in *flow.In) (flow.Out, error) {
			return flow.Out{Outputs: map[string]any{"text": in.Text("text")}}, nil
		},
	}
})
