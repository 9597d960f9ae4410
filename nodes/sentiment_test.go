package nodes

import (
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/wording"
	"sluice/providers/builtin"
)

func TestSentiment(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"I love it, and the support was great!":      "positive",
		"Terrible. I hate it and want my money back": "negative",
		"The parcel weighs 3 kg.":                    "neutral",
		"":                                           "neutral",
		"Das Paket ist angekommen.":                  "neutral",
	} {
		t.Run(want+" "+wording.Truncate(text, 12), func(t *testing.T) {
			t.Parallel()
			outputs := use{kind: "sentiment", ports: map[string]any{"text": text}}.succeeds(t, real())
			same(t, "label", outputs["label"], want)
			score, _ := flow.Float(outputs["score"])
			if want == "positive" && score < neutralBelow || want == "negative" && score > -neutralBelow || score < -1 || score > 1 {
				t.Errorf("score %v", score)
			}
			sum := 0.0
			for _, name := range []string{"positive", "neutral", "negative"} {
				f, ok := flow.Float(member(outputs["scores"], name))
				if sum += f; !ok {
					t.Errorf("no score %s in %v", name, outputs["scores"])
				}
			}
			if sum < 0.999 || sum > 1.001 {
				t.Errorf("the scores add up to %v", sum)
			}
		})
	}
	t.Run("rejects a text that is too long", func(t *testing.T) {
		t.Parallel()
		u := use{kind: "sentiment", ports: map[string]any{"text": strings.Repeat("x", builtin.MaxText+1)}}
		has(t, u.fails(t, real(), flow.CodeInputInvalid).Message, "200001")
	})
}
