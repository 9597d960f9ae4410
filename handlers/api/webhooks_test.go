package api

import (
	"testing"

	"sluice/flow"
)

const hookDocument = `{"schema":"sluice.flow/v1","name":"Hooks","nodes":[
 {"id":"a","kind":"input","config":{"name":"ticket"}},{"id":"o","kind":"output","config":{"name":"y"}},
 {"id":"typed","kind":"webhook","label":"Sales","config":{"url":"https://A.test/x"}},
 {"id":"wired","kind":"webhook","config":{"url":""}},
 {"id":"signed","kind":"webhook","config":{"url":"https://a.test/x","secret":{"credential":"hook"}}}],
 "edges":[{"from":"a.value","to":"o.value"},{"from":"a.value","to":"wired.url"}]}`

// TestListWebhooks checks that keys with the scope manage get the secrets of webhook nodes.
func TestListWebhooks(t *testing.T) {
	t.Parallel()
	w := setup(t)
	id := w.addFlow("default", hookDocument)
	key := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeManage}})
	a := w.send(request{method: "GET", path: "/v1/flow/" + id + "/webhooks", key: key})
	a.want(t, 200)
	list := a.body["webhooks"].([]any)
	want := []map[string]any{
		{"node": "typed", "label": "Sales", "url": "https://A.test/x", "secret": "whsec_typed@a.test", "credential": nil},
		{"node": "wired", "label": nil, "url": nil, "secret": "whsec_wired@", "credential": nil},
		{"node": "signed", "label": nil, "url": "https://a.test/x", "secret": nil, "credential": "hook"},
	}
	if len(list) != len(want) {
		t.Fatalf("got %v", list)
	}
	for i, fields := range want {
		for name, value := range fields {
			if got := list[i].(map[string]any)[name]; got != value {
				t.Errorf("%s of %v is %v, wanted %v", name, fields["node"], got, value)
			}
		}
	}
	reader := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead}})
	w.send(request{method: "GET", path: "/v1/flow/" + id + "/webhooks", key: reader}).want(t, 403)
}

// TestKeySecret checks that each key gets its own secret, whatever its scopes.
func TestKeySecret(t *testing.T) {
	t.Parallel()
	w := setup(t)
	seen := map[any]bool{}
	for _, scope := range []flow.Scope{flow.ScopeRun, flow.ScopeRead, flow.ScopeManage} {
		a := w.send(request{method: "GET", path: "/v1/webhook-secret", key: w.addKey(flow.Key{Scopes: []flow.Scope{scope}})})
		a.want(t, 200)
		if got := a.header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("Cache-Control is %q", got)
		}
		seen[a.body["secret"]] = true
	}
	if len(seen) != 3 {
		t.Errorf("three keys have the secrets %v", seen)
	}
}
