package handlers

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

// agent is a client of the Model Context Protocol, made of nothing but HTTP.
type agent struct {
	*world
	key     string
	headers []string
	calls   int
}

func (w *world) agent(key string, headers ...string) *agent {
	return &agent{world: w, key: key, headers: append([]string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-11-25"}, headers...)}
}

// rpc is what a message may hold.
type rpc struct {
	ID     any
	Method string
	Params map[string]any
	Result map[string]any
	Error  *struct {
		Code    int
		Message string
	}
}

// text is all text of a result of a tool.
func (r rpc) text() string {
	var b strings.Builder
	content, _ := r.Result["content"].([]any)
	for _, c := range content {
		text, _ := c.(map[string]any)["text"].(string)
		b.WriteString(text)
	}
	return b.String()
}

func (a *agent) body(method string, params map[string]any) string {
	a.calls++
	return string(flow.EncodeJSON(map[string]any{"jsonrpc": "2.0", "id": a.calls, "method": method, "params": params}))
}

// open sends a request and returns the answer as it begins.
func (a *agent) open(method string, params map[string]any) *http.Response {
	a.t.Helper()
	return a.world.open(request{method: "POST", path: "/mcp", key: a.key, headers: a.headers, body: a.body(method, params)})
}

// ask returns the answer, and the notifications before it.
func (a *agent) ask(method string, params map[string]any) (answer rpc, told []rpc) {
	a.t.Helper()
	all := a.read(a.open(method, params))
	return all[len(all)-1], all[:len(all)-1]
}

func (a *agent) read(resp *http.Response) (all []rpc) {
	a.t.Helper()
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if found || strings.HasPrefix(data, "{") {
			var m rpc
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				a.t.Fatalf("%v in %s", err, data)
			}
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		a.t.Fatalf("status %d and no message", resp.StatusCode)
	}
	return all
}

func (a *agent) call(tool string, arguments map[string]any) rpc {
	a.t.Helper()
	answer, _ := a.ask("tools/call", map[string]any{"name": tool, "arguments": arguments})
	return answer
}

// list reads all pages.
func (a *agent) list() (tools []map[string]any) {
	a.t.Helper()
	for cursor := any(""); cursor != nil; {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		answer, _ := a.ask("tools/list", params)
		for _, t := range answer.Result["tools"].([]any) {
			tools = append(tools, t.(map[string]any))
		}
		cursor = answer.Result["nextCursor"]
	}
	return tools
}

func (a *agent) names() (names []string) {
	a.t.Helper()
	for _, t := range a.list() {
		names = append(names, t["name"].(string))
	}
	return names
}

func (r rpc) wantError(t *testing.T, parts ...string) {
	t.Helper()
	if r.Result["isError"] != true {
		t.Fatalf("no error: %+v", r)
	}
	for _, part := range parts {
		if !strings.Contains(r.text(), part) {
			t.Errorf("%q is not in %q", part, r.text())
		}
	}
}

func TestMCPInitialize(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.agent(w.key)
	resp := a.open("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	if resp.Header.Get("Mcp-Session-Id") == "" || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", resp.Header)
	}
	answer := a.read(resp)[0]
	if dig(answer.Result, "serverInfo", "name") != "sluice" || dig(answer.Result, "capabilities", "tools") == nil || dig(answer.Result, "capabilities", "logging") != nil {
		t.Errorf("answer %v", answer.Result)
	}
	if r, _ := a.ask("prompts/list", nil); r.Error == nil || r.Error.Code != -32601 {
		t.Errorf("a method that is not there: %+v", r)
	}
	told := w.post("/mcp", `{"jsonrpc": "2.0", "method": "notifications/initialized"}`, a.headers...)
	if told.status != 202 || len(told.raw) > 0 {
		t.Errorf("a notification is answered with %d %s", told.status, told.raw)
	}
}

func TestMCPTools(t *testing.T) {
	t.Parallel()
	w := setup(t)
	tools := w.agent(w.key).list()
	if len(tools) != 3 {
		t.Fatalf("%d tools: the unpublished flow must not be one", len(tools))
	}
	first := tools[slices.IndexFunc(tools, func(t map[string]any) bool { return t["name"] == "answer_a_ticket" })]
	if first["name"] != "answer_a_ticket" || first["title"] != "Answer a ticket" || first["description"] != "Answers." {
		t.Errorf("tool %v", first)
	}
	if dig(first, "inputSchema", "properties", "ticket", "description") != "What the customer wrote." || dig(first, "outputSchema", "properties", "answer") == nil {
		t.Errorf("schemas %v", first)
	}
	for name, key := range map[string]string{
		"run":      w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}}),
		"read":     w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}}),
		"own list": w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}, Flows: []string{w.echo, w.unpublished}}),
		"others":   w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}, WorkspaceID: "ws_other"}),
	} {
		want := map[string]int{"run": 3, "read": 3, "own list": 1, "others": 0}[name]
		if got := w.agent(key).names(); len(got) != want {
			t.Errorf("with %s: %v", name, got)
		}
	}
	w.store.mu.Lock()
	w.store.flows[w.echo].ArchivedAt = time.Now()
	w.store.mu.Unlock()
	if got := w.agent(w.key).names(); len(got) != 2 {
		t.Errorf("an archived flow is a tool: %v", got)
	}
}

