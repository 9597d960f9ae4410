package nodes

import (
	"context"

	"sluice/flow"
	"sluice/providers"
	"sluice/providers/builtin"
)

// The embed kind converts a text to a vector for semantic search in other
// programs.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "embed", Title: "Embed", Group: groupModels, Icon: "waypoints", Class: flow.Outside, Timeout: flow.ModelTimeout,
		Summary: "Converts a text to an embedding vector.",
		Doc: "Outputs a vector that represents the meaning of a text; the closer two vectors are, the more similar are their texts. " +
			"Send them to a vector database to search by meaning.\n\n" +
			"Without a model, the small one inside Sluice is used. It needs no key and no network and knows English. It gives 512 numbers, a vector of length 1, " +
			"so that the inner product of two vectors is their similarity; an empty text gives zeros. " +
			"Vectors can only be compared with others of the same model.",
		Fields: []flow.Field{
			modelField(taskEmbed, "Empty: the built-in model."),
			{Name: "text", Title: "Text", Type: flow.FieldArea, Required: true,
				Help: "The text to embed. The built-in model accepts at most 200,000 characters; other models have their own limits."},
			{Name: "dimensions", Title: "Dimensions", Type: flow.FieldInteger, Min: ptr(1), More: true,
				Help: "Length of the vector, for models that let you choose. Default: the model's setting."},
			credentialField,
		},
		Outputs: []flow.Port{{Name: "vector", Title: "Vector", Type: flow.TypeList, Items: flow.TypeNumber, Help: "The numbers."}},
		Example: flow.Example{Ports: map[string]any{"text": "Where is my parcel?"}},
		Sends:   modelDestination,
		Check:   checkModel(taskEmbed),
		Charge:  chargeEmbed,
		Tool:    &flow.ToolUse{},
		Run:     func(ctx context.Context, in *flow.In) (flow.Out, error) { return embed(ctx, d, in) },
	}
})

// embed computes a vector with the chosen model, or with the built-in one if neither a model
// nor a credential is set.
func embed(ctx context.Context, d Deps, in *flow.In) (flow.Out, error) {
	dimensions, err := optionalCount(in, "dimensions")
	if err != nil {
		return flow.Out{}, err
	}
	if blank(in.Text("model")) && blank(flow.Text(in.Config["credential"])) {
		return embedHere(ctx, d.Model, in, dimensions)
	}
	m, err := d.findTarget(ctx, in, taskEmbed)
	if err != nil {
		return flow.Out{}, err
	}
	answer, err := d.Providers.Embed(ctx, m.at, providers.EmbedRequest{Model: m.model, Texts: []string{in.Text("text")}, Dimensions: dimensions})
	var out flow.Out
	var used providers.Usage
	if answer != nil {
		used = answer.Usage
	}
	m.chargeCall(&out, used, err)
	if err != nil {
		return out, m.failed(ctx, err)
	}
	if len(answer.Vectors) != 1 {
		return out, flow.Errorf(flow.CodeOutputInvalid, "%s sent %d vectors for one text. Model: %s.", m.preset.Title, len(answer.Vectors), m.ref)
	}
	out.Outputs = map[string]any{"vector": vectorValue(answer.Vectors[0])}
	return out, nil
}

// embedHere computes a vector with the built-in model, whose length cannot be chosen.
func embedHere(ctx context.Context, model Model, in *flow.In, dimensions int) (flow.Out, error) {
	if dimensions != 0 && dimensions != builtin.Dimensions {
		return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "The built-in model always outputs %d numbers. Choose another model, or leave dimensions empty.", builtin.Dimensions)
	}
	text, err := modelText(in, "text")
	if err != nil {
		return flow.Out{}, err
	}
	vectors, err := model.Embed(ctx, string(in.WorkspaceID), []string{text})
	if err != nil {
		return flow.Out{}, modelError(ctx, err)
	}
	return flow.Out{Outputs: map[string]any{"vector": vectorValue(vectors[0])}}, nil
}

// vectorValue converts a vector to a value of a port: a list of numbers.
func vectorValue[F float32 | float64](vector []F) []any {
	list := make([]any, len(vector))
	for i, f := range vector {
		list[i] = flow.Number(f)
	}
	return list
}
