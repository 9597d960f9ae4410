package hostedtest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// stream sends a prediction's pieces, waits for its end and says so.
func (f *Fake) stream(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	p := f.find(r.PathValue("id"))
	f.mu.Unlock()
	if p == nil || p.script.Stream == nil {
		notFound(w)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	for i, piece := range p.script.Stream {
		event(w, "output", fmt.Sprintf("%d:%d", time.Now().Unix(), i), piece)
	}
	f.mu.Lock()
	p.polls = 0 // who streams to the end has seen it through
	f.mu.Unlock()
	f.watch(r, p, 24*time.Hour)
	switch f.State(p.id) {
	case "succeeded":
		event(w, "done", "", "{}")
	case "failed":
		event(w, "error", "", fmt.Sprint(p.script.Error))
		event(w, "done", "", `{"reason": "error"}`)
	case "canceled", "aborted":
		event(w, "done", "", `{"reason": "canceled"}`)
	}
}

// event writes one event; each line of its data has a field of its own.
func event(w http.ResponseWriter, name, id, data string) {
	if id != "" {
		id = "id: " + id + "\n"
	}
	_, _ = fmt.Fprintf(w, "event: %s\n%sdata: %s\n\n", name, id, strings.ReplaceAll(data, "\n", "\ndata: "))
	_ = http.NewResponseController(w).Flush() // the client may be gone
}
