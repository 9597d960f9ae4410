package nodes

import (
	"context"

	"sluice/flow"
	"sluice/providers/builtin"
)

// The summarize kind selects the most important sentences of a text.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "summarize", Title: "Summarize", Group: groupBuiltin, Icon: "scroll-text", Class: flow.Compute,
		Summary: "Extracts the most important sentences of a text.",
		Doc: "Chooses the sentences closest to what the whole text is about, leaves out those that repeat another, and gives them " +
			"in their order. Every word of the summary is the text's own.\n\n" + builtinNote +
			"A text with at most that many sentences is returned unchanged.",
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldArea, Required: true, Help: "What to summarize: English text of at most 200,000 characters."},
			{Name: "sentences", Title: "Sentences", Type: flow.FieldInteger, Default: flow.Number(3), Min: ptr(1), Max: ptr(builtin.MaxSentences),
				Help: "Sentences to pick."},
		},
		Outputs: []flow.Port{{Name: "summary", Title: "Summary", Type: flow.TypeText, Help: "The sentences, joined by spaces."}},
		Example: flow.Example{
			Config: map[string]any{"sentences": flow.Number(1)},
			Ports: map[string]any{"text": "The museum opens a new wing in May. It shows ships of the last two centuries. " +
				"Tickets for the new wing of the museum can be bought from April on. The café stays closed."},
		},
		Tool: &flow.ToolUse{},
		Run:  func(ctx context.Context, in *flow.In) (flow.Out, error) { return summarize(ctx, d.Model, in) },
	}
})

// summarize outputs the most important sentences of a text, unchanged and in their order.
func summarize(ctx context.Context, model Model, in *flow.In) (flow.Out, error) {
	text, err := modelText(in, "text")
	if err != nil {
		return flow.Out{}, err
	}
	sentences, err := wholeNumber(in, "sentences", 1, builtin.MaxSentences)
	if err != nil {
		return flow.Out{}, err
	}
	summary, err := model.Summarize(ctx, string(in.WorkspaceID), text, sentences)
	if err != nil {
		return flow.Out{}, modelError(ctx, err)
	}
	return flow.Out{Outputs: map[string]any{"summary": summary}}, nil
}
