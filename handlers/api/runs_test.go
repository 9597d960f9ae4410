package api

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

func TestShowRun(t *testing.T) {
	t.Parallel()
	w := setup(t)
	path := w.heldRun("g")
	open := w.get(path)
	open.want(t, 200)
	tag := open.header.Get("ETag")
	if tag == "" || open.header.Get("Retry-After") != "1" {
		t.Errorf("ETag %q, Retry-After %q", tag, open.header.Get("Retry-After"))
	}
	w.gates.open("g")
	ended := w.get(path+"?wait=60", "If-None-Match", tag)
	ended.want(t, 200)
	ended.wantFields(t, map[string]any{"status": "succeeded", "outputs": map[string]any{"first": "g", "last": "g"}})
	if ended.header.Get("Retry-After") != "" || ended.header.Get("ETag") == tag {
		t.Error("the ended run looks open")
	}
	tag = ended.header.Get("ETag")
	for _, match := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		same := w.get(path, "If-None-Match", match)
		same.want(t, 304)
		if same.header.Get("ETag") != tag || len(same.raw) != 0 {
			t.Errorf("304 with ETag %q and %d bytes", same.header.Get("ETag"), len(same.raw))
		}
	}
	w.get(path, "If-None-Match", `"other"`).want(t, 200)
}

func TestShowRun_waits_for_the_end(t *testing.T) {
	t.Parallel()
	w := setup(t)
	path := w.heldRun("never")
	late := w.get(path + "?wait=1")
	late.want(t, 200)
	late.wantFields(t, map[string]any{"status": "running"})
	for _, bad := range []string{"61", "-1", "x", "", "1&wait=2"} {
		a := w.get(path + "?wait=" + bad)
		a.wantCode(t, 422, flow.CodeInputInvalid)
		if !strings.HasPrefix(a.pointers(), "/wait ") {
			t.Errorf("?wait=%s: problems at %s", bad, a.pointers())
		}
	}
	held := make(chan *reply)
	go func() { held <- w.get(path + "?wait=60") }()
	w.eventually(func() bool { return w.server.gate.held.Load() == 1 })
	w.server.Drain()
	if a := <-held; a.status != 200 || a.field("status") != "running" {
		t.Errorf("at shutdown: %d %s", a.status, a.raw)
	}
}

// eventually polls without sleeping for what another goroutine does.
func (w *env) eventually(ok func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			w.t.Fatal("it did not happen")
		}
		<-time.After(time.Millisecond)
	}
}

func TestShowResult(t *testing.T) {
	t.Parallel()
	w := setup(t)
	path := w.heldRun("g")
	open := w.get(path + "/result")
	open.want(t, 202)
	if open.header.Get("Retry-After") == "" || open.field("run_id") == nil {
		t.Errorf("an open run gives %s", open.raw)
	}
	w.gates.open("g")
	w.get(path + "?wait=60")
	done := w.get(path + "/result")
	done.want(t, 200)
	if string(done.raw) != `{"first":"g","last":"g"}` {
		t.Errorf("result is %s", done.raw)
	}

	failed := w.get(w.endedRun(w.failing, `{}`) + "/result")
	failed.wantCode(t, 424, flow.CodeRunFailed)
	failed.wantFields(t, map[string]any{
		"detail": "The model refused the prompt.",
		"error":  map[string]any{"code": "provider_rejected", "message": "The model refused the prompt.", "node": "refuse", "retryable": false},
	})

	stopped := w.heldRun("never")
	w.post(stopped+"/cancel", "").want(t, 200)
	w.get(stopped+"/result").wantCode(t, 424, flow.CodeRunCanceled)
}

func TestCancelRun(t *testing.T) {
	t.Parallel()
	w := setup(t)
	path := w.heldRun("never")
	for range 2 {
		a := w.post(path+"/cancel", "")
		a.want(t, 200)
		a.wantFields(t, map[string]any{"status": "canceled"})
	}
	done := w.endedRun(w.echo, `{"ticket": "a"}`)
	a := w.post(done+"/cancel", `{}`)
	a.want(t, 200)
	a.wantFields(t, map[string]any{"status": "succeeded"})
}

