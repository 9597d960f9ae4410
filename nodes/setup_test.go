package nodes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/engine"
	"sluice/flow/value"
	"sluice/javascript"
	"sluice/mcpclient"
	"sluice/nodes/servertools"
	"sluice/outbound"
	"sluice/providers/builtin"
)

// fakes returns working dependencies in memory.
func fakes() Deps {
	h := newMemoryHost(play{})
	return Deps{HTTP: fakeHTTP{}, Documents: testReader(), Code: testCode(), Model: fakeModel{}, Providers: fakeProviders{}, Host: h, Models: h, ToolServers: fakeServers{}, Knowledge: fakeKnowledge{}}
}

// fakeHTTP echoes every request.
type fakeHTTP struct{}

func (fakeHTTP) Do(ctx context.Context, req outbound.Request) (*outbound.Response, error) {
	if ctx.Err() != nil {
		return nil, &outbound.Error{Class: outbound.ClassCanceled, Message: "canceled"}
	}
	body := flow.EncodeJSON(map[string]any{"url": req.URL, "method": req.Method, "body": string(req.Body)})
	return &outbound.Response{Status: 200, Header: map[string][]string{"Content-Type": {"application/json"}}, Body: body, URL: req.URL}, nil
}

// Stream answers with a small HTML page.
func (fakeHTTP) Stream(ctx context.Context, req outbound.Request) (*outbound.Stream, error) {
	if ctx.Err() != nil {
		return nil, &outbound.Error{Class: outbound.ClassCanceled, Message: "canceled"}
	}
	const page = "<!doctype html><title>Delivery</title><h1>Delivery</h1><p>Parcels take three days.</p>"
	return &outbound.Stream{Status: 200, Header: map[string][]string{"Content-Type": {"text/html; charset=utf-8"}},
		Length: int64(len(page)), URL: req.URL, Body: io.NopCloser(strings.NewReader(page))}, nil
}

// fakeServers have the tool of the example.
type fakeServers struct{}

func (fakeServers) Open(ctx context.Context, _ mcpclient.Server) (servertools.Session, error) {
	return fakeServers{}, ctx.Err()
}

func (fakeServers) Known(ctx context.Context) ([]mcpclient.Tool, error) {
	t := mcpclient.Tool{ServerTool: exampleTool}
	t.SHA256 = t.Hash()
	return []mcpclient.Tool{t}, ctx.Err()
}

func (fakeServers) Call(ctx context.Context, _ string, arguments *flow.Object, _ string) (*mcpclient.Result, error) {
	return &mcpclient.Result{Text: "Issue " + flow.Text(arguments.Get("number"))}, ctx.Err()
}

func (fakeServers) Close() error { return nil }

// fakeModel compares texts by their words.
type fakeModel struct{}

func (fakeModel) Embed(ctx context.Context, _ string, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 8)
		for word := range strings.FieldsSeq(text) {
			vectors[i][len(word)%8]++
		}
	}
	return vectors, ctx.Err()
}

func (fakeModel) Similarity(ctx context.Context, _, a, b string) (float64, error) {
	return shared(a, b), ctx.Err()
}

func (fakeModel) Classify(ctx context.Context, _, text string, labels []builtin.Label) ([]builtin.Score, error) {
	scores := make([]builtin.Score, len(labels))
	for i, l := range labels {
		scores[i] = builtin.Score{Label: l.Name, Score: shared(text, l.Name+" "+l.Description)}
	}
	slices.SortStableFunc(scores, func(a, b builtin.Score) int { return int(1000 * (b.Score - a.Score)) })
	return scores, ctx.Err()
}

func (fakeModel) Summarize(ctx context.Context, _, text string, sentences int) (string, error) {
	list := strings.SplitAfter(text, ". ")
	return strings.TrimSpace(strings.Join(list[:min(sentences, len(list))], "")), ctx.Err()
}

func (fakeModel) FindAnswer(ctx context.Context, _, text, question string, passages int) (builtin.Answer, error) {
	var found []builtin.Passage
	for s := range strings.SplitSeq(text, ". ") {
		found = append(found, builtin.Passage{Text: s, Score: shared(s, question)})
	}
	slices.SortStableFunc(found, func(a, b builtin.Passage) int { return int(1000 * (b.Score - a.Score)) })
	return builtin.Answer{Answer: found[0].Text, Score: found[0].Score, Passages: found[:min(passages, len(found))]}, ctx.Err()
}

