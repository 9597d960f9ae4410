package api

import (
	"slices"
	"testing"

	"sluice/flow"
)

// TestListAllRuns lists the runs of several flows, as far as keys may see them.
func TestListAllRuns(t *testing.T) {
	t.Parallel()
	w := setup(t)
	starter := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}})
	begin := func(key, flowID, body string) string {
		t.Helper()
		a := w.send(request{method: "POST", path: "/v1/flow/" + flowID + "/run", key: key, body: body, headers: []string{"Prefer", "wait=30"}})
		a.want(t, 200)
		return a.field("run_id").(string)
	}
	first := begin(w.key, w.echo, `{"ticket": "a"}`)
	second := begin(starter, w.failing, `{}`)
	third := begin(w.key, w.echo, `{"ticket": "a"}`)
	newestFirst := func(ids ...string) []string { // runs of the same millisecond are ordered by the rest of their IDs
		slices.Sort(ids)
		slices.Reverse(ids)
		return ids
	}
	list := func(key, query string) (ids []string) {
		t.Helper()
		a := w.send(request{method: "GET", path: "/v1/runs" + query, key: key})
		a.want(t, 200)
		for _, r := range a.field("runs").([]any) {
			ids = append(ids, r.(map[string]any)["run_id"].(string))
		}
		return ids
	}
	reader := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}})
	listed := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}, Flows: []string{w.echo, w.held}})
	foreign := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}, WorkspaceID: "ws_other"})
	for what, c := range map[string]struct{ got, want []string }{
		"all flows":          {list(reader, ""), newestFirst(third, second, first)},
		"a page":             {list(reader, "?limit=2"), newestFirst(third, second, first)[:2]},
		"a state":            {list(reader, "?status=failed"), []string{second}},
		"a key with a list":  {list(listed, ""), newestFirst(third, first)},
		"what a key started": {list(starter, ""), []string{second}},
		"another workspace":  {list(foreign, ""), nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", what, c.got, c.want)
		}
	}
}
