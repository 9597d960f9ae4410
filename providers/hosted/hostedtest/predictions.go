package hostedtest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Script is what a prediction does. Without Polls, Hold and Seconds it has
// ended when its creation is answered.
type Script struct {
	Polls   int             // how often it is asked for before it has ended
	Hold    <-chan struct{} // it continues until this is closed
	Seconds float64         // it takes this long by the clock

	State                     string // at the end; empty: succeeded
	Output                    any
	Error                     any
	Logs                      string
	PredictTime               float64 // seconds
	InputTokens, OutputTokens int
	Stream                    []string // pieces of text; nil: it cannot be streamed
	Purged                    bool     // input and output are gone when it is asked for
}

// prediction is a call of a model. Its script decides when and how it ends: after a
// number of polls, a time, or when the test releases it.
type prediction struct {
	id, model, version string
	input              map[string]any
	script             Script
	state              string
	polls              int
	created            time.Time
	deadline           time.Time // of Cancel-After; zero: none
	purged             bool
}

// ended reports whether the state is final, so that neither time nor a cancellation
// changes it.
func (p *prediction) ended() bool {
	return p.state == "succeeded" || p.state == "failed" || p.state == "canceled" || p.state == "aborted"
}

// advance brings a prediction to where it should be by now. The lock is held.
func (f *Fake) advance(p *prediction) {
	if p.ended() {
		return
	}
	now := time.Now()
	switch {
	case !p.deadline.IsZero() && now.After(p.deadline) && p.state == "starting":
		p.state = "aborted"
	case !p.deadline.IsZero() && now.After(p.deadline):
		p.state = "canceled"
	case p.polls > 0 || p.held() || now.Before(p.created.Add(time.Duration(p.script.Seconds*float64(f.Second)))):
	default:
		p.state = "succeeded"
		if p.script.State != "" {
			p.state = p.script.State
		}
		p.purged = p.script.Purged
	}
}

// held reports whether the test has not yet closed the script's Hold.
func (p *prediction) held() bool {
	if p.script.Hold == nil {
		return false
	}
	select {
	case <-p.script.Hold:
		return false
	default:
		return true
	}
}

// State is where a prediction stands; empty if it does not exist.
func (f *Fake) State(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.find(id)
	if p == nil {
		return ""
	}
	f.advance(p)
	return p.state
}

// Inputs are the inputs of all predictions so far, oldest first.
func (f *Fake) Inputs() []map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []map[string]any
	for _, p := range f.predictions {
		out = append(out, p.input)
	}
	return out
}

// Purge removes what a prediction took and gave, as the platform does after an
// hour.
func (f *Fake) Purge(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.find(id); p != nil {
		p.purged = true
	}
}

// find returns a prediction by its ID, or nil. The lock is held.
func (f *Fake) find(id string) *prediction {
	for _, p := range f.predictions {
		if p.id == id {
			return p
		}
	}
	return nil
}

// wire returns a prediction in the JSON of the platform's API. It has an output, an
// error and metrics only once it has ended; a purged one has neither input nor output.
func (f *Fake) wire(p *prediction) map[string]any {
	urls := map[string]any{
		"get": f.URL + "/predictions/" + p.id, "cancel": f.URL + "/predictions/" + p.id + "/cancel",
		"web": "https://replicate.com/p/" + p.id,
	}
	if p.script.Stream != nil {
		urls["stream"] = f.api.url + "/stream/" + p.id
	}
	body := map[string]any{
		"id": p.id, "model": p.model, "version": p.version, "input": p.input, "logs": p.script.Logs, "output": nil,
		"data_removed": p.purged, "error": nil, "source": "api", "status": p.state, "urls": urls,
		"created_at": p.created.UTC().Format(time.RFC3339Nano), "started_at": nil, "completed_at": nil,
	}
	if p.ended() {
		body["completed_at"] = time.Now().UTC().Format(time.RFC3339Nano)
		body["error"] = p.script.Error
		body["output"] = p.script.Output
		body["metrics"] = p.metrics()
	}
	if p.purged {
		body["input"], body["output"] = map[string]any{}, nil
	}
	return body
}

// metrics returns the measurements of an ended prediction: times in seconds, and tokens
// only if the script has some.
func (p *prediction) metrics() map[string]any {
	m := map[string]any{"predict_time": p.script.PredictTime, "total_time": p.script.PredictTime}
	if p.script.InputTokens+p.script.OutputTokens > 0 {
		m["input_token_count"], m["output_token_count"] = p.script.InputTokens, p.script.OutputTokens
	}
	return m
}

// createPrediction is POST /predictions: any model by version, and models of
// the platform itself by name.
func (f *Fake) createPrediction(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Version string
		Input   map[string]any
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		refuse(w, http.StatusBadRequest, "Bad request", "The request body is not valid JSON.")
		return
	}
	f.mu.Lock()
	m, version := f.versioned(body.Version)
	f.mu.Unlock()
	if m == nil {
		refuse(w, http.StatusUnprocessableEntity, "Invalid version or not permitted",
			"The specified version does not exist (or perhaps you don't have permission to use it?)")
		return
	}
	f.start(w, r, m, version, body.Input)
}