func TestToolBase(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Answer a ticket": "answer_a_ticket", "  Über-Größe (neu) ": "uber_grosse_neu", "Don't panic!": "dont_panic", "GPT-4o → JSON": "gpt_4o_json",
		"要約": "", "": "", "___": "", "Ⅷ ﬁles": "viii_files", strings.Repeat("word ", 20): "word_word_word_word_word_word_word_word_word_wor", "naïve café": "naive_cafe",
	} {
		if got := toolBase(title); got != want {
			t.Errorf("%q becomes %q, wanted %q", title, got, want)
		}
	}
}

// titled is a document of the least kind under a name.
func titled(name string) string {
	return `{"schema": "sluice.flow/v1", "name": ` + string(flow.EncodeJSON(name)) + `, "nodes": [
		{"id": "in", "kind": "input", "config": {"name": "in", "default": "x"}}, {"id": "out", "kind": "output", "config": {"name": "out"}}],
		"edges": [{"from": "in.value", "to": "out.value"}]}`
}

func TestMCPToolNames(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.agent(w.key)
	first := w.addFlow("default", titled("Summarize"))
	second := w.addFlow("default", titled("summarize!"))
	foreign := w.addFlow("default", titled("要約"))
	suffixed := func(base, id string) string { return base + "_" + id[len(id)-8:] }
	got := a.names()
	for _, want := range []string{"summarize", suffixed("summarize", second), suffixed("flow", foreign)} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %v", want, got)
		}
	}
	runs := func(tool, flowID string) {
		t.Helper()
		if r := a.call(tool, nil); r.Error != nil || w.runner.lastStart().FlowID != flowID {
			t.Errorf("%s runs %s, wanted %s: %+v", tool, w.runner.lastStart().FlowID, flowID, r.Error)
		}
	}
	runs("summarize", first)
	runs(suffixed("summarize", second), second)
	runs(suffixed("whatever", first), first) // the end of the ID is enough
	w.store.mu.Lock()
	w.store.flows[first].Draft = []byte(titled("Shorten"))
	w.store.mu.Unlock()
	runs("summarize", first) // the draft says nothing
	w.publish(first)
	runs("shorten", first)
	runs(suffixed("summarize", first), first)
	runs("summarize", second) // has it for itself now
	if r := a.call("summarise", nil); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("an unknown tool: %+v", r)
	}
	if r := w.agent(w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}, Flows: []string{w.echo}})).call("shorten", nil); r.Error == nil {
		t.Errorf("a flow that the key may not call: %+v", r)
	}
}

func TestMCPManyTools(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for i := range maxTools + 10 {
		w.addFlow("default", titled(fmt.Sprintf("Flow %d", i%(maxTools-1))))
	}
	a := w.agent(w.key)
	names := a.names()
	slices.Sort(names)
	if len(names) != maxTools || len(slices.Compact(names)) != maxTools {
		t.Errorf("%d names, %d of them different", len(names), len(slices.Compact(names)))
	}
	if answer, _ := a.ask("tools/list", map[string]any{"cursor": "x"}); answer.Error == nil || answer.Error.Code != -32602 {
		t.Errorf("a cursor that is none: %+v", answer)
	}
	if a.calls > 8 {
		t.Errorf("%d pages", a.calls)
	}
}

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

// TestMCPErrors: what a model can mend or should know of is a result.
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

// heldCall begins a call that waits at its gate, and returns once the first
// word of its progress is there.
func (a *agent) heldCall(gate string) (s *stream, first rpc, run *flow.Run) {
	a.t.Helper()
	params := map[string]any{"name": "wait", "arguments": map[string]any{"gate": gate}, "_meta": map[string]any{"progressToken": "p1"}}
	s = a.stream(request{method: "POST", path: "/mcp", key: a.key, headers: a.headers, body: a.body("tools/call", params)})
	return s, s.message(), a.newestRun(a.held)
}