func TestRerun(t *testing.T) {
	t.Parallel()
	w := setup(t)
	parent := w.endedRun(w.echo, `{"ticket": "a", "run_options": {"metadata": {"m": 1}}}`)
	id := parent[strings.LastIndexByte(parent, '/')+1:]
	same := w.post(parent+"/rerun", "")
	same.want(t, 202)
	same.wantFields(t, map[string]any{"parent_run_id": id, "trigger": "rerun", "metadata": map[string]any{"m": 1}, "inputs": map[string]any{"ticket": "a", "tone": "friendly", "times": 1}})
	if same.header.Get("Location") == parent {
		t.Error("a rerun is a run of its own")
	}
	other := w.post(parent+"/rerun", `{"from": "write", "inputs": {"ticket": "b"}}`, "Prefer", "wait=60", "Idempotency-Key", "r")
	other.want(t, 200)
	other.wantFields(t, map[string]any{"outputs": map[string]any{"answer": "b"}})
	again := w.post(parent+"/rerun", `{"from": "write", "inputs": {"ticket": "b"}}`, "Idempotency-Key", "r")
	again.want(t, 200)
	if again.header.Get("Idempotent-Replayed") != "true" || again.field("run_id") != other.field("run_id") {
		t.Error("the rerun was not replayed")
	}
	w.post(parent+"/rerun", `{"form": "write", "inputs": 3}`).wantCode(t, 422, flow.CodeInputInvalid)
	w.post(parent+"/rerun", `{"from": 3}`).wantCode(t, 422, flow.CodeInputInvalid)
	if a := w.post(parent+"/rerun", `{"inputs": {"tone": "rude"}}`); a.pointers() != "/inputs/ticket required, /inputs/tone not_allowed" {
		t.Errorf("problems at %s", a.pointers())
	}
	w.post(parent+"/rerun", `[]`).wantCode(t, 400, flow.CodeInvalidJSON)
	w.post(w.heldRun("never")+"/rerun", `{}`).wantCode(t, 409, flow.CodeRunNotEnded)
}

func TestRerunOfDraftNeedsManage(t *testing.T) {
	t.Parallel()
	w := setup(t)
	manager := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead, flow.ScopeManage}})
	draft := w.send(request{method: "POST", path: "/v1/flow/" + w.echo + "/run", key: manager, headers: []string{"Prefer", "wait=60"}, body: `{"ticket": "a", "run_options": {"version": "draft"}}`})
	draft.want(t, 200)
	path := draft.header.Get("Location") + "/rerun"
	w.post(path, `{}`).wantCode(t, 403, flow.CodeScopeMissing)
	w.send(request{method: "POST", path: path, key: manager, body: `{}`}).want(t, 202)
}

func TestEraseRun(t *testing.T) {
	t.Parallel()
	w := setup(t)
	manager := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeManage}})
	remove := func(path string) *reply { return w.send(request{method: "DELETE", path: path, key: manager}) }
	open := w.heldRun("never")
	remove(open).wantCode(t, 409, flow.CodeRunNotEnded)

	for _, flowID := range []string{w.echo, w.failing} {
		body := map[string]string{w.echo: `{"ticket": "secret"}`, w.failing: `{"in": "secret"}`}[flowID]
		path := w.endedRun(flowID, body)
		before := w.get(path)
		remove(path).want(t, 204)
		remove(path).want(t, 204)
		a := w.get(path)
		a.want(t, 200)
		if strings.Contains(string(a.raw), "secret") || strings.Contains(string(a.raw), "refused") {
			t.Errorf("the tombstone says %s", a.raw)
		}
		a.wantFields(t, map[string]any{
			"inputs": nil, "outputs": nil, "metadata": nil, "status": before.field("status"), "created_at": before.field("created_at"),
			"ended_at": before.field("ended_at"), "usage": before.field("usage"), "cost": before.field("cost"), "error.code": before.field("error.code"), "error.message": nil,
		})
		for _, rest := range []string{"/result", "/steps"} {
			w.get(path+rest).wantCode(t, 410, flow.CodeResultNotSaved)
		}
		w.get(path+"/events", "Accept", "text/event-stream").wantCode(t, 410, flow.CodeResultNotSaved)
		w.post(path+"/rerun", `{}`).wantCode(t, 410, flow.CodeResultNotSaved)
	}
	expired := w.endedRun(w.echo, `{"ticket": "a"}`)
	if err := w.store.EraseRun(t.Context(), "default", flow.FlowID(w.echo), flow.RunID(expired[strings.LastIndexByte(expired, '/')+1:]), flow.CodeRunExpired); err != nil {
		t.Fatal(err)
	}
	w.get(expired+"/result").wantCode(t, 410, flow.CodeRunExpired)
}

