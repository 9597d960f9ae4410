package nodes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/flow"
	"sluice/flow/engine"
	"sluice/flow/value"
	"sluice/providers"
	"sluice/providers/hosted"
)

// memoryHost is a platform in memory whose predictions follow the clock of the test.
type memoryHost struct {
	mu      sync.Mutex
	address string                   // empty: the platform's own
	models  map[string]*hosted.Model // by path
	files   map[string]string        // content by URL
	play    func(r hosted.StartRequest) play

	asked       []hosted.StartRequest
	predictions []*memoryPrediction
	polls       []time.Time
	uploads     []string
	fetches     map[string]int
	streams     int
	secrets     []string
}

// play scripts a prediction.
type play struct {
	begins time.Duration // until the start request returns
	takes  time.Duration // from the start to the end
	end    hosted.Prediction
	text   []string          // streamed, a second apart
	breaks bool              // the stream, after its first piece
	poll   func(n int) error // the nth poll fails so
}

type memoryPrediction struct {
	play
	id       string
	begun    time.Time
	canceled bool
	polls    int
}

func newMemoryHost(p play) *memoryHost {
	if p.end.State == "" {
		p.end.State = hosted.StateSucceeded
	}
	h := &memoryHost{models: map[string]*hosted.Model{}, files: map[string]string{}, fetches: map[string]int{},
		play: func(hosted.StartRequest) play { return p }}
	h.add("acme/painter", painter)
	h.add("acme/writer", writer)
	h.add(taskHosted.example, painter)
	return h
}

// add adds a model whose schemas are written as JSON.
func (h *memoryHost) add(path, schemas string) *hosted.Model {
	m := modelOf(path, strings.Repeat("a", 64), schemas)
	h.models[path] = m
	return m
}

func modelOf(path, version, schemas string) *hosted.Model {
	ref, err := hosted.ParseRef(path + ":" + version)
	if err != nil {
		panic(err)
	}
	m := &hosted.Model{Ref: ref}
	d := json.NewDecoder(strings.NewReader(schemas))
	d.UseNumber()
	if err := d.Decode(&m.All); err != nil {
		panic(err)
	}
	m.Input, _ = m.All["Input"].(map[string]any)
	m.Output, _ = m.All["Output"].(map[string]any)
	return m
}

// painter makes a list of pictures, writer streams a text.
const (
	painter = `{"Input": {"type": "object", "required": ["prompt"], "properties": {
		"prompt": {"type": "string", "x-order": 0, "description": "What to paint."},
		"width": {"type": "integer", "minimum": 64, "maximum": 2048, "default": 512, "x-order": 1},
		"scheduler": {"allOf": [{"$ref": "#/components/schemas/scheduler"}], "default": "DDIM", "x-order": 2},
		"steps": {"enum": [10, 20, 50], "type": "integer", "x-order": 3},
		"image": {"type": "string", "format": "uri", "x-order": 4},
		"images": {"type": "array", "items": {"type": "string", "format": "uri"}, "x-order": 5},
		"tags": {"type": "array", "items": {"type": "string"}, "x-order": 6},
		"upscale": {"type": "boolean", "x-order": 7},
		"strength": {"type": "number", "x-order": 8},
		"api_key": {"type": "string", "x-order": 9},
		"layers": {"type": "array", "items": {"type": "object", "properties": {"mask": {"type": "string"}}}, "x-order": 10},
		"disable_safety_checker": {"type": "boolean", "default": false, "x-order": 11}}},
		"scheduler": {"enum": ["DDIM", "K_EULER"], "type": "string"},
		"Output": {"type": "array", "items": {"type": "string", "format": "uri"}}}`
	writer = `{"Input": {"type": "object", "properties": {"prompt": {"type": "string"}}},
		"Output": {"type": "array", "items": {"type": "string"}, "x-cog-array-type": "iterator", "x-cog-array-display": "concatenate"}}`
	teller = `{"Input": {"type": "object", "properties": {"image": {"type": "string", "format": "uri"}}},
		"Output": {"type": "object", "properties": {
			"mask": {"type": "string", "format": "uri", "x-order": 0}, "score": {"type": "number", "x-order": 1},
			"more": {"type": "object", "x-order": 2}, "error": {"type": "string", "x-order": 3}, "note": {"type": "string", "x-order": 4}}}}`
)

// Resolve implements HostedModels.
func (h *memoryHost) Resolve(ctx context.Context, secret, ref string) (*hosted.Model, error) {
	r, err := hosted.ParseRef(ref)
	if err != nil {
		return nil, err
	}
	return h.Describe(ctx, secret, r)
}

func (h *memoryHost) Describe(ctx context.Context, _ string, ref hosted.Ref) (*hosted.Model, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.models[ref.Path()]
	if m == nil {
		return nil, &providers.Error{Class: providers.ClassNotFound, Message: "Replicate does not know the model " + ref.Path() + "."}
	}
	return m, ctx.Err()
}