// versioned finds a model by owner/name:version, by version alone, or by
// owner/name if it is one of the platform's own.
func (f *Fake) versioned(text string) (*Model, string) {
	path, id, named := strings.Cut(text, ":")
	for _, m := range f.models {
		newest := Version(m.Owner, m.Name)
		switch {
		case named && path == m.path() && (id == newest || m.Older[id] != nil):
			return m, id
		case !named && (path == newest || m.Older[path] != nil):
			return m, path
		case !named && m.Official && path == m.path():
			return m, "hidden"
		}
	}
	return nil, ""
}

// createOfficial is POST /models/{owner}/{name}/predictions.
func (f *Fake) createOfficial(w http.ResponseWriter, r *http.Request) {
	var body struct{ Input map[string]any }
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		refuse(w, http.StatusBadRequest, "Bad request", "The request body is not valid JSON.")
		return
	}
	f.mu.Lock()
	m := f.model(r.PathValue("owner"), r.PathValue("name"))
	f.mu.Unlock()
	if m == nil || !m.Official {
		notFound(w)
		return
	}
	f.start(w, r, m, "hidden", body.Input)
}

// start creates a prediction for both routes that can, unless a required input is
// missing. It responds at once, or waits for the end as the header Prefer asks.
func (f *Fake) start(w http.ResponseWriter, r *http.Request, m *Model, version string, input map[string]any) {
	if name := m.missing(input); name != "" {
		refuse(w, http.StatusUnprocessableEntity, "Input validation failed", "- input: "+name+" is required\n")
		return
	}
	script := Script{Output: input}
	f.mu.Lock()
	predict := m.Predict
	f.mu.Unlock()
	if predict != nil {
		script = predict(input)
	}
	p := &prediction{
		model: m.path(), version: version, input: input, script: script,
		state: "starting", polls: script.Polls, created: time.Now(),
	}
	if after, err := time.ParseDuration(r.Header.Get("Cancel-After")); err == nil {
		p.deadline = p.created.Add(time.Duration(after.Seconds() * float64(f.Second)))
	}
	f.mu.Lock()
	p.id = f.id()
	f.predictions = append(f.predictions, p)
	f.mu.Unlock()
	f.awaitEnd(r, p)
	f.mu.Lock()
	defer f.mu.Unlock()
	answer(w, http.StatusCreated, f.wire(p))
}

// missing names an input that must be set and is not.
func (m *Model) missing(input map[string]any) string {
	schema, _ := m.Schemas["Input"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := input[name.(string)]; !ok {
			return name.(string)
		}
	}
	return ""
}

// preferWait finds the seconds in a Prefer header such as "wait=5". A plain "wait" asks
// for the maximum, a minute.
var preferWait = regexp.MustCompile(`\bwait(?:=(\d+))?`)

// awaitEnd holds the answer as Prefer asks, at most a minute.
func (f *Fake) awaitEnd(r *http.Request, p *prediction) {
	seconds := 0
	if m := preferWait.FindStringSubmatch(r.Header.Get("Prefer")); m != nil {
		seconds = 60
		if n, err := strconv.Atoi(m[1]); err == nil {
			seconds = min(n, 60)
		}
	}
	f.watch(r, p, time.Duration(seconds)*f.Second)
}

// watch returns when a prediction has ended or the time is over.
func (f *Fake) watch(r *http.Request, p *prediction, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		f.mu.Lock()
		f.advance(p)
		over, changed := p.ended() || p.polls > 0, f.changed // who counts polls does not wait
		f.mu.Unlock()
		if over || limit <= 0 {
			return
		}
		tick := time.NewTimer(5 * time.Millisecond) // Hold and the clock tell nobody
		select {
		case <-changed:
		case <-tick.C:
		case <-timer.C:
			tick.Stop()
			return
		case <-r.Context().Done():
			tick.Stop()
			return
		}
		tick.Stop()
	}
}

// showPrediction is GET /v1/predictions/{id}. Each call counts as one of the script's
// Polls.
func (f *Fake) showPrediction(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.find(r.PathValue("id"))
	if p == nil {
		notFound(w)
		return
	}
	if p.polls > 0 {
		p.polls--
	}
	f.advance(p)
	if !p.ended() {
		p.state = "processing"
	}
	answer(w, http.StatusOK, f.wire(p))
}

// listPredictions is GET /v1/predictions: all predictions, newest first, in pages. It
// does not count as a poll.
func (f *Fake) listPredictions(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []any{}
	for i := len(f.predictions) - 1; i >= 0; i-- {
		all = append(all, f.wire(f.predictions[i]))
	}
	f.page(w, r, all)
}

// cancelPrediction is POST /v1/predictions/{id}/cancel. A prediction that has ended
// stays as it is.
func (f *Fake) cancelPrediction(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.find(r.PathValue("id"))
	if p == nil {
		notFound(w)
		return
	}
	f.advance(p)
	if !p.ended() {
		p.state = "canceled"
		close(f.changed)
		f.changed = make(chan struct{})
	}
	answer(w, http.StatusOK, f.wire(p))
}
