package nodes

import (
	"context"

	"sluice/flow"
)

// The similarity kind compares the meaning of two texts.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "similarity", Title: "Similarity", Group: groupBuiltin, Icon: "equal-approximately", Class: flow.Compute,
		Summary: "Compares the meaning of two texts.",
		Doc: "The score is 1 for two texts with the same meaning, about 0 for unrelated ones and rarely less. Use it to find duplicates, or to " +
			"check an answer against an expected one. An empty text is similar to nothing.\n\n" + builtinNote +
			"Names and numbers have little weight: two sentences that differ only in a date are very similar.",
		Fields: []flow.Field{
			{Name: "a", Title: "A", Type: flow.FieldArea, Required: true, Help: "The first text, in English, of at most 200,000 characters."},
			{Name: "b", Title: "B", Type: flow.FieldArea, Required: true, Help: "The text to compare it with."},
		},
		Outputs: []flow.Port{{Name: "score", Title: "Score", Type: flow.TypeNumber, Help: "Similarity from -1 to 1."}},
		Example: flow.Example{Ports: map[string]any{"a": "Where is my parcel?", "b": "My package has not arrived."}},
		Tool:    &flow.ToolUse{},
		Run:     func(ctx context.Context, in *flow.In) (flow.Out, error) { return similarity(ctx, d.Model, in) },
	}
})

// similarity outputs how close the meanings of two texts are: 1 for the same meaning, about
// 0 for unrelated texts.
func similarity(ctx context.Context, model Model, in *flow.In) (flow.Out, error) {
	texts, err := modelTexts(in, "a", "b")
	if err != nil {
		return flow.Out{}, err
	}
	score, err := model.Similarity(ctx, string(in.WorkspaceID), texts[0], texts[1])
	if err != nil {
		return flow.Out{}, modelError(ctx, err)
	}
	return flow.Out{Outputs: map[string]any{"score": flow.Number(score)}}, nil
}
