package admin_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

const hookCredential = `{"secret": "sk-hook-secret", "hosts": ["api.example.com"], "max_calls": 4, "calls_per_minute": null}`

func TestCredentials(t *testing.T) {
	t.Parallel()
	e := setup(t)
	k, admin := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}})
	const path = "/v1/credentials/hook"
	e.send(admin, "GET", path, "").want(404, flow.CodeNotFound)
	for range 2 { // the second replaces it
		a := e.send(admin, "PUT", path, hookCredential).want(200, "")
		if a.body["name"] != "hook" || fmt.Sprint(a.body["max_calls"], a.body["calls_per_minute"]) != "4 0" || fmt.Sprint(a.body["hosts"]) != "[api.example.com]" || strings.Contains(a.raw, "sk-hook") {
			t.Errorf("saved %s", a.raw)
		}
	}
	if _, secret, err := e.Store.OpenCredential(t.Context(), flow.DefaultWorkspace, "hook"); err != nil || secret != "sk-hook-secret" {
		t.Errorf("stored %q, %v", secret, err)
	}
	if a := e.send(admin, "POST", path+"/test", "").want(200, ""); a.body["accepted"] != false {
		t.Errorf("a plain secret was accepted: %s", a.raw)
	}
	for secret, accepted := range map[string]bool{"sk-right": true, "sk-wrong": false} {
		e.send(admin, "PUT", "/v1/credentials/openai", `{"secret": "`+secret+`", "provider": "openai"}`).want(200, "")
		if a := e.send(admin, "POST", "/v1/credentials/openai/test", "").want(200, ""); a.body["accepted"] != accepted || a.body["message"] == "" {
			t.Errorf("%s: %s", secret, a.raw)
		}
	}
	e.send(admin, "DELETE", path, "").want(204, "")
	e.send(admin, "DELETE", path, "").want(404, flow.CodeNotFound)
	log, err := e.Store.ListAudit(t.Context(), flow.DefaultWorkspace, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, entry := range log {
		if entry.Actor == k.ID {
			actions = append(actions, entry.Action+" "+entry.Target)
		}
	}
	if len(actions) != 7 || actions[0] != "credential.remove hook" {
		t.Errorf("the audit log has %q for the key", actions)
	}
}

func TestCredentialsAreChecked(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, admin := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}})
	for _, body := range []string{
		`{}`, `{"secret": 1}`, `{"secret": "x", "hosts": ["a.com"], "max_calls": -1}`, `{"secret": "x", "hosts": ["a.com"], "calls_per_minute": "9"}`, `{"secret": "x"}`, `{"secret": "x", "hosts": []}`, `{"secret": "x", "hosts": "a.com"}`, `{"secret": "x", "hosts": [1]}`,
		`{"hosts": ["a.com"]}`, `{"provider": "vllm", "base_url": "https://a.com"}`, `{"secret": "x", "base_url": "https://a.com", "hosts": ["a.com"]}`,
		`{"secret": "x", "provider": "openai", "hosts": ["a.com"]}`, `{"secret": "x", "hosts": ["a.com"], "trusted": true}`,
	} {
		if a := e.send(admin, "PUT", "/v1/credentials/x", body).want(422, flow.CodeInputInvalid); len(a.body["errors"].([]any)) == 0 {
			t.Errorf("%s: no error has a place: %s", body, a.raw)
		}
	}
	e.send(admin, "GET", "/v1/credentials/x", "").want(404, flow.CodeNotFound)
}

// TestCredentialsNeedAdmin checks that no other scope, and no key with a list of flows,
// reaches credentials: keys from before the scope existed gain nothing.
func TestCredentialsNeedAdmin(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, admin := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}})
	e.send(admin, "PUT", "/v1/credentials/hook", hookCredential).want(200, "")
	_, other := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead, flow.ScopeManage, flow.ScopeEdit, flow.ScopeApprove}})
	_, narrow := e.key(flow.Key{Scopes: flow.Scopes, Flows: []string{e.PublishedFlow(webtest.Greeting)}})
	if a := e.send(admin, "GET", "/v1/credentials", "").want(200, ""); !strings.Contains(a.raw, `"name":"hook"`) || strings.Contains(a.raw, "sk-hook") {
		t.Errorf("listed %s", a.raw)
	}
	for _, r := range [][3]string{
		{"GET", "/v1/credentials"}, {"GET", "/v1/users"}, {"GET", "/v1/credentials/hook"}, {"PUT", "/v1/credentials/hook", hookCredential}, {"POST", "/v1/credentials/hook/test"}, {"DELETE", "/v1/credentials/hook"},
	} {
		e.send("", r[0], r[1], r[2]).want(401, flow.CodeKeyMissing)
		e.send(other, r[0], r[1], r[2]).want(403, flow.CodeScopeMissing)
		e.send(narrow, r[0], r[1], r[2]).want(403, flow.CodeFlowNotAllowed)
	}
	for _, path := range []string{"/v1/flow", "/v1/runs", "/v1/usage"} {
		e.send(admin, "GET", path, "").want(403, flow.CodeScopeMissing)
	}
}

