package web

import (
	"testing"

	"sluice/flow"
	"sluice/views/components"
)

// TestAddScores has labels of several types, because a node that runs another flow can
// return any type.
func TestAddScores(t *testing.T) {
	t.Parallel()
	doc := &flow.Document{Nodes: []flow.Node{{ID: "sort", Kind: "classify"}}}
	scores := map[string]any{"a": flow.Number(0.25), "b": flow.Number(0.75)}
	for _, c := range []struct {
		label, value any
		want         int
	}{
		{"b", "b", 2}, {"b", "a", 0}, {"b", 7, 0},
		{[]any{"b"}, []any{"b"}, 0}, {map[string]any{}, map[string]any{}, 0}, {nil, nil, 0},
	} {
		out := components.OutputView{ValueView: components.ValueView{Value: c.value}}
		addScores(&out, doc, &flow.Registry{}, []flow.Step{{Path: "sort", Outputs: map[string]any{"label": c.label, "scores": scores}}}, "sort")
		if len(out.Scores) != c.want {
			t.Errorf("label %v of value %v has %v", c.label, c.value, out.Scores)
		}
	}
}
