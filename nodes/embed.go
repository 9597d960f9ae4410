package nodes

import (
	"context"

	"sluice/flow"
)

// The embed kind turns a text into a vector that other programs can compare.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "embed", Title: "Embed", Group: groupBuiltin, Icon: "waypoints", Class: flow.Compute,
		Summary: "Turns a text into a vector of what it means.",
		Doc: "Gives 512 numbers that stand for the meaning of a text; the inner product of two such vectors is how alike their texts are. " +
			"Send them to a vector database to search by meaning. An empty text gives zeros.\n\n" + honest +
			"Vectors can only be compared with others of the same model, so do not mix them with those of a provider.",
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldArea, Required: true, Help: "What to embed: English text of at most 200,000 characters."},
		},
		Outputs: []flow.Port{{Name: "vector", Title: "Vector", Type: flow.TypeList, Help: "512 numbers; a vector of length 1."}},
		Example: flow.Example{Ports: map[string]any{"text": "Where is my parcel?"}},
		Run:     func(ctx context.Context, in *flow.In) (flow.Out, error) { return embed(ctx, d.Model, in) },
	}
})

func embed(ctx context.Context, model Model, in *flow.In) (flow.Out, error) {
	text, err := modelText(in, "text")
	if err != nil {
		return flow.Out{}, err
	}
	vectors, err := model.Embed(ctx, []string{text})
	if err != nil {
		return flow.Out{}, modelError(ctx, err)
	}
	vector := make([]any, len(vectors[0]))
	for i, f := range vectors[0] {
		vector[i] = flow.Number(f)
	}
	return flow.Out{Outputs: map[string]any{"vector": vector}}, nil
}
