package agents_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/documents"
	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/engine"
	"sluice/flow/flowtest"
	"sluice/flow/sorting"
	"sluice/flow/value"
	"sluice/mcpclient"
	"sluice/nodes"
	"sluice/outbound"
	"sluice/providers"
	"sluice/providers/scripted"
)

// shop is a service that tools call. It returns the path of each request, or what answer says.
type shop struct {
	*httptest.Server
	mu     sync.Mutex
	paths  []string
	keys   []string // idempotency keys
	answer func(w http.ResponseWriter, r *http.Request)
}

func newShop(t *testing.T) *shop {
	s := &shop{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.paths, s.keys = append(s.paths, r.URL.Path), append(s.keys, r.Header.Get("Idempotency-Key"))
		s.mu.Unlock()
		if s.answer != nil {
			s.answer(w, r)
			return
		}
		_, _ = io.WriteString(w, "found "+r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s
}

// world is where the flows of a test run: a scripted model named fake/m, and a shop.
type world struct {
	model   *scripted.Server
	shop    *shop
	kinds   *flow.Registry
	base    string // of the model
	wire    string // provider of the model; empty: openai_compatible
	files   *files // nil: none can be stored
	desk    string // URL of the MCP server; see withDesk
	servers *mcpclient.Client
	people  *people
	memory  map[string]any      // conversations that the next run continues; see remembered
	widened map[string][]string // tools whose flows can do more than when the flow was published
}

func newWorld(t *testing.T, answer func(r *scripted.Request) string) *world {
	t.Helper()
	return newWorldOf(t, func(r *scripted.Request) scripted.Answer { return answerOf(r, answer(r)) })
}

// newWorldOf is newWorld with a function of whole answers.
func newWorldOf(t *testing.T, answer func(r *scripted.Request) scripted.Answer) *world {
	t.Helper()
	model := scripted.New(answer)
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	client, err := outbound.New(outbound.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	w := &world{people: saying(approved), model: model, shop: newShop(t), base: server.URL + "/v1"}
	w.kinds = nodes.New(nodes.Deps{HTTP: client, Documents: pages{}, Providers: providers.NewClient(providers.Guarded(client))})
	return w
}

// answerOf returns an answer that is given as a text: each line is a call if it consists of a name, a
// space and a text that begins with "{", and else a part of the text. "!503" is a status.
func answerOf(r *scripted.Request, text string) (a scripted.Answer) {
	if status, refused := strings.CutPrefix(text, "!"); refused {
		_, _ = fmt.Sscan(status, &a.Status)
		return a
	}
	for line := range strings.Lines(text) {
		name, arguments, isCall := strings.Cut(strings.TrimSpace(line), " ")
		if !isCall || !strings.HasPrefix(arguments, "{") || r.Body["tool_choice"] == "none" {
			a.Text += line
			continue
		}
		a.Calls = append(a.Calls, scripted.Call{ID: fmt.Sprintf("call_%d_%d", r.Turn, len(a.Calls)), Name: name, Arguments: strings.ReplaceAll(arguments, "{-}", "")})
	}
	return a
}

// script is newWorld with a model that gives one answer per turn.
func script(t *testing.T, answers ...string) *world {
	t.Helper()
	return newWorld(t, func(r *scripted.Request) string { return answers[min(r.Turn, len(answers)-1)] })
}

// document returns a flow, given as for flowtest.Document. SHOP stands for the address of the shop.
func (w *world) document(t *testing.T, lines string) *flow.Document {
	t.Helper()
	doc, problems := document.ParseDocument(flowtest.Document(strings.ReplaceAll(lines, "SHOP", w.shop.URL)))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return doc
}

// record is the rows of a run of a flow with an agent n.
type record struct {
	flow.Step // of n
	rows      map[string]flow.Step
	run       *flow.Run
}

// WriteRun keeps the newest row of each step.
func (r *record) WriteRun(_ context.Context, w flow.RunWrite) error {
	for _, s := range w.Steps {
		r.rows[s.Path] = s
	}
	r.run = w.Run
	return nil
}

// paths lists the rows with their states.
func (r *record) paths() string {
	var list []string
	for _, path := range sorting.Keys(r.rows) {
		list = append(list, path+" "+string(r.rows[path].State))
	}
	return strings.Join(list, ", ")
}

// execute runs a flow. reuse is nil unless it repeats another run.
func (w *world) execute(t *testing.T, lines string, inputs map[string]any, before ...*record) *record {
	t.Helper()
	doc := w.document(t, lines)
	g, err := engine.Compile(doc, w.kinds)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	values, problems := contract.Check(contract.Inputs(doc, w.kinds), value.FromMap(inputs), false)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	now := time.Now()
	run := &flow.Run{Context: w.memory, ID: "run_1", WorkspaceID: flow.DefaultWorkspace, State: flow.RunRunning, Inputs: values, Timeout: time.Hour, CreatedAt: now, StartedAt: now, DeadlineAt: now.Add(time.Hour)}
	r := &record{rows: map[string]flow.Step{}}
	var reuse *engine.Reuse
	for _, old := range before {
		var steps []flow.Step
		for _, path := range sorting.Keys(old.rows) {
			steps = append(steps, old.rows[path])
		}
		reuse, run.ParentRunID = engine.NewReuse(g, steps, ""), "run_0"
	}
	e := &engine.Engine{Journal: r, Now: time.Now, Boundary: boundary, Report: func(err error) { t.Logf("reported: %v", err) }, Secrets: &flow.Resolver{Store: w}, Prices: w, Approvals: w.people,
		Widened: func(context.Context, *flow.Run) (map[string][]string, error) { return w.widened, nil }}
	if w.files != nil {
		e.Files = w.files
	}
	if _, err := e.Execute(t.Context(), engine.NewPlan(g, run, nil, reuse), engine.Signals{}); err != nil {
		t.Fatal(err)
	}
	r.Step = r.rows["n"]
	return r
}

// ask runs an agent with one tool "lookup", a request to the shop. config and tool are further
// settings of the agent and of the tool, as JSON.
func (w *world) ask(t *testing.T, config, tool string) *record {
	t.Helper()
	return w.execute(t, fmt.Sprintf(`
		n agent {"model": "fake/m", "prompt": "Where is it?"%s}
		lookup http_request {"url": "SHOP/orders/{{id}}"} {"tool": {"description": "Finds an order."%s}}
		lookup.tool -> n.tools`, config, tool), nil)
}

// tools returns the tools of the first request.
func (w *world) tools(t *testing.T) []any {
	t.Helper()
	tools, _ := value.Get(decode(t, w.model.Requests()[0].Raw), "tools").([]any)
	return tools
}

// results returns the results in the nth request, from 1.
func (w *world) results(t *testing.T, n int) []string {
	t.Helper()
	requests := w.model.Requests()
	if len(requests) < n {
		t.Fatalf("the model got %d requests, want %d", len(requests), n)
	}
	var list []string
	for _, call := range requests[n-1].Calls {
		list = append(list, requests[n-1].Given[call.ID])
	}
	return list
}

// ListCredentials implements flow.CredentialStore.
func (w *world) ListCredentials(context.Context, flow.WorkspaceID) ([]flow.Credential, error) {
	return []flow.Credential{{Name: "fake", Provider: cmp.Or(w.wire, "openai_compatible")}}, nil
}

// OpenCredential returns the access to the model.
func (w *world) OpenCredential(_ context.Context, _ flow.WorkspaceID, name string) (flow.Credential, string, error) {
	if name == "desk" {
		return flow.Credential{Name: name, Provider: "mcp", BaseURL: w.desk}, deskSecret, nil
	}
	return flow.Credential{Name: name, Provider: cmp.Or(w.wire, "openai_compatible"), BaseURL: w.base}, "secret-of-" + name, nil
}

// FindPrice knows no prices.
func (w *world) FindPrice(context.Context, flow.WorkspaceID, string) (flow.Price, bool, error) {
	return flow.Price{}, false, nil
}

// has checks that a text has each part.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not have %q", text, part)
		}
	}
}

// pages reads web pages as they are.
type pages struct{ nodes.Documents }

// Read implements nodes.Documents.
func (pages) Read(_ context.Context, _ string, _ documents.Request, content io.Reader, _ func(documents.Image) error) (*documents.Document, error) {
	text, err := io.ReadAll(content)
	return &documents.Document{Text: string(text)}, err
}