func TestListSteps(t *testing.T) {
	t.Parallel()
	w := setup(t)
	path := w.heldRun("g")
	w.eventually(func() bool { return w.stateOf(path, "wait") == "running" })
	if got, want := w.states(path), "gate succeeded, first succeeded, wait running, then pending, last pending"; got != want {
		t.Errorf("steps are %s, wanted %s", got, want)
	}
	w.post(path+"/cancel", "")
	if got, want := w.states(path), "gate succeeded, first succeeded, wait canceled, then canceled, last canceled"; got != want {
		t.Errorf("steps are %s, wanted %s", got, want)
	}

	done := w.endedRun(w.echo, `{"ticket": "a"}`)
	a := w.get(done + "/steps")
	a.want(t, 200)
	var write map[string]any
	for _, s := range a.body["steps"].([]any) {
		if s.(map[string]any)["node"] == "write" {
			write = s.(map[string]any)
		}
		if s.(map[string]any)["kind"] == "note" {
			t.Error("a note is no step")
		}
	}
	(&reply{body: write}).wantFields(t, map[string]any{
		"path": "write", "kind": "think", "state": "succeeded", "attempts": 1, "wait_until": nil, "error": nil,
		"output": map[string]any{"value": "a"}, "usage": map[string]any{"input_tokens": 120, "output_tokens": 40, "cached_tokens": 0, "reasoning_tokens": 0}, "cost": map[string]any{"usd": "0.0013", "unpriced_steps": 0},
	})
	if write["started_at"] == nil || write["ended_at"] == nil || write["input"] == nil {
		t.Errorf("step is %v", write)
	}
	failed := w.get(w.endedRun(w.failing, `{}`) + "/steps")
	if got := failed.body["steps"].([]any)[1].(map[string]any)["error"].(map[string]any)["code"]; got != "provider_rejected" {
		t.Errorf("the failed step says %v", got)
	}
}

// TestSteps_inside_of_a_node lists turns and calls only under their node.
func TestSteps_inside_of_a_node(t *testing.T) {
	t.Parallel()
	w := setup(t)
	path := w.endedRun(w.echo, `{"ticket": "a"}`)
	id := flow.RunID(path[strings.LastIndex(path, "/")+1:])
	before := w.states(path)
	w.store.mu.Lock()
	add := func(step flow.Step) { w.store.steps[id][step.Path] = step }
	for i := 1; i <= 120; i++ {
		add(flow.Step{Path: fmt.Sprintf("write.%d", i), Node: "write", Kind: "turn", State: flow.StepSucceeded, Seq: int64(1000 + i), Outputs: map[string]any{"n": i}})
	}
	add(flow.Step{Path: "write.9.1", Node: "tool", Kind: "call", State: flow.StepFailed, Seq: 2000, Error: &flow.Error{Code: flow.CodeOutcomeUnknown}})
	w.store.runs[id].Seq = 5000
	w.store.mu.Unlock()
	if after := w.states(path); after != before {
		t.Errorf("the steps of the nodes are %s, and were %s", after, before)
	}
	first := w.get(path + "/steps?under=write")
	first.want(t, 200)
	steps := first.body["steps"].([]any)
	nth := func(i int) map[string]any { return steps[i].(map[string]any) }
	if len(steps) != 100 || nth(8)["path"] != "write.9" || nth(9)["path"] != "write.9.1" || nth(10)["path"] != "write.10" || nth(0)["output"] != nil || nth(9)["node"] != "tool" {
		t.Errorf("the first page has %d steps, the tenth is %v", len(steps), nth(9))
	}
	second := w.get(path + "/steps?under=write&contents=1&cursor=" + first.body["next_cursor"].(string))
	second.want(t, 200)
	if steps = second.body["steps"].([]any); len(steps) != 21 || nth(0)["path"] != "write.100" || nth(0)["output"] == nil || second.body["next_cursor"] != nil {
		t.Errorf("the second page has %d steps, the first is %v", len(steps), nth(0))
	}
	if calls := w.get(path + "/steps?under=write.9").body["steps"].([]any); len(calls) != 1 {
		t.Errorf("turn 9 has the calls %v", calls)
	}
	for _, wrong := range []string{"?under=", "?under=write&cursor=x", "?under=write&contents=many"} {
		w.get(path+"/steps"+wrong).want(t, 422)
	}
	count := func(query string) (nodes, inside int) {
		for _, e := range w.stream(request{path: path + "/events" + query}).rest() {
			if strings.Contains(e.data, `"path":"write"`) {
				nodes++
			} else if strings.Contains(e.data, `"path":"write.`) {
				inside++
			}
		}
		return nodes, inside
	}
	if nodes, inside := count(""); nodes != 1 || inside != 0 {
		t.Errorf("%d events of the node, %d of steps inside of it", nodes, inside)
	}
	if nodes, inside := count("?under=write"); nodes != 1 || inside != 121 {
		t.Errorf("with under: %d events of the node, %d of steps inside of it", nodes, inside)
	}
}

