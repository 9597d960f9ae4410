package items

import (
	"fmt"
	"testing"

	"sluice/flow"
	"sluice/flow/value"
)

func TestSoFar(t *testing.T) {
	t.Parallel()
	d := &flow.Document{
		Nodes: []flow.Node{
			{ID: "each", Kind: "map"}, {ID: "tags", Kind: "output", Config: map[string]any{"name": "tags"}}, {ID: "names", Kind: "output", Config: map[string]any{"name": "names"}},
			{ID: "count", Kind: "output", Config: map[string]any{"name": "count"}}, {ID: "join", Kind: "combine"},
		},
		Edges: []flow.Edge{
			{From: "each.tag", To: "tags.value"}, {From: "each.output.failed", To: "names.value"}, {From: "each.failed", To: "count.value"}, {From: "each.tag", To: "join.values"}, {From: "other.tag", To: "tags.value"},
		},
	}
	result := func(item int, state flow.RunState, tag string) flow.ChildResult {
		r := flow.ChildResult{Item: item, State: state}
		if tag != "" {
			r.Outputs = value.FromMap(map[string]any{"tag": tag, "failed": tag + "!"})
		}
		return r
	}
	a, b, c, d4 := result(0, flow.RunSucceeded, "a"), result(1, flow.RunFailed, ""), result(2, flow.RunRunning, ""), result(3, flow.RunSucceeded, "d")
	for _, test := range []struct {
		first []flow.ChildResult
		want  string
	}{
		{nil, "[]"},
		{[]flow.ChildResult{c}, "[]"},
		{[]flow.ChildResult{b, c}, "[]"}, // item 0 has no run yet
		{[]flow.ChildResult{a, b, c, d4}, "[{tags [a <nil>]} {names [a! <nil>]}]"},
		{[]flow.ChildResult{a, b, d4}, "[{tags [a <nil>]} {names [a! <nil>]}]"},
	} {
		if got := fmt.Sprint(SoFar(d, "each", test.first)); got != test.want {
			t.Errorf("%v gives %s, wanted %s", test.first, got, test.want)
		}
	}
}