func (w *world) newestRun(flowID string) *flow.Run {
	w.t.Helper()
	list, err := w.store.ListRuns(w.t.Context(), flow.RunFilter{WorkspaceID: "default", FlowID: flowID, Limit: 1})
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
	w.server.ping = 5 * time.Millisecond
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

// TestMCPCancel: a call ends by its name within its session, or when its caller
// goes away; nobody else's call ends with it.
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
	s.message().wantError(t, "canceled", run.ID)
	if len(w.server.agents.calls.runs) > 0 {
		t.Errorf("calls that have ended are kept: %v", w.server.agents.calls.runs)
	}

	s, _, run = a.heldCall("nor this")
	second := New(Config{Store: w.store, Files: w.files, Links: w.server.Links, Runner: w.runner, Kinds: w.server.Kinds, PublicURL: publicURL})
	defer second.Close()
	w.store.others = w.server.Hear
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
	s.message().wantError(t, "canceled", run.ID)

	s, _, run = other.heldCall("never either")
	s.resp.Body.Close()
	w.eventually(func() bool { return state(run) == flow.RunCanceled })
}

// TestMCPLetsGo: a call ends before its run when its key stops or the server
// shuts down. Nobody could read the result with a key that has stopped, so its
// run is canceled; at a shutdown the run goes on.
func TestMCPLetsGo(t *testing.T) {
	t.Parallel()
	change := func(to func(k *flow.Key)) func(w *world, key string) {
		return func(w *world, key string) {
			w.store.mu.Lock()
			defer w.store.mu.Unlock()
			to(w.store.keys[flow.Hash([]byte(key))])
		}
	}
	for name, c := range map[string]struct {
		let   func(w *world, key string)
		says  string
		state flow.RunState
	}{
		"revoked":   {change(func(k *flow.Key) { k.RevokedAt = time.Now() }), "The run was canceled.", flow.RunCanceled},
		"expired":   {change(func(k *flow.Key) { k.ExpiresAt = time.Now().Add(-time.Second) }), "The run was canceled.", flow.RunCanceled},
		"shut down": {func(w *world, _ string) { w.server.Drain() }, "The run goes on", flow.RunRunning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.server.ping = 5 * time.Millisecond
			s, _, run := w.agent(w.key).heldCall("never")
			c.let(w, w.key)
			s.message().wantError(t, c.says, run.ID)
			w.eventually(func() bool { return w.newestRun(w.held).State == c.state })
		})
	}
}