func (fakeModel) DetectLanguage(ctx context.Context, _ string) ([]builtin.Language, error) {
	return []builtin.Language{{Code: "en", Name: "English", Score: 0.75}, {Code: "nl", Name: "Dutch", Score: 0.25}}, ctx.Err()
}

func (fakeModel) Sentiment(ctx context.Context, text string) (builtin.Sentiment, error) {
	good := shared(text, "love great good")
	return builtin.Sentiment{Compound: good, Positive: good, Neutral: 1 - good}, ctx.Err()
}

// shared returns the share of the words of a that also occur in b.
func shared(a, b string) float64 {
	words := strings.Fields(strings.ToLower(a))
	n := 0
	for _, w := range words {
		if strings.Contains(strings.ToLower(b), w) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(words)))
}

// use is a node to test: its config and the values at its ports.
type use struct {
	kind   string
	config map[string]any
	ports  map[string]any
}

// document returns a flow around the node in which an input is connected to each port.
func (u use) document(k *flow.Kind) (doc *flow.Document, inputs map[string]any) {
	doc, inputs = &flow.Document{Schema: flow.Schema, Name: "Test", Edges: []flow.Edge{}}, map[string]any{}
	config := u.config
	if config == nil {
		config = map[string]any{}
	}
	doc.Nodes = append(doc.Nodes, flow.Node{ID: "n", Kind: u.kind, Config: config})
	if k != nil && k.Role == flow.RoleInput {
		inputs[fmt.Sprint(config["name"])] = u.ports["value"]
		return doc, inputs
	}
	for _, port := range slices.Sorted(maps.Keys(u.ports)) {
		values := []any{u.ports[port]}
		if list, isList := values[0].([]any); isList && k != nil && slices.ContainsFunc(k.Inputs, func(p flow.Port) bool { return p.Name == port && p.List }) {
			values = list
		}
		for _, value := range values {
			i := len(inputs)
			name, source := fmt.Sprintf("v%d", i), fmt.Sprintf("in%d", i)
			inputs[name] = value
			doc.Nodes = append(doc.Nodes, flow.Node{ID: source, Kind: "input", Config: map[string]any{"name": name, "type": "json"}})
			to := "n." + port
			if k != nil && k.OutputsField != "" && k.Field(port) == nil {
				to = "out" + name + ".value"
				doc.Nodes = append(doc.Nodes, flow.Node{ID: "out" + name, Kind: "output", Config: map[string]any{"name": port}})
			}
			doc.Edges = append(doc.Edges, flow.Edge{From: source + ".value", To: to})
		}
	}
	return doc, inputs
}

// ran is the outcome of the node.
type ran struct {
	flow.Step
	deliveries []flow.NewDelivery
	run        *flow.Run
	emitted    string
}

// journal records the writes of the engine.
type journal struct{ ran ran }

func (j *journal) WriteRun(_ context.Context, w flow.RunWrite) error {
	for _, s := range w.Steps {
		if s.Node == "n" {
			j.ran.Step = s
		}
	}
	j.ran.run = w.Run
	j.ran.deliveries = append(j.ran.deliveries, w.Deliveries...)
	return nil
}

// fixture holds the dependencies of steps: credentials, files and prices.
type fixture struct {
	credentials flow.CredentialStore
	environment map[string]flow.Access // by provider
	prices      priceList
	files       *memoryFiles
	fetcher     flow.Fetcher
	signals     engine.Signals
	heard       func() // called after each piece of text that a step emits
}

// newFixture returns a fixture with a secret for every kind's example, no files and no prices.
func newFixture() *fixture {
	return &fixture{credentials: vault{}, files: &memoryFiles{kept: map[string]memoryFile{}}, environment: map[string]flow.Access{
		"openai":    {Provider: "openai", Name: "OPENAI_API_KEY", Secret: "secret-of-openai"},
		"replicate": {Provider: "replicate", Name: "REPLICATE_API_TOKEN", Secret: "secret-of-replicate"},
	}}
}

// execute runs the node in a new flow.
func (u use) execute(t *testing.T, d Deps) ran {
	t.Helper()
	return u.executeIn(t, newFixture(), d)
}

// executeIn is execute with a given fixture.
func (u use) executeIn(t *testing.T, w *fixture, d Deps) ran {
	t.Helper()
	kinds := New(d)
	doc, inputs := u.document(kinds.Find(u.kind))
	return w.execute(t, kinds, doc, inputs)
}