func (h *memoryHost) Start(ctx context.Context, secret string, r hosted.StartRequest) (*hosted.Prediction, error) {
	h.mu.Lock()
	p := &memoryPrediction{play: h.play(r), id: fmt.Sprintf("p%d", len(h.predictions)+1), begun: time.Now()}
	h.asked, h.secrets = append(h.asked, r), append(h.secrets, secret)
	h.predictions = append(h.predictions, p)
	h.mu.Unlock()
	if err := sleep(ctx, p.begins); err != nil {
		return nil, err
	}
	return h.now(p), nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *memoryHost) now(p *memoryPrediction) *hosted.Prediction {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := hosted.Prediction{State: hosted.StateProcessing}
	switch {
	case p.canceled:
		out.State = hosted.StateCanceled
	case time.Since(p.begun) >= p.takes:
		out = p.end
	}
	if out.ID = p.id; p.text != nil {
		out.StreamURL = "https://stream.replicate.com/" + p.id
	}
	return &out
}

func (h *memoryHost) find(id string) *memoryPrediction {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.predictions {
		if p.id == id {
			return p
		}
	}
	return nil
}

func (h *memoryHost) Poll(ctx context.Context, _, id string) (*hosted.Prediction, error) {
	p := h.find(id)
	if p == nil {
		return nil, &providers.Error{Class: providers.ClassNotFound, Message: "There is no such prediction."}
	}
	h.mu.Lock()
	p.polls++
	n := p.polls
	h.polls = append(h.polls, time.Now())
	h.mu.Unlock()
	if p.play.poll != nil {
		if err := p.play.poll(n); err != nil {
			return nil, err
		}
	}
	return h.now(p), ctx.Err()
}

func (h *memoryHost) Stream(ctx context.Context, _, url string, emit func(string)) error {
	p := h.find(url[strings.LastIndexByte(url, '/')+1:])
	h.mu.Lock()
	h.streams++
	h.mu.Unlock()
	for i, text := range p.text {
		if i > 0 && p.breaks {
			return &providers.Error{Class: providers.ClassUnavailable, Message: "It broke off.", Retryable: true}
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
		emit(text)
	}
	return sleep(ctx, p.takes-time.Since(p.begun))
}

func (h *memoryHost) Cancel(_ context.Context, _, id string) error {
	p := h.find(id)
	if p == nil {
		return errors.New("no such prediction")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p.canceled = p.canceled || time.Since(p.begun) < p.takes
	return nil
}

// canceled returns the number of canceled predictions.
func (h *memoryHost) canceled() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, p := range h.predictions {
		if p.canceled {
			n++
		}
	}
	return n
}

func (h *memoryHost) begun() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.predictions)
}

func (h *memoryHost) PutFile(ctx context.Context, _ string, f hosted.Upload) (string, error) {
	content, err := f.Open()
	if err != nil {
		return "", err
	}
	defer content.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(content)
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.uploads = append(h.uploads, fmt.Sprintf("%s (%s, %d): %s", f.Name, f.MIME, f.Size, data))
	return fmt.Sprintf("https://api.replicate.com/v1/files/%d", len(h.uploads)), ctx.Err()
}

func (h *memoryHost) Fetch(ctx context.Context, _, url string) (*hosted.Download, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fetches[url]++
	content, ok := h.files[url]
	name := url[strings.LastIndexByte(url, '/')+1:]
	switch {
	case !ok:
		return nil, &providers.Error{Class: providers.ClassUnavailable, Message: "The file is gone."}
	case content == "breaks once" && h.fetches[url] == 1, content == "breaks for an attempt" && h.fetches[url] <= copyTries, content == "breaks":
		broken := &brokenReader{Reader: strings.NewReader("bre"), err: &providers.Error{Class: providers.ClassUnavailable, Message: "It broke off.", Retryable: true}}
		return &hosted.Download{Name: name, Size: -1, Body: io.NopCloser(broken)}, nil
	case content == "hangs":
		return &hosted.Download{Name: name, Size: -1, Body: io.NopCloser(hangingReader{ctx})}, nil
	}
	return &hosted.Download{Name: name, Size: int64(len(content)), Body: io.NopCloser(strings.NewReader(content))}, ctx.Err()
}

// brokenReader ends with an error.
type brokenReader struct {
	io.Reader
	err error
}

func (b *brokenReader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = b.err
	}
	return n, err
}

type hangingReader struct{ ctx context.Context }

func (h hangingReader) Read([]byte) (int, error) {
	<-h.ctx.Done()
	return 0, h.ctx.Err()
}

func (h *memoryHost) Address() string { return cmp.Or(h.address, hosted.DefaultReplicateURL) }

