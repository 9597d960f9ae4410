package api

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/documents"
	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/filelinks"
	"sluice/flow/library"
	"sluice/handlers/web"
	"sluice/handlers/web/conns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// MountMCP makes a server answer /mcp and returns the handler of its broadcasts.
// It is set in an external test, because package mcp imports this one.
var MountMCP func(*Server) (broadcast func(topic, text string))

const publicURL = "https://sluice.test"

// Documents of the flows that every test has.
const (
	echoDocument = `{"schema": "sluice.flow/v1", "name": "Answer a ticket", "description": "Answers.", "nodes": [
		{"id": "ticket", "kind": "input", "config": {"name": "ticket", "type": "text", "description": "What the customer wrote.", "example": "Where is it?", "min": 1, "max": 2000}},
		{"id": "tone", "kind": "input", "config": {"name": "tone", "type": "text", "default": "friendly", "enum": ["friendly", "formal"]}},
		{"id": "times", "kind": "input", "config": {"name": "times", "type": "number", "default": 1, "min": 1, "max": 9}},
		{"id": "write", "kind": "think", "config": {}},
		{"id": "remark", "kind": "note", "config": {"text": "for people"}},
		{"id": "answer", "kind": "output", "config": {"name": "answer"}}],
		"edges": [{"from": "ticket.value", "to": "write.value"}, {"from": "write.value", "to": "answer.value"}]}`
	heldDocument = `{"schema": "sluice.flow/v1", "name": "Wait", "nodes": [
		{"id": "gate", "kind": "input", "config": {"name": "gate"}},
		{"id": "first", "kind": "output", "config": {"name": "first"}},
		{"id": "wait", "kind": "hold", "config": {}},
		{"id": "then", "kind": "think", "config": {}},
		{"id": "last", "kind": "output", "config": {"name": "last"}}],
		"edges": [{"from": "gate.value", "to": "first.value"}, {"from": "gate.value", "to": "wait.value"},
			{"from": "wait.value", "to": "then.value"}, {"from": "then.value", "to": "last.value"}]}`
	failDocument = `{"schema": "sluice.flow/v1", "name": "Fail", "nodes": [
		{"id": "in", "kind": "input", "config": {"name": "in", "default": ""}},
		{"id": "refuse", "kind": "fail", "config": {}},
		{"id": "after", "kind": "output", "config": {"name": "after"}}],
		"edges": [{"from": "in.value", "to": "refuse.value"}, {"from": "refuse.value", "to": "after.value"}]}`
)

// env is a server on a real address, with store, files and runner in memory.
type env struct {
	t         testing.TB
	store     *memory
	files     *memoryFiles
	runner    *runner
	gates     *gates
	server    *Server
	broadcast func(topic, text string) // as from another instance
	edge      *web.Edge
	http      *httptest.Server
	key       string // of the test: scopes run and read
	now       func() time.Time
	ids       flow.IDs
	log       *logBuffer

	echo, held, failing, unpublished string
}

// logBuffer keeps the log of the server. It is safe for concurrent use.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func setup(t testing.TB, set ...func(*Config)) *env {
	t.Helper()
	return setupBeside(t, nil, set...)
}

// setupBeside is setup with a handler for paths outside the API.
func setupBeside(t testing.TB, pages http.Handler, set ...func(*Config)) *env {
	t.Helper()
	w := &env{t: t, store: newMemory(), gates: &gates{}, now: time.Now, ids: flow.NewIDs(), log: &logBuffer{}}
	kinds := newKinds(w.gates)
	w.files = newMemoryFiles(w.store)
	w.runner = newRunner(w.store, kinds)
	cfg := Config{
		Store: w.store, Files: w.files, Links: &filelinks.Signer{Base: publicURL, Key: []byte("secret that signs links in tests")}, Runner: w.runner, Kinds: kinds, PublicURL: publicURL + "/", LocalToken: "local-token-of-the-test", Version: "1.2.3",
		Tables: documents.New(documents.Config{}), Log: slog.New(slog.NewTextHandler(w.log, nil)), Now: func() time.Time { return w.now() },
	}
	cfg.Library = &library.Library{Store: memoryLibrary{memory: w.store}, Kinds: kinds, IDs: w.ids}
	for _, f := range set {
		f(&cfg)
	}
	w.server = New(cfg)
	w.broadcast = MountMCP(w.server)
	w.server.ReadInterval = 0
	w.http = httptest.NewUnstartedServer(nil)
	var front http.Handler = w.server
	if pages != nil {
		front = web.SplitAPI(w.server, pages)
	}
	w.edge = web.NewEdge(front, cfg.PublicURL)
	w.http.Config, w.http.Listener = &web.NewHTTPServer(w.edge).Server, conns.Listen(w.http.Listener)
	w.http.Start()
	t.Cleanup(w.close)
	w.key = w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead}})
	w.echo, w.held = w.addFlow("default", echoDocument), w.addFlow("default", heldDocument)
	w.failing = w.addFlow("default", failDocument)
	w.unpublished = w.addDraft("default", echoDocument)
	return w
}

// setBodyTimeout bounds how long request bodies may take to arrive.
func (w *env) setBodyTimeout(d time.Duration) { w.edge.BodyTimeout, w.server.bodyTimeout = d, d }

func (w *env) close() {
	w.runner.stop()
	w.server.Drain()
	w.http.Close()
	if err := w.server.Close(); err != nil {
		w.t.Error(err)
	}
}

