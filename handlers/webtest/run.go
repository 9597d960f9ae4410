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

// RequestFlow returns a document that sends a request to a server and returns the response. The
// request is attempted three times.
func RequestFlow(server string) string {
	return `{"schema": "sluice.flow/v1", "name": "Ask around", "nodes": [
	{"id": "q", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "q", "type": "text"}},
	{"id": "trim", "kind": "template", "label": "Polite", "position": {"x": 280, "y": 0}, "config": {"template": "{{q}}, please"}},
	{"id": "ask", "kind": "http_request", "label": "Ask the server", "retry": {"attempts": 3, "backoff_s": 0.02}, "position": {"x": 560, "y": 0}, "config": {"url": "` + server + `/?q={{text}}"}},
	{"id": "out", "kind": "output", "position": {"x": 840, "y": 0}, "config": {"name": "answer"}}],
	"edges": [{"from": "q.value", "to": "trim.q"}, {"from": "trim.text", "to": "ask.text"}, {"from": "ask.body", "to": "out.value"}]}`
}

// FlakyServer starts a server that responds to the first requests with 503, and to later ones with
// the parameter q.
func FlakyServer(t *testing.T, fails int32) (url string) {
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
	if _, _, err := h.Library.Publish(context.Background(), flow.DefaultWorkspace, flow.FlowID(id), "cli"); err != nil {
		h.T.Fatal(err)
	}
}

// Ended waits until a run has ended, and returns it.
func (h *Env) Ended(runID flow.RunID) *flow.Run {
	h.T.Helper()
	watch := h.Runner.WatchRun(runID)
	defer watch.Stop()
	for timeout := time.After(10 * time.Second); ; {
		run, err := h.Store.FindRun(context.Background(), flow.DefaultWorkspace, "", runID)
		if err != nil {
			h.T.Fatal(err)
		}
		if run.State.Ended() {
			return run
		}
		select {
		case <-watch.Changes:
		case <-timeout:
			h.T.Fatalf("%s is still %s", runID, run.State)
		}
	}
}