func (w *env) stateOf(path, node string) string {
	w.t.Helper()
	for s := range strings.SplitSeq(w.states(path), ", ") {
		if name, state, _ := strings.Cut(s, " "); name == node {
			return state
		}
	}
	return ""
}

// states are the paths and states of a run's steps, in their order.
func (w *env) states(path string) string {
	w.t.Helper()
	a := w.get(path + "/steps")
	a.want(w.t, 200)
	var list []string
	for _, s := range a.body["steps"].([]any) {
		m := s.(map[string]any)
		list = append(list, m["path"].(string)+" "+m["state"].(string))
	}
	return strings.Join(list, ", ")
}

func TestMergeSteps(t *testing.T) {
	t.Parallel()
	out := &Outline{Nodes: []outlineNode{{"a", "input"}, {"m", "map"}, {"z", "output"}}}
	rows := []flow.Step{{Path: "z", State: flow.StepSucceeded}, {Path: "m[1]/x", State: flow.StepFailed}, {Path: "m", State: flow.StepRunning}, {Path: "m[0]/x", State: flow.StepSucceeded}}
	var got []string
	for _, s := range mergeSteps(&flow.Run{State: flow.RunRunning}, out, rows) {
		got = append(got, s.Path+" "+string(s.State))
	}
	if want := "a pending, m running, m[0]/x succeeded, m[1]/x failed, z succeeded"; strings.Join(got, ", ") != want {
		t.Errorf("steps are %v, wanted %s", got, want)
	}
}

