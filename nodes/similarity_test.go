package nodes

import (
	"strings"
	"testing"

	"sluice/flow"
	"sluice/providers/builtin"
)

func TestSimilarity(t *testing.T) {
	t.Parallel()
	score := func(a, b string) float64 {
		outputs := use{kind: "similarity", config: map[string]any{"a": a}, ports: map[string]any{"b": b}}.succeeds(t, real())
		f, _ := flow.Float(outputs["score"])
		return f
	}
	const parcel = "My package has not arrived."
	near, far, equal := score("Where is my parcel?", parcel), score("The cat sleeps on the sofa.", parcel), score(parcel, parcel)
	if near < far+0.2 || equal < 0.999 {
		t.Errorf("near %.2f, far %.2f, equal %.2f", near, far, equal)
	}
	u := use{kind: "similarity", ports: map[string]any{"a": "x", "b": strings.Repeat("a", builtin.MaxText+1)}}
	has(t, u.fails(t, real(), flow.CodeInputInvalid).Message, `"b"`, "at most 200000")
}
