package api

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

func TestMCPCall(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.agent(w.key)
	r := a.call("answer_a_ticket", map[string]any{"ticket": "Where is it?"})
	if r.text() != "Where is it?" || dig(r.Result, "structuredContent", "answer") != "Where is it?" || r.Result["isError"] != nil {
		t.Errorf("result %v", r.Result)
	}
	start := w.runner.lastStart()
	if id, _ := dig(r.Result, "_meta", "run_id").(string); !flow.ValidID(flow.PrefixRun, id) || start.Trigger != flow.TriggerMCP || start.Key.ID == "" {
		t.Errorf("run %q started as %+v", id, start)
	}
	plain := w.agent(w.key)
	plain.headers = []string{"Accept", "application/json"}
	resp := plain.open("tools/call", map[string]any{"name": "answer_a_ticket", "arguments": map[string]any{"ticket": "b"}})
	if got := resp.Header.Get("Content-Type"); got != "application/json" || plain.read(resp)[0].text() != "b" {
		t.Errorf("a caller without event streams gets %s", got)
	}
}

func TestMCPStructuredOutput(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.addFlow("default", `{"schema": "sluice.flow/v1", "name": "Two", "nodes": [
		{"id": "a", "kind": "input", "config": {"name": "a", "type": "json"}}, {"id": "x", "kind": "output", "config": {"name": "x"}}, {"id": "y", "kind": "output", "config": {"name": "y"}}],
		"edges": [{"from": "a.value", "to": "x.value"}, {"from": "a.value", "to": "y.value"}]}`)
	r := w.agent(w.key).call("two", map[string]any{"a": json.Number("12345678901234567890")})
	if want := `{"x":12345678901234567890,"y":12345678901234567890}`; r.text() != want {
		t.Errorf("text %s, wanted %s", r.text(), want)
	}
}

// TestMCPErrors checks that errors which a model can correct are results.
func TestMCPErrors(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.agent(w.key)
	a.call("answer_a_ticket", map[string]any{"tickt": "a", "tone": "rude"}).wantError(t, "- ticket:", "- tone:", "- tickt:", `"ticket"`)
	a.call("answer_a_ticket", map[string]any{"ticket": "a", "run_options": map[string]any{"version": 1}}).wantError(t, "run_options")
	failed := a.call("fail", nil)
	failed.wantError(t, "The model refused the prompt.", "run_id: run_")
	if id, _ := dig(failed.Result, "_meta", "run_id").(string); !flow.ValidID(flow.PrefixRun, id) || dig(failed.Result, "_meta", "code") != "run_failed" {
		t.Errorf("meta %v", failed.Result["_meta"])
	}
	w.agent(w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}})).call("fail", nil).wantError(t, `scope "run"`)
	for _, refusal := range []*flow.Error{
		{Code: flow.CodeBudgetExceeded, Message: "This key has spent its budget."},
		flow.Quota{Unit: flow.QuotaRuns, Limit: 5, Used: 5}.Refusal(),
		{Code: flow.CodeConcurrencyLimited, Message: "This key has 2 open runs."},
		{Code: flow.CodeQueueFull, Message: "The queue is full.", After: 7 * time.Second},
	} {
		w.runner.mu.Lock()
		w.runner.refuse = refusal
		w.runner.mu.Unlock()
		r := a.call("fail", nil)
		r.wantError(t, refusal.Message)
		if refusal.After > 0 {
			r.wantError(t, "Try again in 7 s.")
		}
	}
	w.runner.mu.Lock()
	w.runner.refuse = fmt.Errorf("secret of the inside")
	w.runner.mu.Unlock()
	if r := a.call("fail", nil); strings.Contains(r.text(), "secret") || r.Result["isError"] != true {
		t.Errorf("an internal error shows: %v", r)
	}
	w.runner.draining.Store(true)
	a.call("fail", nil).wantError(t, "shutting down")
}

// heldCall starts a call that waits at its gate, and returns after the first progress
// notification.
func (a *agent) heldCall(gate string) (s *stream, first rpc, run *flow.Run) {
	a.t.Helper()
	params := map[string]any{"name": "wait", "arguments": map[string]any{"gate": gate}, "_meta": map[string]any{"progressToken": "p1"}}
	s = a.stream(request{method: "POST", path: "/mcp", key: a.key, headers: a.headers, body: a.body("tools/call", params)})
	return s, s.message(), a.newestRun(a.held)
}

func (w *env) newestRun(flowID string) *flow.Run {
	w.t.Helper()
	list, err := w.store.ListRuns(w.t.Context(), flow.RunFilter{WorkspaceID: "default", FlowID: flow.FlowID(flowID), Limit: 1})
	if err != nil || len(list) == 0 {
		w.t.Fatalf("no run: %v", err)
	}
	return &list[0]
}

