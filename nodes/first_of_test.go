package nodes

import (
	"testing"

	"sluice/flow"
	"sluice/flow/document"
)

func TestFirstOf(t *testing.T) {
	t.Parallel()
	t.Run("passes the first on", func(t *testing.T) {
		t.Parallel()
		for _, first := range []any{"a", number("0"), false, []any{"list"}} {
			got := use{kind: "first_of", ports: map[string]any{"values": []any{first, "b"}}}.succeeds(t, Deps{})
			same(t, "value", got["value"], first)
		}
	})
	t.Run("ignores skipped branches", func(t *testing.T) {
		t.Parallel()
		for value, want := range map[string]string{"11": "big", "9": "small"} {
			outputs := runJoin(t, number(value))
			same(t, value, outputs["answer"], want)
		}
	})
	t.Run("requires an edge", func(t *testing.T) {
		t.Parallel()
		if problems := (use{kind: "first_of"}).problems(t); len(problems) != 1 {
			t.Errorf("got %v", problems)
		}
	})
}

// runJoin runs a condition whose two branches are joined again.
func runJoin(t *testing.T, value any) map[string]any {
	t.Helper()
	doc, problems := document.ParseDocument([]byte(`{"schema": "sluice.flow/v1", "name": "Join", "nodes": [
		{"id": "in", "kind": "input", "config": {"name": "in", "type": "number"}},
		{"id": "if", "kind": "condition", "config": {"expression": "value > 10"}},
		{"id": "big", "kind": "template", "config": {"template": "big{{gate}}"}},
		{"id": "small", "kind": "template", "config": {"template": "small{{gate}}"}},
		{"id": "n", "kind": "first_of", "config": {}},
		{"id": "out", "kind": "output", "config": {"name": "answer"}}],
		"edges": [{"from": "in.value", "to": "if.value"}, {"from": "if.true", "to": "big.gate"}, {"from": "if.false", "to": "small.gate"},
		{"from": "small.text", "to": "n.values"}, {"from": "big.text", "to": "n.values"}, {"from": "n.value", "to": "out.value"}]}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r := runDocument(t, New(Deps{}), doc, map[string]any{"in": value})
	outputs := r.run.Outputs.Map()
	for name, v := range outputs {
		outputs[name] = v.(string)[:len(v.(string))-len(flow.Text(value))]
	}
	return outputs
}
