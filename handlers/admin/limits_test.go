package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

func TestFlowLimits(t *testing.T) {
	t.Parallel()
	e := setup(t)
	id := e.PublishedFlow(webtest.Greeting)
	path := "/v1/flow/" + id + "/limits"
	_, admin := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}, Flows: []string{id}})
	if a := e.send(admin, "GET", path, "").want(200, ""); a.body["max_running"] != nil || a.body["usd_per_day"] != nil {
		t.Errorf("at first %s", a.raw)
	}
	a := e.send(admin, "PATCH", path, `{"max_running": 3, "runs_per_day": 50, "usd_per_day": 2.5}`).want(200, "")
	if fmt.Sprintf("%v %v %v %v %v", a.body["max_running"], a.body["runs_per_day"], a.body["usd_per_day"], a.body["runs_today"], a.body["usd_today"]) != "3 50 2.5 0 0" {
		t.Errorf("set %s", a.raw)
	}
	if a := e.send(admin, "PATCH", path, `{"max_running": null}`).want(200, ""); a.body["max_running"] != nil || a.body["runs_per_day"] != 50.0 {
		t.Errorf("removed %s", a.raw)
	}
	for _, body := range []string{`{"max_running": 0}`, `{"max_queued": 1.5}`, `{"usd_per_day": -1}`, `{"allow_unpriced": "yes"}`, `{"max": 1}`} {
		if a := e.send(admin, "PATCH", path, body).want(422, flow.CodeInputInvalid); len(a.pointers()) != 1 {
			t.Errorf("%s: %s", body, a.raw)
		}
	}
	_, manage := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeManage}})
	e.send(manage, "GET", path, "").want(200, "")
	e.send(manage, "PATCH", path, `{"runs_per_day": 1}`).want(403, flow.CodeScopeMissing)
}

// TestKeysWithLimits_cannot_loosen_limits checks that a key with a limit lowers limits but cannot
// loosen them, and neither can a key without limits whose maker has got one.
func TestKeysWithLimits_cannot_loosen_limits(t *testing.T) {
	t.Parallel()
	e := setup(t)
	id := e.PublishedFlow(webtest.Greeting)
	path := "/v1/flow/" + id + "/limits"
	top, free := e.key(flow.Key{Scopes: flow.Scopes})
	e.send(free, "PATCH", path, `{"max_running": 5, "max_queued": 10, "runs_per_day": 50, "usd_per_day": 2}`).want(200, "")
	e.send(free, "PUT", "/v1/credentials/hook", hookCredential).want(200, "")
	child := e.send(free, "POST", "/v1/keys", `{"name": "child", "scopes": ["admin"]}`).want(201, "").secret()
	e.send(free, "PATCH", "/v1/keys/"+top.ID, `{"rpm": 100000}`).want(200, "") // now its child is limited too
	_, limited := e.key(flow.Key{Scopes: flow.Scopes, USDPerDay: flow.USD})
	for name, key := range map[string]string{"limited": limited, "child": child} {
		for _, body := range []string{`{"max_running": 6}`, `{"max_running": null}`, `{"max_queued": 11}`, `{"runs_per_day": null}`, `{"usd_per_day": 3}`, `{"allow_unpriced": true}`} {
			e.send(key, "PATCH", path, body).want(403, flow.CodeExceedsKey)
		}
		for _, body := range []string{`{"max_calls": 5}`, `{"max_calls": null}`} {
			e.send(key, "PATCH", "/v1/credentials/hook", body).want(403, flow.CodeExceedsKey)
		}
		e.send(key, "PATCH", "/v1/prices", `{"model": "openai/gpt-x", "input": 0}`).want(403, flow.CodeExceedsKey)
		e.send(key, "DELETE", "/v1/prices?model=openai/gpt-x", "").want(403, flow.CodeExceedsKey)
		e.send(key, "PATCH", "/v1/workspaces/default", `{"bytes": null}`).want(403, flow.CodeExceedsKey)
		if a := e.send(key, "PATCH", path, `{"max_queued": 9}`).want(200, ""); a.body["max_queued"] != 9.0 || a.body["max_running"] != 5.0 {
			t.Errorf("%s: lowered to %s", name, a.raw)
		}
		e.send(key, "PATCH", "/v1/credentials/hook", `{"calls_per_minute": 7}`).want(200, "")
		e.send(key, "PATCH", "/v1/credentials/hook", `{"calls_per_minute": 8}`).want(403, flow.CodeExceedsKey)
	}
	if a := e.send(free, "GET", "/v1/credentials/hook", "").want(200, ""); fmt.Sprint(a.body["max_calls"], a.body["calls_per_minute"]) != "4 7" {
		t.Errorf("the credential has %s", a.raw)
	}
}

