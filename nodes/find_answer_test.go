package nodes

import (
	"strings"
	"testing"

	"sluice/flow"
	"sluice/providers/builtin"
)

func TestFindAnswer(t *testing.T) {
	t.Parallel()
	const text = "We ship on weekdays before noon. Returns are free for 30 days. The shop is in the centre of Bergen. Gift cards never expire."
	t.Run("finds the passage", func(t *testing.T) {
		t.Parallel()
		outputs := use{kind: "find_answer", config: map[string]any{"text": text, "passages": number("2")},
			ports: map[string]any{"question": "For how many days are returns free?"}}.succeeds(t, real())
		same(t, "answer", outputs["answer"], "Returns are free for 30 days.")
		passages := outputs["passages"].([]any)
		if len(passages) != 2 {
			t.Fatalf("got %v", passages)
		}
		same(t, "best passage", passages[0], map[string]any{"text": outputs["answer"], "score": outputs["score"]})
	})
	t.Run("reports that there is no answer", func(t *testing.T) {
		t.Parallel()
		outputs := use{kind: "find_answer", ports: map[string]any{"text": text, "question": "Who painted the ceiling of the chapel?"}}.succeeds(t, real())
		same(t, "answer", outputs["answer"], "")
		if len(outputs["passages"].([]any)) != 3 {
			t.Errorf("got %v", outputs["passages"])
		}
		outputs = use{kind: "find_answer", ports: map[string]any{"text": " ", "question": "Who?"}}.succeeds(t, real())
		same(t, "outputs for a blank text", outputs, map[string]any{"answer": "", "score": number("0"), "passages": []any{}})
	})
	t.Run("rejects invalid input", func(t *testing.T) {
		t.Parallel()
		for want, ports := range map[string]map[string]any{
			"from 1 to 50, got 0":  {"text": text, "question": "Who?", "passages": number("0")},
			"from 1 to 50, got 51": {"text": text, "question": "Who?", "passages": number("51")},
			`"question"`:           {"text": text, "question": strings.Repeat("a", builtin.MaxText+1)},
		} {
			has(t, use{kind: "find_answer", ports: ports}.fails(t, real(), flow.CodeInputInvalid).Message, want)
		}
	})
}