// message is the next one of the stream.
func (s *stream) message() (m rpc) {
	s.t.Helper()
	for e, ok := s.next(); ok; e, ok = s.next() {
		if e.name == "message" {
			if err := json.Unmarshal([]byte(e.data), &m); err != nil {
				s.t.Fatal(err)
			}
			return m
		}
	}
	s.t.Fatal("the stream has ended")
	return m
}

func TestMCPProgress(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.server.PingInterval = 5 * time.Millisecond
	s, first, _ := w.agent(w.key).heldCall("g")
	if first.Method != "notifications/progress" || first.Params["progressToken"] != "p1" || first.Params["message"] != "Hold" || first.Params["total"] != 5.0 {
		t.Errorf("progress %+v", first)
	}
	if e, _ := s.next(); e.name != "ping" {
		t.Errorf("a call that is held is not kept open: %+v", e)
	}
	w.gates.open("g")
	last := s.message()
	for ; last.Method == "notifications/progress"; last = s.message() {
		if last.Params["progress"].(float64) <= first.Params["progress"].(float64) {
			t.Errorf("progress does not grow: %v", last)
		}
		first = last
	}
	if last.text() != `{"first":"g","last":"g"}` {
		t.Errorf("answer %q", last.text())
	}
	if more := s.rest(); len(more) > 0 {
		t.Errorf("after the answer comes %v", more)
	}
}

// TestMCPCancel checks that a call is canceled by its ID within its session, or when its
// client disconnects, and that no other client can cancel it.
func TestMCPCancel(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a, other := w.agent(w.key, "Mcp-Session-Id", "s1"), w.agent(w.key, "Mcp-Session-Id", "s2")
	cancel := func(a *agent, id int) {
		t.Helper()
		body := fmt.Sprintf(`{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": %d}}`, id)
		w.send(request{method: "POST", path: "/mcp", key: a.key, headers: a.headers, body: body}).want(t, 202)
	}
	state := func(run *flow.Run) flow.RunState {
		now, err := w.store.FindRun(t.Context(), run.WorkspaceID, run.FlowID, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		return now.State
	}
	s, _, run := a.heldCall("never")
	cancel(other, 1)
	cancel(w.agent(w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}}), "Mcp-Session-Id", "s1"), 1)
	cancel(w.agent(w.key), 1)
	cancel(a, 2)
	if state(run) != flow.RunRunning {
		t.Fatal("somebody else canceled the run")
	}
	cancel(a, 1)
	w.eventually(func() bool { return state(run) == flow.RunCanceled })
	s.message().wantError(t, "canceled", string(run.ID))

	s, _, run = a.heldCall("nor this")
	second := New(Config{Store: w.store, Files: w.files, Links: w.server.Links, Runner: w.runner, Kinds: w.server.Kinds, PublicURL: publicURL})
	defer second.Close()
	MountMCP(second)
	w.store.others = w.broadcast
	notify := func(session string) {
		t.Helper()
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(`{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}`))
		for name, v := range map[string]string{"Authorization": "Bearer " + w.key, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": session} {
			r.Header.Set(name, v)
		}
		answer := httptest.NewRecorder()
		if second.ServeHTTP(answer, r); answer.Code != 202 {
			t.Fatalf("status %d: %s", answer.Code, answer.Body)
		}
	}
	notify("s2")
	if state(run) != flow.RunRunning {
		t.Fatal("somebody else canceled the run at another instance")
	}
	notify("s1")
	w.eventually(func() bool { return state(run) == flow.RunCanceled })
	s.message().wantError(t, "canceled", string(run.ID))

	s, _, run = other.heldCall("never either")
	s.resp.Body.Close()
	w.eventually(func() bool { return state(run) == flow.RunCanceled })
}

// TestMCPCall_ends_with_its_key_or_server checks that a call ends before its run if its key becomes invalid or the
// server shuts down. The result could not be read with an invalid key, so the run is
// canceled; at a shutdown the run continues.
func TestMCPCall_ends_with_its_key_or_server(t *testing.T) {
	t.Parallel()
	change := func(to func(k *flow.Key)) func(w *env, key string) {
		return func(w *env, key string) {
			w.store.mu.Lock()
			defer w.store.mu.Unlock()
			to(w.store.keys[flow.Hash([]byte(key))])
		}
	}
	for name, c := range map[string]struct {
		let   func(w *env, key string)
		says  string
		state flow.RunState
	}{
		"revoked":   {change(func(k *flow.Key) { k.RevokedAt = time.Now() }), "The run was canceled.", flow.RunCanceled},
		"expired":   {change(func(k *flow.Key) { k.ExpiresAt = time.Now().Add(-time.Second) }), "The run was canceled.", flow.RunCanceled},
		"shut down": {func(w *env, _ string) { w.server.Drain() }, "The run continues", flow.RunRunning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.server.PingInterval = 5 * time.Millisecond
			s, _, run := w.agent(w.key).heldCall("never")
			c.let(w, w.key)
			s.message().wantError(t, c.says, string(run.ID))
			w.eventually(func() bool { return w.newestRun(w.held).State == c.state })
		})
	}
}
