package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
)

// authoring requests the routes that create, change, compare, publish, import and
// archive flows, with valid and with refused bodies.
func (k *contract) authoring() {
	text := "Content-Type: text/plain"
	draft := func(slug, out string) []byte {
		return []byte(`{"schema":"sluice.flow/v1","slug":"` + slug + `","name":"Author","nodes":[{"id":"i","kind":"input","config":{"name":"n"}},{"id":"o","kind":"output","config":{"name":"` + out + `"}}],"edges":[{"from":"i.value","to":"o.value"}]}`)
	}
	invalid := []byte(`{"schema":"sluice.flow/v1","name":"Author","nodes":[{"id":"o","kind":"nothing"}],"edges":[]}`)
	a := k.ask("all", "POST", "/v1/flow", draft("author", "a"))
	path := "/v1/flow/" + a.object(k.t)["flow_id"].(string)
	for _, body := range [][]byte{draft("author", "a"), []byte(`{"schema":"sluice.flow/v1"}`)} {
		k.ask("all", "POST", "/v1/flow", body)
	}
	k.ask("all", "POST", "/v1/flow", draft("other", "a"), text)
	k.ask("run", "POST", "/v1/flow/validate", draft("author", "a"))
	k.ask("all", "POST", "/v1/flow/validate", draft("author", "a"), text)
	for _, end := range []string{"/versions", "/diff", "/document"} {
		k.ask("run", "GET", path+end, nil)
	}
	for _, end := range []string{"/document", "/document?version=draft", "/document?version=x", "/diff", "/diff?from=x", "/diff?from=live&to=draft", "/diff?from=draft&to=live"} {
		k.ask("all", "GET", path+end, nil)
	}

	tag := func() string {
		return "If-Match: " + k.ask("all", "GET", path+"/document?version=draft", nil).header.Get("ETag")
	}
	k.ask("all", "PUT", path, draft("author", "a"))
	k.ask("all", "PUT", path, draft("author", "a"), `If-Match: "other"`)
	k.ask("all", "PUT", path, draft("author", "a"), tag(), text)
	k.ask("all", "PUT", path, []byte(`{"schema":"sluice.flow/v1"}`), tag())
	k.ask("all", "POST", "/v1/flow", draft("second", "a"))
	k.ask("all", "PUT", path, draft("second", "a"), tag())
	k.ask("all", "PUT", path, draft("author", "a"), tag())
	k.ask("all", "POST", path+"/publish", object{})
	k.ask("all", "POST", path+"/publish", object{}, text)
	k.ask("all", "POST", path+"/publish", object{"version": "x"})
	k.ask("all", "PUT", path, draft("author", "b"), tag())
	k.ask("all", "POST", path+"/publish", object{}) // refused: callers would miss the output
	k.ask("all", "GET", path+"/diff", nil)

	k.ask("all", "POST", "/v1/apply", object{"documents": []any{json.RawMessage(draft("applied", "a"))}, "publish": true})
	k.ask("all", "POST", "/v1/apply", object{"documents": []any{json.RawMessage(draft("applied", "b"))}, "publish": true})
	k.ask("all", "POST", "/v1/apply", object{"documents": []any{json.RawMessage(invalid)}, "publish": true})
	k.ask("all", "POST", "/v1/apply", object{}, text)
	k.ask("all", "POST", "/v1/flow/import", object{"documents": []any{json.RawMessage(draft("imported", "a"))}, "publish": true})
	k.ask("all", "POST", "/v1/flow/import", object{})
	k.ask("all", "POST", "/v1/flow/import", []any{})
	k.ask("all", "POST", "/v1/flow/import", object{}, text)
	k.ask("all", "POST", path+"/archive", object{})
	k.ask("all", "POST", path+"/restore", object{})
}

// credentials requests the routes of a credential, from setting it to its removal, with
// valid and with refused bodies.
func (k *contract) credentials() {
	path, hook := "/v1/credentials/hook", object{"secret": "a secret of the test", "hosts": []string{"api.example.com"}}
	k.ask("all", "PUT", path, hook)
	k.ask("all", "PUT", path, object{})
	k.ask("all", "PUT", path, hook, "Content-Type: text/plain")
	k.ask("all", "PUT", path, []any{})
	k.ask("all", "GET", path, nil)
	k.ask("all", "PATCH", path, object{"max_calls": 2})
	k.refusedBodies("PATCH", path, object{"hosts": []string{"a.example.com"}})
	k.ask("all", "POST", path+"/test", nil)
	k.ask("all", "DELETE", path, nil)
}

