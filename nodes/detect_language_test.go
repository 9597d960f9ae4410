package nodes

import (
	"strings"
	"testing"

	"sluice/flow"
	"sluice/providers/builtin"
)

func TestDetectLanguage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"Where is my parcel? I ordered it three weeks ago.":    {"en", "English"},
		"Wo bleibt mein Paket? Ich warte seit drei Wochen.":    {"de", "German"},
		"¿Dónde está mi paquete? Llevo tres semanas esperando": {"es", "Spanish"},
		"この文は何語で書かれていますか。":                                     {"ja", "Japanese"},
		"Где моя посылка?":                                     {"ru", "Russian"},
	} {
		t.Run(want[1], func(t *testing.T) {
			t.Parallel()
			outputs := use{kind: "detect_language", ports: map[string]any{"text": text}}.succeeds(t, real())
			same(t, "language", []any{outputs["language"], outputs["name"]}, []any{want[0], want[1]})
			scores, _ := outputs["scores"].([]any)
			if len(scores) != languagesShown || member(scores[0], "score") != outputs["score"] || member(scores[0], "language") != want[0] {
				t.Errorf("score %v, scores %v", outputs["score"], scores)
			}
			if score, _ := flow.Float(outputs["score"]); score < 0.5 || score > 1 {
				t.Errorf("score %v", score)
			}
		})
	}
	for name, text := range map[string]string{"nothing": "", "no letters": " 12:30 🙂\n--"} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			u := use{kind: "detect_language", ports: map[string]any{"text": text}}
			has(t, u.fails(t, real(), flow.CodeInputInvalid).Message, "no letters")
		})
	}
	t.Run("rejects a text that is too long", func(t *testing.T) {
		t.Parallel()
		u := use{kind: "detect_language", ports: map[string]any{"text": strings.Repeat("x", builtin.MaxText+1)}}
		has(t, u.fails(t, real(), flow.CodeInputInvalid).Message, "200001")
	})
}