// runDocument runs a flow through validation, planner and engine, and returns the outcome of
// its node n.
func runDocument(t *testing.T, kinds *flow.Registry, doc *flow.Document, inputs map[string]any) ran {
	t.Helper()
	return newFixture().execute(t, kinds, doc, inputs)
}

func (w *fixture) execute(t *testing.T, kinds *flow.Registry, doc *flow.Document, inputs map[string]any) ran {
	t.Helper()
	g, err := engine.Compile(doc, kinds)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	values, problems := contract.Check(contract.Inputs(doc, kinds), value.FromMap(inputs), false)
	if len(problems) > 0 {
		t.Fatalf("inputs: %v", problems)
	}
	now := time.Now()
	run := &flow.Run{ID: "run_1", WorkspaceID: "default", State: flow.RunRunning, Inputs: values, Timeout: time.Hour,
		CreatedAt: now, StartedAt: now, DeadlineAt: now.Add(time.Hour)}
	j := &journal{}
	var emitted strings.Builder
	e := &engine.Engine{Journal: j, Now: time.Now, Report: func(err error) { t.Logf("reported: %v", err) },
		Secrets: &flow.Resolver{Store: w.credentials, Environment: w.environment}, Files: w.files, Prices: w.prices, Fetcher: w.fetcher, Approvals: yes{}, Children: echoChildren, Origin: fixedOrigin,
		Emit: func(_ flow.RunID, path string, _ int, text string) {
			if path == "n" {
				emitted.WriteString(text)
			}
			if w.heard != nil {
				w.heard()
			}
		}}
	if _, err := e.Execute(t.Context(), engine.NewPlan(g, run, nil, nil), w.signals); err != nil {
		t.Fatalf("execute: %v", err)
	}
	j.ran.emitted = emitted.String()
	return j.ran
}

// bindCapabilities binds the functions that the engine would provide to a step.
func (w *fixture) bindCapabilities(in *flow.In) {
	in.WorkspaceID = flow.DefaultWorkspace
	secrets := &flow.Resolver{Store: w.credentials, Environment: w.environment}
	in.Secret = func(ctx context.Context, value any, host string) (string, error) {
		if name, isRef := flow.SecretRef(value); isRef {
			return secrets.Secret(ctx, in.WorkspaceID, name, host)
		}
		return flow.Text(value), nil
	}
	in.Access = func(ctx context.Context, provider string, ref any) (flow.Access, error) {
		return secrets.Access(ctx, in.WorkspaceID, provider, ref)
	}
	in.Price = func(ctx context.Context, model string) (flow.Price, bool, error) {
		return w.prices.FindPrice(ctx, in.WorkspaceID, model)
	}
	in.Save = func(_ context.Context, state any) error { in.State = state; return nil }
	in.Emit = func(string) {}
	in.OpenFile = func(ctx context.Context, value any) (*flow.File, io.ReadSeekCloser, error) {
		id, _ := flow.FileID(value)
		return w.files.OpenFile(ctx, in.WorkspaceID, id)
	}
	in.SaveFile = func(ctx context.Context, name, mime string, content io.Reader) (map[string]any, error) {
		f, err := w.files.SaveFile(ctx, flow.NewFile{WorkspaceID: in.WorkspaceID, RunID: in.RunID, Name: name, MIME: mime}, content)
		if err != nil {
			return nil, err
		}
		return f.Value(), nil
	}
}

// vault has a credential of every name except one.
type vault struct{}

func (vault) ListCredentials(context.Context, flow.WorkspaceID) ([]flow.Credential, error) {
	return nil, nil
}

func (vault) OpenCredential(_ context.Context, ws flow.WorkspaceID, name string) (flow.Credential, string, error) {
	if name == "missing" {
		return flow.Credential{}, "", flow.Errorf(flow.CodeNotFound, "There is no such credential.")
	}
	if name == "issues" {
		return flow.Credential{Name: name, Provider: "mcp", BaseURL: "https://issues.example.com/mcp"}, "token", nil
	}
	return flow.Credential{Name: name}, string("secret-of-"+ws+"-") + name, nil
}

// priceList holds the prices of the workspace by model.
type priceList map[string]flow.Price

func (p priceList) FindPrice(_ context.Context, _ flow.WorkspaceID, model string) (flow.Price, bool, error) {
	price, known := p[model]
	return price, known, nil
}