// TestCredentials_random_changes_reveal_no_secret sends random sequences of changes. After each, no response has
// shown a secret, and no credential has a secret together with an address that was set
// by another request, or a base URL that may be private.
func TestCredentials_random_changes_reveal_no_secret(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, admin := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}})
	ctx, r := t.Context(), rand.New(rand.NewPCG(7, 11))
	owners := flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "b", Provider: "vllm", BaseURL: "http://10.0.0.1/v1", Hosts: []string{"10.0.0.1"}, Trusted: true}
	if err := e.Store.SaveCredential(ctx, owners, "sk-n0-secret"); err != nil {
		t.Fatal(err)
	}
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	sent := map[string]string{"sk-n0-secret": owners.BaseURL + fmt.Sprint(owners.Hosts)} // where each secret may go
	for n := 1; n <= 150; n++ {
		path, secret, host := "/v1/credentials/"+one("a", "b"), fmt.Sprintf("sk-n%d-secret", n), fmt.Sprintf("host-%d.example.com", n)
		given := one(`"secret": "`+secret+`", `, `"secret": "`+secret+`", `, "", `"secret": null, `)
		place := one(`"hosts": ["`+host+`"]`, `"provider": "vllm", "base_url": "http://10.9.9.9/v1"`, `"provider": "openai"`, `"trusted": true, "provider": "vllm", "base_url": "http://10.0.0.2"`)
		method := one("PUT", "PUT", "PUT", "GET", "DELETE", "POST")
		body := ""
		if method == "PUT" {
			body = "{" + given + place + "}"
		} else if method == "POST" {
			path += "/test"
		}
		a := e.send(admin, method, path, body)
		if a.status >= 500 || strings.Contains(a.raw, "-secret") {
			t.Fatalf("%s %s %s: %d %s", method, path, body, a.status, a.raw)
		}
		list, err := e.Store.ListCredentials(ctx, flow.DefaultWorkspace)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			_, stored, err := e.Store.OpenCredential(ctx, flow.DefaultWorkspace, c.Name)
			if err != nil {
				t.Fatal(err)
			}
			at := c.BaseURL + fmt.Sprint(c.Hosts)
			if sent[stored] == "" && stored == secret && a.status == 200 && method == "PUT" {
				sent[stored] = at
			}
			if sent[stored] != at || c.Trusted && stored != "sk-n0-secret" {
				t.Fatalf("%s %s %s: the secret %s may go to %s, and was given for %s (trusted: %t)", method, path, body, stored, at, sent[stored], c.Trusted)
			}
		}
	}
	if len(sent) < 20 {
		t.Errorf("only %d secrets were accepted", len(sent))
	}
}

// TestCheckTools compares the tools of a server with those of nodes, in drafts and live versions.
func TestCheckTools(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, admin := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}})
	const path = "/v1/credentials/desk/tools/check"
	e.send(admin, "POST", path, "").want(404, flow.CodeNotFound)
	e.send(admin, "PUT", "/v1/credentials/openai", `{"secret": "sk-right", "provider": "openai"}`).want(200, "")
	e.send(admin, "POST", "/v1/credentials/openai/tools/check", "").want(422, flow.CodeInputInvalid)
	e.send(admin, "PUT", "/v1/credentials/desk", `{"secret": "sk-wrong", "provider": "mcp", "base_url": "https://desk.example.com/mcp"}`).want(200, "")
	e.send(admin, "POST", path, "").want(422, flow.CodeInputInvalid)
	e.send(admin, "PUT", "/v1/credentials/desk", `{"secret": "sk-right", "provider": "mcp", "base_url": "https://desk.example.com/mcp"}`).want(200, "")
	stored := webtest.ServerTools()
	stored[1].Description = "Adds an internal note."
	stored[1].SHA256 = stored[1].Hash()
	gone := flow.ServerTool{Name: "merge", Schema: stored[0].Schema, Effect: flow.EffectWrite}
	tools := flow.EncodeJSON([]any{stored[0].Value(), stored[1].Value(), gone.Value()})
	e.Flow(`{"schema": "sluice.flow/v1", "name": "Desk", "edges": [{"from": "desk.tool", "to": "agent.tools"}], "nodes": [{"id": "agent", "kind": "agent", "config": {"model": "openai/x", "prompt": "Help."}}, {"id": "desk", "tool": {}, "kind": "mcp", "config": {"credential": {"credential": "desk"}, "tools": ` + string(tools) + `}}]}`)
	a := e.send(admin, "POST", path, "").want(200, "")
	for _, part := range []string{`"server":"Help desk"`, `"name":"delete_ticket"`, `"node":"desk"`, `"live":false`, `{"name":"get_ticket","state":"same"}`,
		`{"name":"add_note","state":"changed","was":{"name":"add_note","description":"Adds an internal note."`, `{"name":"merge","state":"missing"`} {
		if !strings.Contains(a.raw, part) {
			t.Errorf("%s is not in %s", part, a.raw)
		}
	}
}
