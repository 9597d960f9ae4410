package admin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers"
	"sluice/handlers/webtest"
)

// list is a price list with one model.
type list struct{}

func (list) About() (source, date string) { return "list of the test", "2026-01-31" }
func (list) Search(text string, _ time.Time) []flow.Price {
	if !strings.Contains("openai/gpt-listed", text) {
		return nil
	}
	return []flow.Price{{Model: "openai/gpt-listed", Tokens: &flow.TokenPrices{Input: &flow.TokenRate{Price: 3 * flow.USD}}}}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	e := setup(t, func(c *handlers.Config) { c.PriceList = list{} })
	_, admin := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}})
	e.send(admin, "PATCH", "/v1/prices", `{"model": "openai/gpt-x", "input": 2.5}`).want(200, "")
	if a := e.send(admin, "PATCH", "/v1/prices", `{"model": "openai/gpt-x", "output": 10, "call": 0}`).want(200, ""); fmt.Sprint(a.body["input"], " ", a.body["output"], " ", a.body["source"]) != "2.5 10 workspace" {
		t.Errorf("set %s", a.raw)
	}
	if p, known, err := e.Store.FindPrice(t.Context(), flow.DefaultWorkspace, "openai/gpt-x"); err != nil || !known || p.Input != flow.USD*5/2 || p.Output != 10*flow.USD {
		t.Errorf("stored %+v, %v", p, err)
	}
	_, read := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}})
	if a := e.send(read, "GET", "/v1/prices", "").want(200, ""); len(a.body["prices"].([]any)) != 1 || !strings.Contains(a.raw, `"models":1`) || !strings.Contains(a.raw, "list of the test") {
		t.Errorf("listed %s", a.raw)
	}
	if a := e.send(read, "GET", "/v1/prices?query=listed", "").want(200, ""); len(a.body["prices"].([]any)) != 1 || !strings.Contains(a.raw, `"model":"openai/gpt-listed","input":"3"`) {
		t.Errorf("found %s", a.raw)
	}
	e.send(read, "PATCH", "/v1/prices", `{"model": "openai/gpt-x", "input": 1}`).want(403, flow.CodeScopeMissing)
	for _, body := range []string{`{}`, `{"model": "gpt-x", "input": 1}`, `{"model": "openai/gpt-x"}`, `{"model": "openai/gpt-x", "input": -1}`, `{"model": "openai/\u0000", "input": 1}`, `{"model": "openai/gpt-x", "input": 1e9}`, `{"model": "openai/gpt-x", "inputs": 1, "call": 1}`} {
		if a := e.send(admin, "PATCH", "/v1/prices", body).want(422, flow.CodeInputInvalid); len(a.pointers()) == 0 {
			t.Errorf("%s: %s", body, a.raw)
		}
	}
	e.send(admin, "DELETE", "/v1/prices", "").want(422, flow.CodeInputInvalid)
	e.send(admin, "DELETE", "/v1/prices?model=openai/gpt-x", "").want(204, "")
	e.send(admin, "DELETE", "/v1/prices?model=openai/gpt-x", "").want(404, flow.CodeNotFound)
}

func TestModels(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, edit := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeEdit}})
	_, admin := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}})
	_, read := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}})
	for path, want := range map[string]string{
		"/v1/providers/openai/models?query=x":               `"openai/gpt-x","title":"","owner":"default"`,
		"/v1/hosted-models?query=a&category=b":              `"model":"acme/paint","title":"","description":"a","category":"b"`,
		"/v1/hosted-models/acme/paint?version=v1":           `"model":"acme/paint","version":"v1"`,
		"/v1/hosted-models/acme/paint/diff?from=v1&to=v2":   `"old":"v1","new":"v2"`,
		"/v1/hosted-models/acme/paint/diff?from=v1&to=&x=1": `"old":"v1","new":""`,
	} {
		for _, key := range []string{edit, admin} {
			if a := e.send(key, "GET", path, "").want(200, ""); !strings.Contains(a.raw, want) {
				t.Errorf("%s: %s", path, a.raw)
			}
		}
		e.send(read, "GET", path, "").want(403, flow.CodeScopeMissing)
	}
	e.send(edit, "GET", "/v1/providers/none/models", "").want(404, flow.CodeNotFound)
	e.send(edit, "GET", "/v1/hosted-models/acme/none", "").want(404, flow.CodeNotFound)
	e.send(edit, "GET", "/v1/hosted-models/acme/paint/diff", "").want(422, flow.CodeInputInvalid)
	if a := e.send(read, "GET", "/v1/providers", "").want(200, ""); !strings.Contains(a.raw, `"environment":["OPENAI_API_KEY"]`) {
		t.Errorf("providers are %s", a.raw)
	}
}

