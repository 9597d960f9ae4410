package bases

import (
	"context"
	"encoding/json"

	"sluice/flow"
	"sluice/flow/knowledge"
)

// maxRounds is how often a rebuild looks for documents that were added since the last time. Each round has only these, so a few are enough.
const maxRounds = 100

// RebuildKind declares the internal kind that gives a base the vectors of another model.
func (d Deps) RebuildKind() flow.Kind {
	return flow.Kind{
		Name: knowledge.RebuildKind, Title: "Rebuild", Group: group, Icon: icon, Class: flow.Outside, Timeout: rebuildTime, Internal: true,
		Summary: "Gives a knowledge base the vectors of another model.",
		Fields: []flow.Field{
			baseField("The base."),
			{Name: knowledge.RebuildSettings, Title: "Settings", Type: flow.FieldJSON, Required: true, Help: "Model, credential and dimensions."},
			{Name: "model", Title: "Model", Type: flow.FieldModel, Task: "embed", Help: "The next model of the base."},
			{Name: "credential", Title: "Credential", Type: flow.FieldSecret, More: true, Help: "The credential for it."},
		},
		Outputs: []flow.Port{{Name: "passages", Title: "Passages", Type: flow.TypeNumber, Help: "How many passages were prepared."}},
		Charge:  d.Charge,
		Run:     func(ctx context.Context, in *flow.In) (flow.Out, error) { return d.Rebuild(ctx, in) },
		Cleanup: d.dropPrepared,
	}
}

// dropPrepared deletes the vectors that a run has prepared. A rebuild does so itself, unless its process was killed and the run canceled since. The base may be deleted.
func (d Deps) dropPrepared(ctx context.Context, in *flow.In) error {
	return d.Store.DropPrepared(ctx, &knowledge.Base{ID: in.Text("knowledge")}, in.RunID)
}

// Rebuild prepares the vectors of all blocks of a base with another model, and switches when all are there. Until then, searches use the others.
func (d Deps) Rebuild(ctx context.Context, in *flow.In) (out flow.Out, err error) {
	b, err := d.Find(ctx, in, in.Text("knowledge"))
	if err != nil {
		return out, err
	}
	var to knowledge.Settings
	if err := json.Unmarshal(flow.EncodeJSON(in.Config[knowledge.RebuildSettings]), &to); err != nil {
		return out, flow.Errorf(flow.CodeInputInvalid, "The settings of the rebuild are invalid.")
	}
	if b.Settings.SameModel(&to) { // an attempt before was interrupted after the switch
		out.Outputs = map[string]any{"passages": flow.Number(b.Passages)}
		return out, nil
	}
	next := *b
	next.Settings.Model, next.Settings.Credential, next.Settings.Dimensions, next.Settings.Length = to.Model, to.Credential, to.Dimensions, 0
	if in.Save != nil {
		if err := in.Save(ctx, true); err != nil { // there may be something to clean up
			return out, err
		}
	}
	if err := d.Store.DropPrepared(ctx, b, in.RunID); err != nil { // of an attempt before; its vectors are kept by text
		return out, err
	}
	defer func() {
		if err != nil {
			_ = d.Store.DropPrepared(context.WithoutCancel(ctx), b, in.RunID) // the step reports the error
		}
	}()
	passages := 0
	for range maxRounds {
		blocks, err := d.Store.BlocksToPrepare(ctx, b, in.RunID)
		if err != nil {
			return out, err
		}
		for _, block := range blocks {
			n, err := d.prepare(ctx, in, b, &next, block, &out)
			if err != nil {
				return out, err
			}
			passages += n
		}
		if done, err := d.Store.SwitchBase(ctx, b, in.RunID, &next.Settings); done || err != nil {
			out.Outputs = map[string]any{"passages": flow.Number(passages)}
			return out, err
		}
	}
	return out, &flow.Error{Code: flow.CodeUnavailable, Retryable: true, Message: "Documents were added faster than they could be prepared. Rebuild the base again later."}
}

// prepare embeds the passages of a block with the next model, and returns how many these are.
func (d Deps) prepare(ctx context.Context, in *flow.In, b, next *knowledge.Base, block int64, out *flow.Out) (int, error) {
	texts, err := d.Store.BlockTexts(ctx, b, block)
	if err != nil {
		return 0, err
	}
	x := &indexing{Deps: d, in: in, base: next, out: *out}
	for i := range texts {
		x.texts = append(x.texts, texts[i].Embedded)
		x.put.Passages = append(x.put.Passages, knowledge.Passage{Text: texts[i].Text})
	}
	err = x.embed(ctx)
	*out = x.out
	if err != nil {
		return 0, err
	}
	for _, v := range x.put.Vectors {
		if v == nil {
			continue
		}
		if next.Settings.Length == 0 {
			next.Settings.Length = len(v)
		}
		if len(v) != next.Settings.Length {
			return 0, flow.Errorf(flow.CodeEmbeddingChanged, "The model answered with %d numbers, and with %d before. Choose another model.", len(v), next.Settings.Length)
		}
	}
	return len(texts), d.Store.PrepareVectors(ctx, b, in.RunID, block, texts, x.put.Vectors, x.put.Hashes)
}