func TestLimitCredential(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, admin := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeAdmin}})
	const path = "/v1/credentials/hook"
	e.send(admin, "PATCH", path, `{"max_calls": 1}`).want(404, flow.CodeNotFound)
	e.send(admin, "PUT", path, hookCredential).want(200, "")
	if a := e.send(admin, "PATCH", path, `{"calls_per_minute": 60}`).want(200, ""); fmt.Sprint(a.body["max_calls"], a.body["calls_per_minute"], a.body["hosts"]) != "4 60 [api.example.com]" {
		t.Errorf("limited %s", a.raw)
	}
	for _, body := range []string{`{"hosts": ["evil.example.com"]}`, `{"base_url": "https://evil.example.com"}`, `{"provider": "openai"}`, `{"secret": "x"}`, `{"max_calls": -1}`, `{"max_calls": "4"}`} {
		e.send(admin, "PATCH", path, body).want(422, flow.CodeInputInvalid)
	}
	if a := e.send(admin, "GET", path, "").want(200, ""); fmt.Sprint(a.body["hosts"], a.body["readable"], a.body["unbound"], a.body["used_by"]) != "[api.example.com] true false []" {
		t.Errorf("then %s", a.raw)
	}
}

// TestKeySecretOverHTTP checks that a key reads the webhook secrets that it was shown when it
// made a key, and its own, but no other.
func TestKeySecretOverHTTP(t *testing.T) {
	t.Parallel()
	e := setup(t)
	own, admin := e.key(flow.Key{Scopes: flow.Scopes})
	other, _ := e.key(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}})
	made := e.send(admin, "POST", "/v1/keys", `{"name": "made"}`).want(201, "")
	if a := e.send(admin, "GET", "/v1/keys/"+made.id()+"/webhook-secret", "").want(200, ""); a.body["secret"] != made.body["webhook_secret"] {
		t.Errorf("read %s, made %s", a.raw, made.raw)
	}
	mine := e.send(admin, "GET", "/v1/webhook-secret", "").want(200, "").body["secret"]
	if a := e.send(admin, "GET", "/v1/keys/"+own.ID+"/webhook-secret", "").want(200, ""); a.body["secret"] != mine || mine == nil {
		t.Errorf("its own is %s, want %v", a.raw, mine)
	}
	secret, err := e.Store.KeyWebhookSecret(t.Context(), flow.DefaultWorkspace, other.ID)
	if err != nil {
		t.Fatal(err)
	}
	if a := e.send(admin, "GET", "/v1/keys/"+other.ID+"/webhook-secret", "").want(403, flow.CodeExceedsKey); strings.Contains(a.raw, secret) {
		t.Errorf("the refusal has the secret")
	}
	log, err := e.Store.ListAudit(t.Context(), flow.DefaultWorkspace, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]bool{}
	for _, entry := range log {
		if entry.Action == "key.secret.read" && entry.Actor == own.ID {
			read[entry.Target] = true
		}
	}
	if len(read) != 2 || !read[made.id()] || read[other.ID] {
		t.Errorf("the audit log has %v", read)
	}
}
