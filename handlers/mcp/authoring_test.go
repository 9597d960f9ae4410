package mcp

import (
	"testing"

	"sluice/flow"
)

func TestFilterKinds_names_the_kinds_that_do_not_exist(t *testing.T) {
	t.Parallel()
	body := map[string]any{"kinds": []any{map[string]any{"kind": "template", "doc": "Fills a text."}, map[string]any{"kind": "chat"}}}
	for _, c := range []struct {
		names []any
		want  string
	}{
		{nil, `{"kinds":[{"kind":"template"},{"kind":"chat"}]}`},
		{[]any{"template"}, `{"kinds":[{"doc":"Fills a text.","kind":"template"}]}`},
		{[]any{"chta", "template", flow.Number(5)}, `{"kinds":[{"doc":"Fills a text.","kind":"template"}],"unknown":["chta",5]}`},
	} {
		if got := string(flow.EncodeJSON(filterKinds(map[string]any{"names": c.names}, body))); got != c.want {
			t.Errorf("%v: got %s, want %s", c.names, got, c.want)
		}
	}
}
