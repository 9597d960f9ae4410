package handlers_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/db/dbtest"
	"sluice/flow"
	chain "sluice/flow/caller"
	"sluice/flow/hooks"
	"sluice/flow/triggers"
	"sluice/flow/value"
	"sluice/handlers/webtest"
)

// A run that starts a run of its own flow over HTTP is a loop without an end, unless the depth travels with the request.
func TestCaller_ends_flow_that_calls_its_own_API(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := newCaller(h, nil, flow.Key{Scopes: []flow.Scope{flow.ScopeRun}})
	address, _ := url.Parse(h.Http.URL)
	if err := h.Store.SaveCredential(t.Context(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "me", Hosts: []string{address.Host}}, p.text); err != nil {
		t.Fatal(err)
	}
	id := h.PublishedFlow(fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Again","slug":"again","nodes":[
	 {"id":"call","kind":"http_request","config":{"method":"POST","url":%q,"headers":{"Authorization":"Bearer {{credential:me}}"},"body":"{}","body_type":"json"}},
	 {"id":"next","kind":"output","config":{"name":"next"}}],"edges":[{"from":"call.body","to":"next.value"}]}`, h.Http.URL+"/v1/flow/again/run"))
	started, err := h.Runner.StartRun(t.Context(), flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(id), Trigger: flow.TriggerAPI, Given: &flow.Object{}})
	if err != nil {
		t.Fatal(err)
	}
	run := h.Ended(started.Run.ID)
	for depth := 1; depth <= flow.MaxChildDepth; depth++ {
		if run.State != flow.RunSucceeded {
			t.Fatalf("the run at depth %d is %s: %+v", depth-1, run.State, run.Error)
		}
		next, _ := flow.AsObject(run.Outputs.Get("next"))
		if run = h.Ended(flow.RunID(flow.Text(next.Get("run_id")))); run.Depth != depth {
			t.Fatalf("run %d has depth %d", depth, run.Depth)
		}
	}
	if run.State != flow.RunFailed || !strings.Contains(run.Error.Message, "9 levels deep; the limit is 8") {
		t.Errorf("the last run is %s: %+v", run.State, run.Error)
	}
}

// sentBy adds the header of a run to the requests of a key, and returns the status and the body.
func (p *caller) sentBy(c chain.Caller, method, path, body string) (status int, raw string) {
	p.h.T.Helper()
	r, err := http.NewRequestWithContext(p.h.T.Context(), method, p.h.Http.URL+path, strings.NewReader(body))
	if err != nil {
		p.h.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.text)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set(chain.Header, c.Sign(p.h.Settings.Links.Key))
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		p.h.T.Fatal(err)
	}
	defer a.Body.Close()
	data, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(data)
}

func TestCaller_may_start_but_not_answer_edit_or_administer(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.PublishedFlow(webtest.PublishGreeting)
	p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	run := chain.Caller{RootRunID: "run_7"}
	for _, r := range []struct{ method, path, body string }{
		{"POST", "/v1/flow/" + id + "/run/run_1/approvals/ask", `{"decision":"approve"}`},
		{"PUT", "/v1/flow/" + id, webtest.PublishGreeting},
		{"POST", "/v1/keys", `{"name":"more","scopes":["run"]}`},
		{"POST", "/mcp?tools=authoring", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
	} {
		if status, raw := p.sentBy(run, r.method, r.path, r.body); status != http.StatusForbidden {
			t.Errorf("%s %s: %d %s", r.method, r.path, status, raw)
		}
	}
	if status, raw := p.sentBy(run, "GET", "/v1/flow", ""); status != http.StatusOK {
		t.Errorf("reading: %d %s", status, raw)
	}
	if status, raw := p.sentBy(run, "POST", "/v1/flow/"+id+"/run", `{"who":"Ada"}`); status != http.StatusAccepted {
		t.Errorf("a start: %d %s", status, raw)
	}
}

func TestCaller_refuses_starts_below_the_limit_at_every_door(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.PublishedFlow(webtest.PublishGreeting)
	p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	deepest := chain.Caller{RootRunID: "run_7", Depth: flow.MaxChildDepth}
	const reason = "9 levels deep"
	for _, r := range []struct {
		path, body string
		status     int
	}{
		{"/v1/flow/" + id + "/run", `{"who":"Ada"}`, http.StatusUnprocessableEntity},
		{"/v1/chat/completions", `{"model":"` + id + `","messages":[{"role":"user","content":"Ada"}]}`, http.StatusBadRequest},
	} {
		if status, raw := p.sentBy(deepest, "POST", r.path, r.body); status != r.status || !strings.Contains(raw, reason) {
			t.Errorf("%s: %d %s", r.path, status, raw)
		}
	}
	f, err := h.Store.FindFlow(t.Context(), flow.DefaultWorkspace, flow.FlowID(id))
	if err != nil {
		t.Fatal(err)
	}
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"who":"Ada"}}}`, f.Slug)
	if _, raw := p.sentBy(deepest, "POST", "/mcp", call); !strings.Contains(raw, reason) || !strings.Contains(raw, `"isError":true`) {
		t.Errorf("a call of a tool: %s", raw)
	}
	hook := &triggers.Trigger{
		ID: flow.NewIDs().New(flow.PrefixTrigger), WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(id), Name: "events", Kind: triggers.Hook, On: true, CreatedAt: h.Store.Now(),
		HookState: triggers.HookState{Token: triggers.NewToken(), Hook: hooks.Config{Inputs: value.FromMap(map[string]any{"who": "Ada"})}},
	}
	if err := h.Store.CreateTrigger(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	if status, raw := p.sentBy(deepest, "POST", triggers.HookPath(hook.Token), `{}`); status != http.StatusUnprocessableEntity {
		t.Errorf("a hook: %d %s", status, raw)
	}
	events, err := h.Store.ListEvents(t.Context(), hook, "", "", 10)
	if err != nil || len(events) != 1 || events[0].State != triggers.Rejected || !strings.Contains(events[0].Detail, reason) {
		t.Errorf("the events are %+v, %v", events, err)
	}
	if rows := h.Contents("runs"); rows != "" {
		t.Errorf("a run was started: %s", rows)
	}
}

func TestCaller_cannot_use_the_session_or_the_link_of_a_person(t *testing.T) {
	t.Parallel()
	h := webtest.SetupOn(t, dbtest.SQLite(t))
	id := h.PublishedFlow(webtest.PublishGreeting)
	b := h.As(flow.MemberOwner).WithHeader(chain.Header, chain.Caller{RootRunID: "run_7"}.Sign(h.Settings.Links.Key))
	b.Get("/flows").Is(http.StatusOK)
	for _, path := range []string{"/flows/" + id + "/publish", "/approval/anything", "/settings/members/leave"} {
		b.Post(path, url.Values{}).Is(http.StatusForbidden)
	}
}

// The header of another key, or one that was written by hand, has no effect.
func TestCaller_ignores_headers_that_were_not_signed_here(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.PublishedFlow(webtest.PublishGreeting)
	p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	r, _ := http.NewRequestWithContext(t.Context(), "POST", h.Http.URL+"/v1/flow/"+id+"/run", strings.NewReader(`{"who":"Ada"}`))
	r.Header.Set("Authorization", "Bearer "+p.text)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(chain.Header, chain.Caller{Depth: flow.MaxChildDepth}.Sign([]byte("another key")))
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusAccepted {
		t.Errorf("got %d", a.StatusCode)
	}
}
