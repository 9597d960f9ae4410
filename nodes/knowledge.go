package nodes

import (
	"context"

	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/nodes/bases"
	"sluice/nodes/tests"
	"sluice/providers"
)

// The kinds of knowledge bases, which package bases declares: knowledge_add adds and removes documents, knowledge_search finds passages of them, and
// knowledge_index and knowledge_rebuild are for internal documents, which index a document and change the model of a base.
// test_cases, of package tests, is for the documents of tests.
var (
	_ = register(func(d Deps) flow.Kind {
		return tests.Deps{Store: d.Tests, Await: awaitChildren, Suspension: childSuspension, Cleanup: stopChildren}.Kind(groupControl)
	})
	_ = register(func(d Deps) flow.Kind { return d.bases().AddKind() })
	_ = register(func(d Deps) flow.Kind { return d.bases().SearchKind() })
	_ = register(func(d Deps) flow.Kind { return d.bases().IndexKind() })
	_ = register(func(d Deps) flow.Kind { return d.bases().RebuildKind() })
)

// bases returns what does the work of the kinds.
func (d Deps) bases() bases.Deps {
	if d.Knowledge == nil {
		d.Knowledge = bases.Absent{Err: errAbsent}
	}
	return bases.Deps{Store: d.Knowledge, Documents: d.Documents, Embed: d.embedTexts, Languages: d.Model.DetectLanguage, Charge: chargeEmbed, Await: awaitChildren, Suspension: childSuspension, ChildError: childError}
}

// embedTexts embeds texts with the model of a base, and adds what that costs to the result of the step. Vectors have length 1.
func (d Deps) embedTexts(ctx context.Context, in *flow.In, b *knowledge.Base, texts []string, out *flow.Out) ([][]float32, error) {
	if b.Settings.Model == "" {
		vectors, err := d.Model.Embed(ctx, string(in.WorkspaceID), texts)
		if err != nil {
			return nil, modelError(ctx, err)
		}
		return vectors, nil
	}
	at := *in
	at.Config = map[string]any{"model": b.Settings.Model}
	if b.Settings.Credential != "" {
		at.Config["credential"] = map[string]any{"credential": b.Settings.Credential}
	}
	m, err := d.findTarget(ctx, &at, taskEmbed)
	if err != nil {
		return nil, err
	}
	answer, err := d.Providers.Embed(ctx, m.at, providers.EmbedRequest{Model: m.model, Texts: texts, Dimensions: b.Settings.Dimensions})
	var called flow.Out
	var used providers.Usage
	if answer != nil {
		used = answer.Usage
	}
	m.chargeCall(&called, used, err)
	out.Usage, out.Lost = out.Usage.Add(called.Usage), out.Lost || called.Lost
	if err != nil {
		return nil, m.failed(ctx, err)
	}
	if len(answer.Vectors) != len(texts) {
		return nil, flow.Errorf(flow.CodeOutputInvalid, "%s sent %d vectors for %d texts. Model: %s.", m.preset.Title, len(answer.Vectors), len(texts), m.ref)
	}
	vectors := make([][]float32, len(texts))
	for i, v := range answer.Vectors {
		if len(v) > knowledge.MaxDimensions {
			return nil, flow.Errorf(flow.CodeOutputInvalid, "The model %s answers with %d numbers; a knowledge base stores at most %d. Set dimensions in the settings of the base, or choose another model.", m.ref, len(v), knowledge.MaxDimensions)
		}
		vectors[i] = knowledge.Unit(v)
	}
	return vectors, nil
}