// TestWorkspaceQuotas checks that only keys that go back to the operator see and limit other
// workspaces: a workspace must not raise the quota that protects the server from it.
func TestWorkspaceQuotas(t *testing.T) {
	t.Parallel()
	e := setup(t)
	other := e.guests()
	_, operator := e.key(flow.Key{Scopes: flow.Scopes})
	made := e.send(operator, "POST", "/v1/keys", `{"name": "made", "scopes": ["admin"]}`).want(201, "").secret()
	_, guest := e.key(flow.Key{Scopes: flow.Scopes, WorkspaceID: other})
	editors, ownersKey := e.keyOf(flow.MemberEditor), e.keyOf(flow.MemberOwner)
	_, limited := e.key(flow.Key{Scopes: flow.Scopes, RPM: 1000})
	path := "/v1/workspaces/" + string(other)

	for name, key := range map[string]string{"operator": operator, "made by it": made, "owner": ownersKey} {
		if a := e.send(key, "GET", "/v1/workspaces", "").want(200, ""); len(a.body["workspaces"].([]any)) != 2 {
			t.Errorf("%s sees %s", name, a.raw)
		}
		a := e.send(key, "PATCH", path, `{"bytes": 1000000, "flows": null, "runs": "default"}`).want(200, "")
		if a.raw != e.send(key, "GET", path, "").want(200, "").raw || !strings.Contains(a.raw, `"limit":1000000,"default":false`) || !strings.Contains(a.raw, `"flows":{"used":0,"limit":null,"default":false}`) {
			t.Errorf("%s set %s", name, a.raw)
		}
		e.send(key, "PATCH", path, `{"bytes": "default", "flows": "default"}`).want(200, "")
	}
	for name, key := range map[string]string{"editor": editors, "limited": limited} {
		if a := e.send(key, "GET", "/v1/workspaces", "").want(200, ""); len(a.body["workspaces"].([]any)) != 1 || !strings.Contains(a.raw, `"id":"default"`) {
			t.Errorf("%s sees %s", name, a.raw)
		}
		e.send(key, "PATCH", "/v1/workspaces/default", `{"bytes": null}`).want(403, flow.CodeExceedsKey)
		e.send(key, "GET", path, "").want(404, flow.CodeNotFound)
		e.send(key, "PATCH", path, `{"bytes": null}`).want(404, flow.CodeNotFound)
	}
	if a := e.send(guest, "GET", "/v1/workspaces", "").want(200, ""); !strings.Contains(a.raw, string(other)) || strings.Contains(a.raw, `"default"}`) || strings.Contains(a.raw, `"id":"default"`) {
		t.Errorf("a guest sees %s", a.raw)
	}
	e.send(guest, "GET", path, "").want(200, "")
	e.send(guest, "PATCH", path, `{"bytes": null}`).want(403, flow.CodeExceedsKey)
	e.send(guest, "PATCH", "/v1/workspaces/default", `{"bytes": 1}`).want(404, flow.CodeNotFound)
	for _, body := range []string{`{"bytes": 0}`, `{"bytes": "5GiB"}`, `{"bytes": 1.5}`, `{"files": 1}`} {
		e.send(operator, "PATCH", path, body).want(422, flow.CodeInputInvalid)
	}
	e.send(operator, "GET", "/v1/workspaces?cursor=x", "").want(422, flow.CodeInputInvalid)
	log, err := e.Store.ListAudit(t.Context(), other, "", 100)
	if err != nil || len(log) < 6 || log[0].Action != "workspace.limits" || !strings.HasPrefix(log[0].Actor, "key_") || log[len(log)-1].Detail == "" {
		t.Errorf("the log of the workspace has %+v, %v", log, err)
	}
}

// guests creates a second workspace, which does not belong to the operator, and returns its ID.
func (e *env) guests() flow.WorkspaceID {
	e.T.Helper()
	ws := flow.Workspace{ID: flow.WorkspaceID(flow.NewIDs().New(flow.PrefixWorkspace)), Name: "Guests"}
	if err := e.Store.CreateWorkspace(e.T.Context(), ws); err != nil {
		e.T.Fatal(err)
	}
	return ws.ID
}

// keyOf returns the secret of a key with every scope, made by a new member of the default
// workspace with a role.
func (e *env) keyOf(role flow.MemberRole) string {
	e.T.Helper()
	user := e.Add(string(role)+"@example.com", flow.DefaultWorkspace, role)
	ring := library.Keyring{Store: e.Store, IDs: flow.NewIDs(), Now: e.Server.Site.Now}
	text, err := ring.Create(e.T.Context(), flow.Actor{ID: user.ID}, &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: "test", Scopes: flow.Scopes})
	if err != nil {
		e.T.Fatal(err)
	}
	return text
}

func TestVerifyAuditOverHTTP(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, admin := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}})
	_, guest := e.key(flow.Key{Scopes: flow.Scopes, WorkspaceID: e.guests()})
	a := e.send(admin, "GET", "/v1/audit/verify", "").want(200, "")
	chains := a.body["workspaces"].([]any)
	if a.body["intact"] != true || len(chains) != 1 || chains[0].(map[string]any)["workspace_id"] != "default" || chains[0].(map[string]any)["entries"].(float64) < 1 {
		t.Errorf("verified %s", a.raw)
	}
	if a := e.send(guest, "GET", "/v1/audit/verify", "").want(200, ""); strings.Contains(a.raw, `"default"`) {
		t.Errorf("a guest sees %s", a.raw)
	}
	_, narrow := e.key(flow.Key{Scopes: flow.Scopes, Flows: []string{e.PublishedFlow(webtest.Greeting)}})
	e.send(narrow, "GET", "/v1/audit/verify", "").want(403, flow.CodeFlowNotAllowed)
}