func TestListRuns(t *testing.T) {
	t.Parallel()
	w := setup(t)
	var paths []string
	for range 5 {
		paths = append(paths, publicURL+w.endedRun(w.echo, `{"ticket": "a"}`))
	}
	list := func(query string) (urls []string, next any) {
		a := w.get("/v1/flow/" + w.echo + "/runs" + query)
		a.want(t, 200)
		for _, r := range a.body["runs"].([]any) {
			urls = append(urls, r.(map[string]any)["urls"].(map[string]any)["self"].(string))
		}
		return urls, a.body["next_cursor"]
	}
	var all []string
	query := "?limit=2"
	for pages := 1; ; pages++ {
		urls, next := list(query)
		all = append(all, urls...)
		if next == nil {
			if pages != 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		query = "?limit=2&cursor=" + next.(string)
	}
	slices.Sort(paths) // those of one millisecond have no order in time
	slices.Reverse(paths)
	if !slices.Equal(all, paths) {
		t.Fatalf("listed %v of %v", all, paths)
	}
	for query, want := range map[string]int{
		"?status=succeeded": 5, "?status=failed": 0, "?status=failed,succeeded&status=queued": 5, "?status=failed&status=queued": 0,
		"?created_after=2020-01-01T00:00:00Z": 5, "?created_before=2020-01-01T00:00:00Z": 0, "?created_after=2999-01-01T00:00:00%2B02:00": 0, "?limit=100&unknown=x": 5,
	} {
		if urls, _ := list(query); len(urls) != want {
			t.Errorf("%s lists %d, wanted %d", query, len(urls), want)
		}
	}
	for query, want := range map[string]string{
		"?status=fai%zz": " invalid", "?limit=1;x=2": " invalid", "?limit=0": "/limit out_of_range", "?limit=101": "/limit out_of_range", "?limit=x": "/limit out_of_range", "?limit=1&limit=2": "/limit duplicate",
		"?status=done": "/status not_allowed", "?status=": "/status not_allowed", "?created_after=yesterday": "/created_after invalid",
		"?cursor=zzz": "/cursor invalid", "?cursor=": "/cursor invalid", "?cursor=bm8": "/cursor invalid",
		"?status=x&limit=x": "/status not_allowed, /limit out_of_range",
	} {
		a := w.get("/v1/flow/" + w.echo + "/runs" + query)
		a.wantCode(t, 422, flow.CodeInputInvalid)
		if a.pointers() != want {
			t.Errorf("%s: problems at %s, wanted %s", query, a.pointers(), want)
		}
	}
}

func TestScopeRunSeesItsOwnRuns(t *testing.T) {
	t.Parallel()
	w := setup(t)
	theirs := w.endedRun(w.echo, `{"ticket": "a"}`)
	own := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}})
	mine := w.send(request{method: "POST", path: "/v1/flow/" + w.echo + "/run", key: own, body: `{"ticket": "b"}`, headers: []string{"Prefer", "wait=60"}}).header.Get("Location")
	for _, r := range []request{{method: "GET"}, {method: "GET", path: "/result"}, {method: "GET", path: "/steps"}, {method: "POST", path: "/cancel"}, {method: "POST", path: "/rerun", body: `{}`},
		{method: "GET", path: "/events", headers: []string{"Accept", "text/event-stream"}}} {
		r.key = own
		rest := r.path
		r.path = theirs + rest
		w.send(r).wantCode(t, 404, flow.CodeNotFound)
		r.path = mine + rest
		if a := w.send(r); a.status >= 300 {
			t.Errorf("%s %s of its own run: %d %s", r.method, rest, a.status, a.raw)
		}
	}
	a := w.send(request{method: "GET", path: "/v1/flow/" + w.echo + "/runs?status=succeeded", key: own})
	for _, r := range a.body["runs"].([]any) {
		if in := r.(map[string]any)["inputs"].(map[string]any); in["ticket"] != "b" {
			t.Errorf("it lists %v", r)
		}
	}
}

func TestLocalToken(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.send(request{method: "POST", path: "/v1/flow/" + w.echo + "/run", key: "local-token-of-the-test", body: `{"ticket": "a", "run_options": {"version": "draft"}}`})
	a.want(t, 202)
	a.wantFields(t, map[string]any{"trigger": "cli", "draft": true})
	if len(w.store.asked) != 0 {
		t.Error("the database was asked for the local token")
	}
	w.send(request{method: "GET", path: "/v1/flow", key: "local-token-of-the-tesT"}).wantCode(t, 401, flow.CodeKeyInvalid)
	foreign := "/v1/flow/" + w.addFlow("ws_other", echoDocument)
	for _, c := range []struct {
		key, workspace string
		status         int
	}{{"local-token-of-the-test", "ws_other", 200}, {"local-token-of-the-test", "", 404}, {w.addKey(flow.Key{Scopes: flow.Scopes}), "ws_other", 404}} {
		var headers []string
		if c.workspace != "" {
			headers = []string{WorkspaceHeader, c.workspace}
		}
		w.send(request{method: "GET", path: foreign, key: c.key, headers: headers}).want(t, c.status)
	}
	for key, status := range map[string]int{"local-token-of-the-test": 200, w.addKey(flow.Key{Scopes: flow.Scopes}): 404} {
		w.send(request{method: "GET", path: "/v1/local", key: key}).want(t, status)
	}
}

func TestStoreErrors_stay_private(t *testing.T) {
	t.Parallel()
	w := setup(t)
	path := w.endedRun(w.echo, `{"ticket": "a"}`)
	w.store.mu.Lock()
	w.store.broken = io.ErrUnexpectedEOF
	w.store.mu.Unlock()
	a := w.get(path, "X-Request-Id", "find-me")
	a.wantCode(t, 500, flow.CodeInternal)
	if strings.Contains(string(a.raw), "EOF") || a.field("request_id") != "find-me" {
		t.Errorf("answer is %s", a.raw)
	}
	if !strings.Contains(w.log.String(), "request_id=find-me") || !strings.Contains(w.log.String(), "unexpected EOF") {
		t.Errorf("log is %s", w.log)
	}
}
