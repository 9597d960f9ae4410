package webtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"sluice/flow"
)

// Fetching returns a document that asks a server and returns its answer. The request is tried
// three times.
func Fetching(server string) string {
	return `{"schema": "sluice.flow/v1", "name": "Ask around", "nodes": [
	{"id": "q", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "q", "type": "text"}},
	{"id": "trim", "kind": "template", "label": "Polite", "position": {"x": 280, "y": 0}, "config": {"template": "{{q}}, please"}},
	{"id": "ask", "kind": "http_request", "label": "Ask the server", "retry": {"attempts": 3, "backoff_s": 0.02}, "position": {"x": 560, "y": 0}, "config": {"url": "` + server + `/?q={{text}}"}},
	{"id": "out", "kind": "output", "position": {"x": 840, "y": 0}, "config": {"name": "answer"}}],
	"edges": [{"from": "q.value", "to": "trim.q"}, {"from": "trim.text", "to": "ask.text"}, {"from": "ask.body", "to": "out.value"}]}`
}

// Asked starts a server that fails the first requests with 503, and answers later ones with q.
func Asked(t *testing.T, fails int32) (url string) {
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) <= fails {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("you said " + r.FormValue("q")))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Publish publishes the draft of a flow, as the command line would. The draft must have no
// problems.
func (h *Env) Publish(id string) {
	h.T.Helper()
	if _, _, err := h.Library.Publish(context.Background(), flow.DefaultWorkspace, id, "cli"); err != nil {
		h.T.Fatal(err)
	}
}

// Ended waits until a run has.
func (h *Env) Ended(runID string) *flow.Run {
	h.T.Helper()
	watch := h.Runner.WatchRun(runID)
	defer watch.Stop()
	for over := time.After(10 * time.Second); ; {
		run, err := h.Store.FindRun(context.Background(), flow.DefaultWorkspace, "", runID)
		if err != nil {
			h.T.Fatal(err)
		}
		if run.State.Ended() {
			return run
		}
		select {
		case <-watch.Changes:
		case <-over:
			h.T.Fatalf("%s is still %s", runID, run.State)
		}
	}
}
