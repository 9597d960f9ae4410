package nodes

import (
	"fmt"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/providers/builtin"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	const text = "I was charged twice this month and want my money back."
	t.Run("finds the label", func(t *testing.T) {
		t.Parallel()
		list := []any{"billing: invoices, refunds, card charged twice", "delivery: parcels, shipping, tracking", "account: log in, password"}
		for _, labels := range []any{list, " billing: invoices, refunds, card charged twice\r\n\n delivery: parcels, shipping, tracking\naccount: log in, password\n"} {
			outputs := use{kind: "classify", config: map[string]any{"text": text, "labels": labels}}.succeeds(t, real())
			same(t, "label", outputs["label"], "billing")
			scores, _ := flow.AsMap(outputs["scores"])
			sum := 0.0
			for _, s := range scores {
				f, _ := flow.Float(s)
				sum += f
			}
			if len(scores) != 3 || sum < 0.999 || sum > 1.001 || scores["billing"] != outputs["score"] {
				t.Errorf("got %v, %v", scores, outputs["score"])
			}
		}
	})
	t.Run("accepts labels from an edge", func(t *testing.T) {
		t.Parallel()
		for _, labels := range []any{"charged\nshipped", []any{"charged", "shipped", number("3")}} {
			outputs := use{kind: "classify", ports: map[string]any{"text": text, "labels": labels}}.succeeds(t, fakes())
			same(t, "label", outputs["label"], "charged")
		}
	})
	t.Run("rejects invalid input", func(t *testing.T) {
		t.Parallel()
		many := make([]any, maxLabels+1)
		for i := range many {
			many[i] = fmt.Sprint("label", i)
		}
		for want, ports := range map[string]map[string]any{
			"got 0":           {"text": text, "labels": " \n "},
			"got 201":         {"text": text, "labels": many},
			"twice":           {"text": text, "labels": "a\nb\na: again"},
			"got object":      {"text": text, "labels": map[string]any{"a": "b"}},
			"a list of texts": {"text": text, "labels": []any{map[string]any{}}},
			"200001":          {"text": strings.Repeat("é", builtin.MaxText+1), "labels": "a\nb"},
		} {
			has(t, use{kind: "classify", ports: ports}.fails(t, real(), flow.CodeInputInvalid).Message, want)
		}
	})
	t.Run("rejects texts that are too long in total", func(t *testing.T) {
		t.Parallel()
		labels := make([]any, 6)
		for i := range labels {
			labels[i] = fmt.Sprint(i, ":", strings.Repeat("x", builtin.MaxText-2))
		}
		u := use{kind: "classify", ports: map[string]any{"text": text, "labels": labels}}
		has(t, u.fails(t, real(), flow.CodeInputInvalid).Message, "in total", "1000000")
	})
	t.Run("rejects invalid config", func(t *testing.T) {
		t.Parallel()
		for _, labels := range []any{[]any{}, "\n", "a\na", []any{[]any{}}, number("3"), true} {
			problems := use{kind: "classify", config: map[string]any{"text": text, "labels": labels}}.problems(t)
			if len(problems) != 1 || problems[0].Pointer != "/nodes/0/config/labels" {
				t.Errorf("%v: got %v", labels, problems)
			}
		}
	})
}
