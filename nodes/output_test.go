package nodes

import "testing"

func TestOutput(t *testing.T) {
	t.Parallel()
	t.Run("passes its value on", func(t *testing.T) {
		t.Parallel()
		for _, value := range []any{"text", number("1.50"), false, []any{}, map[string]any{"a": nil}} {
			got := use{kind: "output", config: map[string]any{"name": "answer"}, ports: map[string]any{"value": []any{value}}}.succeeds(t, Deps{})
			same(t, "value", got["value"], value)
		}
	})
	t.Run("takes the first of several edges", func(t *testing.T) {
		t.Parallel()
		got := use{kind: "output", config: map[string]any{"name": "answer"}, ports: map[string]any{"value": []any{"first", "second"}}}.succeeds(t, Deps{})
		same(t, "value", got["value"], "first")
	})
	t.Run("rejects invalid config", func(t *testing.T) {
		t.Parallel()
		for name, config := range map[string]map[string]any{
			"no name":  {},
			"bad name": {"name": "an answer"},
		} {
			if problems := (use{kind: "output", config: config, ports: map[string]any{"value": "x"}}).problems(t); len(problems) != 1 {
				t.Errorf("%s: got %v", name, problems)
			}
		}
		if problems := (use{kind: "output", config: map[string]any{"name": "answer"}}).problems(t); len(problems) != 1 {
			t.Errorf("without a connection: got %v", problems)
		}
	})
}
