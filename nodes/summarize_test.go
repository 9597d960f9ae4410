package nodes

import (
	"strings"
	"testing"

	"sluice/flow"
	"sluice/providers/builtin"
)

func TestSummarize(t *testing.T) {
	t.Parallel()
	const text = "The museum opens a new wing in May. It shows ships of the last two centuries. " +
		"Tickets for the new wing of the museum can be bought from April on. The café stays closed."
	t.Run("selects sentences of the text", func(t *testing.T) {
		t.Parallel()
		for sentences, want := range map[string]int{"1": 1, "2.0": 2, "200": 4} {
			outputs := use{kind: "summarize", config: map[string]any{"text": text, "sentences": number(sentences)}}.succeeds(t, real())
			summary := flow.Text(outputs["summary"])
			if strings.Count(summary, ".") != want || want == 4 && summary != text {
				t.Errorf("%s: got %q", sentences, summary)
			}
		}
		outputs := use{kind: "summarize", config: map[string]any{"text": text}}.succeeds(t, real())
		if strings.Count(flow.Text(outputs["summary"]), ".") != 3 {
			t.Errorf("got %q", outputs["summary"])
		}
	})
	t.Run("rejects invalid input", func(t *testing.T) {
		t.Parallel()
		for want, ports := range map[string]map[string]any{
			"from 1 to 200, got 0":   {"text": text, "sentences": number("0")},
			"from 1 to 200, got 2.5": {"text": text, "sentences": number("2.5")},
			"from 1 to 200, got 201": {"text": text, "sentences": number("201")},
			"at most 200000":         {"text": strings.Repeat("a", builtin.MaxText+1)},
		} {
			has(t, use{kind: "summarize", ports: ports}.fails(t, real(), flow.CodeInputInvalid).Message, want)
		}
	})
	t.Run("rejects invalid config", func(t *testing.T) {
		t.Parallel()
		for _, sentences := range []any{number("0"), number("1.5"), "3"} {
			if problems := (use{kind: "summarize", config: map[string]any{"text": text, "sentences": sentences}}).problems(t); len(problems) != 1 {
				t.Errorf("%v: got %v", sentences, problems)
			}
		}
	})
}