// TestMCPRefuses: what is wrong before the protocol begins is a problem.
func TestMCPRefuses(t *testing.T) {
	t.Parallel()
	w := setup(t)
	list := `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		code    flow.Code
	}{
		"media type":     {list, []string{"Content-Type", "text/plain"}, 415, flow.CodeUnsupportedMediaType},
		"accept":         {list, []string{"Accept", "text/html"}, 406, flow.CodeNotAcceptable},
		"version":        {list, []string{"Mcp-Protocol-Version", "1999-01-01"}, 400, flow.CodeInvalidHeader},
		"no JSON":        {"{", nil, 400, flow.CodeInvalidJSON},
		"a batch":        {"[" + list + "]", nil, 400, flow.CodeInvalidJSON},
		"twice a name":   {`{"jsonrpc": "2.0", "jsonrpc": "2.0", "method": "x"}`, nil, 400, flow.CodeInvalidJSON},
		"no method":      {`{"jsonrpc": "2.0", "id": 1}`, nil, 400, flow.CodeInvalidJSON},
		"half an ID":     {`{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}`, nil, 400, flow.CodeInvalidJSON},
		"a vast ID":      {`{"jsonrpc": "2.0", "id": 1e30, "method": "ping"}`, nil, 400, flow.CodeInvalidJSON},
		"arguments":      {`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "arguments": []}}`, nil, 400, flow.CodeInvalidJSON},
		"a batch of one": {"[]", nil, 400, flow.CodeInvalidJSON},
		"too large":      {`{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "x": "` + strings.Repeat("a", maxBody) + `"}`, nil, 413, flow.CodeBodyTooLarge},
		"origin":         {list, []string{"Origin", "https://evil.test"}, 403, flow.CodeOriginNotAllowed},
		"key in the URL": {list, nil, 400, flow.CodeKeyInURL},
	} {
		path := "/mcp"
		if c.code == flow.CodeKeyInURL {
			path += "?key=" + w.key
		}
		a := w.send(request{method: "POST", path: path, body: c.body, headers: c.headers})
		if a.status != c.status || a.body["code"] != string(c.code) {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
	}
	for _, method := range []string{"GET", "DELETE", "PUT"} {
		a := w.send(request{method: method, path: "/mcp"})
		a.wantCode(t, 405, flow.CodeMethodNotAllowed)
		if !strings.Contains(a.header.Get("Allow"), "POST") {
			t.Errorf("Allow: %q", a.header.Get("Allow"))
		}
	}
}

func TestOwnOrigin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		public, origin string
		own            bool
	}{
		{"https://sluice.test", "https://sluice.test", true}, {"https://sluice.test", "https://SLUICE.test", true},
		{"https://sluice.test", "http://sluice.test", false}, {"https://sluice.test", "https://sluice.test.evil.test", false}, {"https://sluice.test", "null", false},
		{"https://sluice.test", "http://localhost:6274", false}, {"http://127.0.0.1:8080", "http://localhost:6274", true}, {"http://localhost:8080", "http://[::1]:6274", true},
		{"http://127.0.0.1:8080", "http://evil.test:8080", false}, {"http://127.0.0.1:8080", "null", false}, {"http://127.0.0.1:8080", "", false},
	} {
		if got := (&Server{Config: Config{PublicURL: c.public}}).ownOrigin(c.origin); got != c.own {
			t.Errorf("%s at %s: %v", c.origin, c.public, got)
		}
	}
}

// TestMCPFiles: a file is a link, and a small picture is there to be seen too.
func TestMCPFiles(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.addFlow("default", `{"schema": "sluice.flow/v1", "name": "Look", "nodes": [
		{"id": "in", "kind": "input", "config": {"name": "in", "type": "json"}}, {"id": "out", "kind": "output", "config": {"name": "out"}}],
		"edges": [{"from": "in.value", "to": "out.value"}]}`)
	picture, large := w.uploaded("a.png", "image/png", pngBytes), w.files.put(flow.NewFile{WorkspaceID: "default", Name: "b.png", MIME: "image/png"}, make([]byte, maxInline+1)).ID
	vector := w.uploaded("c.svg", "image/svg+xml", []byte("<svg xmlns='http://www.w3.org/2000/svg'/>"))
	value := []any{}
	for _, id := range []string{picture, large, vector, w.files.put(flow.NewFile{WorkspaceID: "ws_other", Name: "d.png"}, pngBytes).ID} {
		value = append(value, map[string]any{"file": id})
	}
	content := w.agent(w.key).call("look", map[string]any{"in": value}).Result["content"].([]any)
	var got []string
	for _, c := range content[1:] {
		kind, name := dig(c, "type").(string), dig(c, "name")
		got = append(got, fmt.Sprint(kind, " ", name, " ", dig(c, "mimeType")))
		if kind == "image" && dig(c, "data") != base64.StdEncoding.EncodeToString(pngBytes) {
			t.Error("it is another picture")
		}
	}
	want := []string{"resource_link a.png image/png", "image <nil> image/png", "resource_link b.png image/png", "resource_link c.svg image/svg+xml"}
	if !slices.Equal(got, want) {
		t.Errorf("content %v, wanted %v", got, want)
	}
	link := dig(content[1], "uri").(string)
	a := w.send(request{method: "GET", key: "-", path: strings.TrimPrefix(link, publicURL)})
	if a.status != 200 || string(a.raw) != string(pngBytes) {
		t.Errorf("the link answers %d", a.status)
	}
}

// TestMCPNewProtocol: the version without sessions, which tells of errors by
// the status too.
func TestMCPNewProtocol(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.agent(w.key)
	a.headers = []string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28"}
	meta := map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	ask := func(method string, params map[string]any, status int) rpc {
		t.Helper()
		params["_meta"] = meta
		a.headers = append(a.headers[:4:4], "Mcp-Method", method)
		if name, ok := params["name"].(string); ok {
			a.headers = append(a.headers, "Mcp-Name", name)
		}
		resp := a.open(method, params)
		if resp.StatusCode != status {
			t.Errorf("%s answers %d, wanted %d", method, resp.StatusCode, status)
		}
		all := a.read(resp)
		return all[len(all)-1]
	}
	if r := ask("server/discover", map[string]any{}, 200); r.Result["cacheScope"] != "private" {
		t.Errorf("discovery %+v", r)
	}
	if r := ask("tools/list", map[string]any{}, 200); len(r.Result["tools"].([]any)) != 3 || r.Result["cacheScope"] != "private" {
		t.Errorf("tools %+v", r)
	}
	if r := ask("tools/call", map[string]any{"name": "answer_a_ticket", "arguments": map[string]any{"ticket": "a"}}, 200); r.text() != "a" {
		t.Errorf("answer %+v", r)
	}
	if r := ask("tools/call", map[string]any{"name": "nothing"}, 400); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("answer %+v", r)
	}
	if r := ask("tools/eat", map[string]any{}, 404); r.Error == nil || r.Error.Code != -32601 {
		t.Errorf("answer %+v", r)
	}
}
