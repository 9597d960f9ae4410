package nodes

import (
	"math"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/providers/builtin"
)

func TestEmbed(t *testing.T) {
	t.Parallel()
	length := func(text string) float64 {
		vector := use{kind: "embed", ports: map[string]any{"text": text}}.succeeds(t, real())["vector"].([]any)
		if len(vector) != builtin.Dimensions {
			t.Fatalf("%d numbers", len(vector))
		}
		sum := 0.0
		for _, v := range vector {
			f, ok := flow.Float(v)
			if !ok {
				t.Fatalf("%v is no number", v)
			}
			sum += f * f
		}
		return math.Sqrt(sum)
	}
	if got := length("Where is my parcel?"); math.Abs(got-1) > 1e-5 {
		t.Errorf("length %v", got)
	}
	if got := length(" "); got != 0 {
		t.Errorf("length %v of a blank text", got)
	}
	use{kind: "embed", ports: map[string]any{"text": strings.Repeat("a", builtin.MaxText+1)}}.fails(t, real(), flow.CodeInputInvalid)
}