func (k *contract) manageKeys() {
	all, one := "/v1/keys", "/v1/keys/"+k.ids["key_id"]
	k.ask("all", "POST", all, object{"name": "another", "scopes": []string{"run"}, "rpm": 5})
	k.ask("all", "POST", all, object{})
	k.ask("all", "GET", all, nil)
	k.ask("all", "GET", all+"?limit=0", nil)
	k.ask("all", "GET", one, nil)
	k.ask("all", "PATCH", one, object{"usd_per_day": 2.5})
	k.ask("all", "PATCH", one, object{"rpm": 0})
	k.ask("all", "POST", one+"/rotate", nil)
	k.ask("all", "POST", one+"/rotate", object{"overlap_s": -1})
	for _, at := range [][2]string{{"POST", all}, {"PATCH", one}, {"POST", one + "/rotate"}} {
		k.ask("all", at[0], at[1], object{}, "Content-Type: text/plain")
		k.ask("all", at[0], at[1], []any{})
	}
	k.ask("all", "DELETE", one+"?cascade=x", nil)
	k.ask("all", "DELETE", one+"?cascade=true", nil)
	k.ask("all", "GET", "/v1/credentials", nil)
	k.ask("all", "GET", "/v1/users", nil)
}

// refusedBodies sends two bodies that every route for JSON refuses, a wrong type of
// content and a list, and one that is invalid only for this route.
func (k *contract) refusedBodies(method, path string, invalid object) {
	k.ask("all", method, path, object{}, "Content-Type: text/plain")
	k.ask("all", method, path, []any{})
	k.ask("all", method, path, invalid)
}

// operators requests the routes for limits, webhook secrets, prices, quotas, the audit
// log and models.
func (k *contract) operators() {
	flow, workspace, prices := "/v1/flow/"+k.ids["flow_id"], "/v1/workspaces/default", "/v1/prices"
	k.ask("all", "PATCH", flow+"/limits", object{"max_queued": 500, "usd_per_day": 1000})
	k.refusedBodies("PATCH", flow+"/limits", object{"max_queued": 0})
	k.ask("all", "GET", flow+"/limits", nil)
	k.ask("all", "PATCH", flow+"/limits", object{"max_queued": nil, "usd_per_day": nil})
	k.ask("all", "POST", flow+"/webhooks/hook/rotate", nil)
	k.refusedBodies("POST", flow+"/webhooks/hook/rotate", object{"overlap_s": -1})

	k.ask("all", "PATCH", prices, object{"model": "openai/gpt-x", "input": 2.5})
	k.refusedBodies("PATCH", prices, object{"model": "gpt-x"})
	k.ask("all", "GET", prices+"?query=gpt", nil)
	k.ask("all", "GET", prices+"?query=a&query=b", nil)
	k.ask("all", "DELETE", prices, nil)
	k.ask("all", "DELETE", prices+"?model=openai/gpt-x", nil)
	k.ask("all", "DELETE", prices+"?model=openai/gpt-x", nil)

	k.ask("all", "PATCH", workspace, object{"runs": 100000})
	k.refusedBodies("PATCH", workspace, object{"runs": 0})
	k.ask("all", "GET", workspace, nil)
	k.ask("all", "GET", "/v1/workspaces", nil)
	k.ask("all", "GET", "/v1/workspaces?cursor=x", nil)
	k.ask("all", "GET", "/v1/audit/verify", nil)
	k.ask("all", "GET", "/v1/audit", nil)
	k.ask("all", "GET", "/v1/audit?after=x", nil)
	k.ask("all", "GET", "/v1/keys/"+k.ids["key_id"]+"/webhook-secret", nil)
	k.models()
}

// models requests the routes for providers and their models, and for hosted models and
// their versions.
func (k *contract) models() {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "test"}]}`)
	}))
	k.t.Cleanup(provider.Close)
	if r := k.s.commandWith("sk-test", "credential", "add", "--name", "gpu", "--provider", "vllm", "--base-url", provider.URL+"/v1"); r.code != 0 {
		k.t.Fatalf("%+v", r)
	}
	k.ask("all", "GET", "/v1/providers", nil)
	k.ask("all", "GET", "/v1/providers/gpu/models?query=m", nil)
	k.ask("all", "GET", "/v1/providers/replicate/models", nil) // refused: it has hosted models
	const hosted, version = "/v1/hosted-models", "/v1/hosted-models/acme/paint"
	k.ask("all", "GET", hosted+"?query=paint", nil)
	k.ask("all", "GET", hosted+"?category=none", nil)
	model := k.ask("all", "GET", version, nil).object(k.t)
	k.ask("all", "GET", version+"?version=x", nil)
	k.ask("all", "GET", version+"/diff?from="+model["version"].(string), nil)
	k.ask("all", "GET", version+"/diff", nil)
	k.ask("all", "GET", version+"/diff?from="+strings.Repeat("0", 64), nil)
}