// addKey creates a key; the default workspace is "default".
func (w *env) addKey(k flow.Key) (text string) {
	text = flow.NewKeyText()
	if k.WorkspaceID == "" {
		k.WorkspaceID = flow.DefaultWorkspace
	}
	k.ID, k.Hash = w.ids.New(flow.PrefixKey), flow.Hash([]byte(text))
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.keys[k.Hash] = &k
	return text
}

func (w *env) addDraft(ws flow.WorkspaceID, doc string) string {
	d, problems := document.ParseDocument([]byte(doc))
	if len(problems) > 0 {
		w.t.Fatal(problems)
	}
	f := &flow.Flow{ID: w.ids.NewFlow(), WorkspaceID: ws, Name: d.Name, Description: d.Description, Draft: d.Compact(), CreatedAt: time.Now()}
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.flows[string(f.ID)] = f
	return string(f.ID)
}

func (w *env) addFlow(ws flow.WorkspaceID, document string) string {
	id := w.addDraft(ws, document)
	w.publish(id)
	return id
}

// publish makes the draft the live version.
func (w *env) publish(id string) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	f := w.store.flows[id]
	f.LiveVersion, f.LiveHash = f.LiveVersion+1, flow.DocumentHash(f.Draft)
	w.store.documents[f.LiveHash] = f.Draft
	w.store.versions[id] = append(w.store.versions[id], flow.Version{FlowID: flow.FlowID(id), Number: f.LiveVersion, DocumentHash: f.LiveHash, CreatedAt: time.Now()})
}

// reply is a response read to its end.
type reply struct {
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

// request is a request of a test. Headers are name, value, name, value.
type request struct {
	method, path string
	key          string // "-" for none; "" for the key of the test
	headers      []string
	body         string
}

func (w *env) send(r request) *reply {
	w.t.Helper()
	resp := w.open(r)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	a := &reply{status: resp.StatusCode, header: resp.Header, raw: raw}
	if r.method != http.MethodHead && strings.Contains(resp.Header.Get("Content-Type"), "json") {
		if err := json.Unmarshal(raw, &a.body); err != nil {
			w.t.Fatalf("%s %s: %v in %s", r.method, r.path, err, raw)
		}
	}
	wholeAPI().check(w.t, r.method, r.path, a)
	return a
}

func (w *env) open(r request) *http.Response {
	w.t.Helper()
	resp, err := w.http.Client().Do(w.build(r))
	if err != nil {
		w.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	return resp
}

func (w *env) build(r request) *http.Request {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), r.method, w.http.URL+r.path, strings.NewReader(r.body))
	if err != nil {
		w.t.Fatal(err)
	}
	if r.key == "" {
		r.key = w.key
	}
	if r.key != "-" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(r.headers); i += 2 {
		if r.headers[i+1] == "" {
			req.Header.Del(r.headers[i])
			continue
		}
		if _, ours := req.Header[r.headers[i]]; ours && (r.headers[i] == "Authorization" || r.headers[i] == "Content-Type") {
			req.Header.Del(r.headers[i])
		}
		req.Header.Add(r.headers[i], r.headers[i+1])
	}
	return req
}

func (w *env) get(path string, headers ...string) *reply {
	w.t.Helper()
	return w.send(request{method: "GET", path: path, headers: headers})
}

func (w *env) post(path, body string, headers ...string) *reply {
	w.t.Helper()
	return w.send(request{method: "POST", path: path, body: body, headers: headers})
}

// start starts a run of a flow and fails the test unless the status is right.
func (w *env) start(flowID, body string, status int, headers ...string) *reply {
	w.t.Helper()
	a := w.post("/v1/flow/"+flowID+"/run", body, headers...)
	a.want(w.t, status)
	return a
}

// heldRun starts a run that waits at its gate, and returns its path.
func (w *env) heldRun(gate string) string {
	w.t.Helper()
	return w.start(w.held, `{"gate": "`+gate+`"}`, 202).header.Get("Location")
}

// endedRun starts a run and waits for its end.
func (w *env) endedRun(flowID, body string) string {
	w.t.Helper()
	return w.start(flowID, body, 200, "Prefer", "wait=60").header.Get("Location")
}

func (a *reply) want(t testing.TB, status int) {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, wanted %d: %s", a.status, status, a.raw)
	}
}

func (a *reply) wantCode(t testing.TB, status int, code flow.Code) {
	t.Helper()
	if a.status != status || a.body["code"] != string(code) {
		t.Fatalf("answer %d %v, wanted %d %s: %s", a.status, a.body["code"], status, code, a.raw)
	}
}

// field finds a value by its path, such as "progress.done".
func (a *reply) field(path string) any {
	var v any = a.body
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func (a *reply) wantFields(t testing.TB, want map[string]any) {
	t.Helper()
	for path, v := range want {
		got, _ := json.Marshal(a.field(path))
		wanted, _ := json.Marshal(v)
		if !bytes.Equal(got, wanted) {
			t.Errorf("%s is %s, wanted %s", path, got, wanted)
		}
	}
}

// pointers returns the pointers and codes of the problems of a rejected request.
func (a *reply) pointers() string {
	var list []string
	errors, _ := a.body["errors"].([]any)
	for _, e := range errors {
		m := e.(map[string]any)
		list = append(list, m["pointer"].(string)+" "+m["code"].(string))
	}
	return strings.Join(list, ", ")
}