// memoryFiles is a file store in memory.
type memoryFiles struct {
	mu    sync.Mutex
	limit int64 // bytes of one file; 0: unlimited
	kept  map[string]memoryFile
}

type memoryFile struct {
	flow.File
	content []byte
}

func (m *memoryFiles) SaveFile(_ context.Context, n flow.NewFile, content io.Reader) (*flow.File, error) {
	data, err := io.ReadAll(content)
	if err != nil {
		return nil, fmt.Errorf("keep %s: %w", n.Name, err)
	}
	if limit := cmp.Or(n.MaxSize, m.limit); limit > 0 && int64(len(data)) > limit {
		return nil, flow.Errorf(flow.CodeBodyTooLarge, "The file is larger than %d bytes.", limit)
	}
	f := flow.File{ID: cmp.Or(n.ID, flow.NewIDs().New(flow.PrefixFile)), WorkspaceID: n.WorkspaceID, Name: n.Name,
		MIME: cmp.Or(n.MIME, http.DetectContentType(data)), Size: int64(len(data)), CreatedAt: time.Now()}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[f.ID] = memoryFile{f, data}
	return &f, nil
}

func (m *memoryFiles) OpenFile(_ context.Context, ws flow.WorkspaceID, id string) (*flow.File, io.ReadSeekCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.kept[id]
	if !ok || f.WorkspaceID != ws {
		return nil, nil, flow.Errorf(flow.CodeNotFound, "There is no file %s.", id)
	}
	return &f.File, closer{bytes.NewReader(f.content)}, nil
}

// put stores a file and returns its value.
func (m *memoryFiles) put(t *testing.T, name, mime, content string) map[string]any {
	t.Helper()
	f, err := m.SaveFile(t.Context(), flow.NewFile{WorkspaceID: flow.DefaultWorkspace, Name: name, MIME: mime}, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return f.Value()
}

// content returns the content of a file value.
func (m *memoryFiles) content(t *testing.T, value any) string {
	t.Helper()
	id, ok := flow.FileID(value)
	m.mu.Lock()
	defer m.mu.Unlock()
	f, kept := m.kept[id]
	if !ok || !kept {
		t.Fatalf("%v is no file that is kept", value)
	}
	return string(f.content)
}

// closer adds a Close method to a reader.
type closer struct{ io.ReadSeeker }

func (closer) Close() error { return nil }

// succeeds runs the node and returns its outputs.
func (u use) succeeds(t *testing.T, d Deps) map[string]any {
	t.Helper()
	r := u.execute(t, d)
	if r.State != flow.StepSucceeded {
		t.Fatalf("%s: state %s, error %v", u.kind, r.State, r.Error)
	}
	return r.Outputs
}

// fails runs the node and returns its error, which must have the code.
func (u use) fails(t *testing.T, d Deps, code flow.Code) *flow.Error {
	t.Helper()
	r := u.execute(t, d)
	if r.State != flow.StepFailed || r.Error == nil || r.Error.Code != code {
		t.Fatalf("%s: state %s, error %#v, outputs %v; want %s", u.kind, r.State, r.Error, r.Outputs, code)
	}
	if !strings.HasSuffix(r.Error.Message, ".") && !strings.HasSuffix(r.Error.Message, "…") && code != flow.CodeHTTPFailed {
		t.Errorf("not a sentence: %q", r.Error.Message)
	}
	return r.Error
}

// problems validates a flow around the node and returns its problems.
func (u use) problems(t *testing.T) []flow.Problem {
	t.Helper()
	kinds := New(Deps{})
	doc, _ := u.document(kinds.Find(u.kind))
	var own []flow.Problem
	for _, p := range document.Validate(doc, kinds) {
		if p.Node == "n" {
			own = append(own, p)
		}
	}
	return own
}

// same compares values as JSON.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := string(value.Canonical(got)), string(value.Canonical(want)); g != w {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

// has checks that a text holds each part.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not hold %q", text, part)
		}
	}
}

func number(s string) json.Number { return json.Number(s) }

// fixedOrigin is the origin of all steps.
func fixedOrigin(_ context.Context, run *flow.Run, path string) (flow.Origin, error) {
	return flow.Origin{Time: time.UnixMilli(1_700_000_000_000), Seed: string(run.ID) + ":" + path}, nil
}

// testCode returns the code runner that all tests share.
var testCode = sync.OnceValue(javascript.New)
