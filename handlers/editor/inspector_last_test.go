package editor

import (
	"testing"

	"sluice/flow"
)

// TestMainInput_prefers_what_came_over_an_edge, then the first input that is not the choice of a model.
func TestMainInput_prefers_what_came_over_an_edge(t *testing.T) {
	t.Parallel()
	node := &draftNode{
		draft: &draft{Document: &flow.Document{Edges: []flow.Edge{{From: "in.value", To: "ask.name"}}}},
		node:  &flow.Node{ID: "ask"}, kind: &flow.Kind{Inputs: []flow.Port{{Name: "model"}, {Name: "prompt"}, {Name: "name"}}},
	}
	for _, c := range []struct {
		input map[string]any
		want  any
	}{
		{map[string]any{"model": "fake/m", "prompt": "Greet.", "name": "Ada"}, "Ada"},
		{map[string]any{"model": "fake/m", "prompt": "Greet."}, "Greet."},
		{map[string]any{"model": "fake/m"}, nil},
	} {
		if got := mainInput(node, c.input); got != c.want {
			t.Errorf("of %v: %v, want %v", c.input, got, c.want)
		}
	}
}