func (h *memoryHost) Account(context.Context, string) (string, error) { return "tester", nil }

func (h *memoryHost) Collections(context.Context, string) ([]hosted.Collection, error) {
	return nil, nil
}

func (h *memoryHost) Collection(context.Context, string, string) (*hosted.Collection, error) {
	return nil, nil
}

func (h *memoryHost) Search(context.Context, string, string) ([]hosted.Listing, error) {
	return nil, nil
}

// runFixture executes one run with a hosted node n repeatedly, as different workers would.
// Rows survive as in a database.
type runFixture struct {
	t       *testing.T
	host    *memoryHost
	fixture *fixture
	g       *engine.Graph
	mu      sync.Mutex
	run     flow.Run
	rows    map[string]flow.Step
	wake    time.Time
	// write is called before every write; its error prevents the write.
	write   func(w flow.RunWrite) error
	after   func(w flow.RunWrite) error // called after every write; its error is returned although the write happened
	reports []string
	emitted strings.Builder
}

func newRunFixture(t *testing.T, h *memoryHost, config map[string]any, change func(*flow.Document)) *runFixture {
	t.Helper()
	kinds := New(Deps{Host: h, Models: h})
	doc, inputs := use{kind: "hosted_model", config: config}.document(nil)
	if change != nil {
		change(doc)
	}
	g, err := engine.Compile(doc, kinds)
	if err != nil {
		t.Fatal(err)
	}
	return &runFixture{t: t, host: h, fixture: newFixture(), g: g, rows: map[string]flow.Step{},
		run: flow.Run{ID: "run_1", WorkspaceID: "default", State: flow.RunQueued, Inputs: value.FromMap(inputs), Timeout: time.Hour, CreatedAt: time.Now()}}
}

func (r *runFixture) WriteRun(_ context.Context, w flow.RunWrite) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.write != nil {
		if err := r.write(w); err != nil {
			return err
		}
	}
	r.run, r.wake = *w.Run, w.WakeAt
	for _, s := range w.Steps {
		if s.Saved != nil {
			saved, err := flow.DecodeJSON(flow.EncodeJSON(s.Saved))
			if err != nil {
				return err
			}
			s.Saved = saved
		}
		r.rows[s.Path] = s
	}
	if r.after != nil {
		return r.after(w)
	}
	return nil
}

// execute runs the run in a new worker.
func (r *runFixture) execute(ctx context.Context, sig engine.Signals) engine.Outcome {
	r.mu.Lock()
	r.run.Attempt++
	run := r.run
	var steps []flow.Step
	for _, s := range r.rows {
		steps = append(steps, s)
	}
	r.mu.Unlock()
	e := &engine.Engine{Journal: r, Now: time.Now, Report: func(err error) { r.reports = append(r.reports, err.Error()) },
		Secrets: &flow.Resolver{Store: r.fixture.credentials, Environment: r.fixture.environment}, Files: r.fixture.files, Prices: r.fixture.prices,
		Emit: func(_ flow.RunID, _ string, _ int, text string) { r.emitted.WriteString(text) }}
	outcome, _ := e.Execute(ctx, engine.NewPlan(r.g, &run, steps, nil), engine.Signals{Cancel: sig.Cancel, Hold: sig.Hold})
	return outcome
}

// finish executes the run to its end, sleeping while it waits, and returns the step of the
// node.
func (r *runFixture) finish() flow.Step {
	r.t.Helper()
	for range 10_000 {
		if r.execute(r.t.Context(), engine.Signals{}) == engine.Ended {
			return r.step()
		}
		time.Sleep(time.Until(r.wake))
	}
	r.t.Fatal("the run does not end")
	return flow.Step{}
}

func (r *runFixture) step() flow.Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rows["n"]
}

// inBubble runs a test with fake time. passed returns how much of it has passed.
func inBubble(t *testing.T, f func(t *testing.T, passed func() time.Duration)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		f(t, func() time.Duration { return time.Since(begin) })
	})
}

// painting returns the config of a node that stores the painter's schema.
func painting(t testing.TB, schemas string, config map[string]any) map[string]any {
	t.Helper()
	n := flow.Node{ID: "n", Kind: "hosted_model", Config: map[string]any{}}
	for name, value := range config {
		n.Config[name] = value
	}
	if err := PinModel(&n, modelOf("acme/painter", strings.Repeat("a", 64), schemas)); err != nil {
		t.Fatal(err)
	}
	return n.Config
}

// stuckHost never finishes starting a prediction.
type stuckHost struct {
	*memoryHost
	stuck stuck
}

func (s stuckHost) Start(ctx context.Context, _ string, _ hosted.StartRequest) (*hosted.Prediction, error) {
	return nil, s.stuck.wait(ctx)
}
