package nodes

import (
	"context"

	"sluice/flow"
	"sluice/nodes/errtext"
	"sluice/providers/builtin"
)

// maxLabels bounds the CPU time of a step, which grows with the number of labels.
const maxLabels = 200

// The classify kind picks the label that fits a text best, without training.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "classify", Title: "Classify", Group: groupBuiltin, Icon: "tags", Class: flow.Compute,
		Summary: "Finds which of your labels fits a text best.",
		Doc: "Scores how well each label fits the text, without any training. The scores add up to 1. " +
			"A description after a colon, as in `billing: invoices, refunds, card charged twice`, makes labels much easier to tell apart; " +
			"only the part before the colon is the label.\n\n" + builtinNote +
			"Check `score` before acting on `label`: connect it to a condition such as `value >= 0.5` to send doubtful texts to a person.",
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldArea, Required: true, Help: "English text of at most 200,000 characters."},
			{Name: "labels", Title: "Labels", Type: flow.FieldList, Value: flow.TypeItems, Required: true,
				Help: "One label per row: a name, or name: description."},
		},
		Outputs: []flow.Port{
			{Name: "label", Title: "Label", Type: flow.TypeText, Help: "The name of the label that fits best."},
			{Name: "score", Title: "Score", Type: flow.TypeNumber, Help: "How well it fits compared with the others, from 0 to 1."},
			{Name: "scores", Title: "Scores", Type: flow.TypeJSON, Schema: map[string]any{"type": "object", "additionalProperties": numberSchema}, Help: "An object with the score of each label."},
		},
		Example: flow.Example{
			Config: map[string]any{"labels": []any{"billing: invoices, refunds, charges", "delivery: parcels, shipping, tracking"}},
			Ports:  map[string]any{"text": "I was charged twice this month."},
		},
		Check: checkLabels,
		Tool:  &flow.ToolUse{},
		Run:   func(ctx context.Context, in *flow.In) (flow.Out, error) { return classify(ctx, d.Model, in) },
	}
})

// checkLabels checks typed labels. Labels from an edge are checked when the
// step runs.
func checkLabels(n *flow.Node) []flow.Problem {
	if labels := n.Config["labels"]; labels != nil {
		if _, err := readLabels(labels); err != nil {
			return []flow.Problem{{Pointer: "/labels", Code: "invalid", Detail: err.Error()}}
		}
	}
	return nil
}

// classify outputs the best label with its score, and the scores of all labels.
func classify(ctx context.Context, model Model, in *flow.In) (flow.Out, error) {
	text, err := modelText(in, "text")
	if err != nil {
		return flow.Out{}, err
	}
	labels, err := readLabels(in.Config["labels"])
	if err != nil {
		return flow.Out{}, err
	}
	ranked, err := model.Classify(ctx, string(in.WorkspaceID), text, labels)
	if err != nil {
		return flow.Out{}, modelError(ctx, err)
	}
	scores := make(map[string]any, len(ranked))
	for _, s := range ranked {
		scores[s.Label] = flow.Number(s.Score)
	}
	return flow.Out{Outputs: map[string]any{
		"label": ranked[0].Label, "score": flow.Number(ranked[0].Score), "scores": scores,
	}}, nil
}

// readLabels parses labels of the form "name" or "name: description" and
// rejects duplicate names, because the names are keys of the scores.
func readLabels(v any) ([]builtin.Label, error) {
	list, ok := textList(v)
	if !ok {
		return nil, flow.Errorf(flow.CodeInputInvalid, "Labels must be a list of texts, or a text with one label per line; got %s.", errtext.Type(v))
	}
	if len(list) == 0 || len(list) > maxLabels {
		return nil, flow.Errorf(flow.CodeInputInvalid, "Wanted 1 to %d labels, got %d.", maxLabels, len(list))
	}
	labels, seen := make([]builtin.Label, len(list)), map[string]bool{}
	for i, s := range list {
		labels[i] = builtin.ParseLabel(s)
		if seen[labels[i].Name] {
			return nil, flow.Errorf(flow.CodeInputInvalid, "The label %q is listed twice. Remove one of them.", labels[i].Name)
		}
		seen[labels[i].Name] = true
	}
	return labels, nil
}
