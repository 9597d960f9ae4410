package nodes

import (
	"strings"
	"testing"

	"sluice/flow"
)

func TestTemplate(t *testing.T) {
	t.Parallel()
	t.Run("fills in values once", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			template string
			ports    map[string]any
			want     string
		}{
			{"no places", nil, "no places"},
			{"{{a}}-{{ b }}-{{a}}", map[string]any{"a": "x", "b": number("1.50")}, "x-1.50-x"},
			{"{{a.b.1}}", map[string]any{"a": map[string]any{"b": []any{"x", "y"}}}, "y"},
			{"{{a}}", map[string]any{"a": "{{b}} \\{{"}, "{{b}} \\{{"},
			{`\{{a}} {{a}}`, map[string]any{"a": map[string]any{"k": []any{true}}}, `{{a}} {"k":[true]}`},
		} {
			got := use{kind: "template", config: map[string]any{"template": c.template}, ports: c.ports}.succeeds(t, Deps{})
			same(t, c.template, got["text"], c.want)
		}
	})
	t.Run("names the placeholder without a value", func(t *testing.T) {
		t.Parallel()
		u := use{kind: "template", config: map[string]any{"template": "{{a.b}}"}, ports: map[string]any{"a": map[string]any{"c": "x"}}}
		has(t, u.fails(t, Deps{}, flow.CodeInputInvalid).Message, "a.b", `without "b"`)
	})
	t.Run("rejects invalid config", func(t *testing.T) {
		t.Parallel()
		for template, want := range map[string]string{"": "is required", "{{a b}}": "is not a place", "{{a}}": "{{a}} isn't connected"} {
			problems := use{kind: "template", config: map[string]any{"template": template}}.problems(t)
			if len(problems) != 1 || !strings.Contains(problems[0].Detail, want) {
				t.Errorf("%q: got %v", template, problems)
			}
		}
	})
}
