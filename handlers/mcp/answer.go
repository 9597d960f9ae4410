package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"sluice/handlers/api"
	"sluice/handlers/web"
)

// responseWriter passes a response of the SDK on. It gives the client a minute
// for each write and drops the SDK's plain-text rejections, which package api
// replaces with a problem. It is safe for concurrent use, so that keep-alive
// writes can happen beside those of the SDK.
type responseWriter struct {
	http.ResponseWriter
	mu      sync.Mutex
	begun   bool // the header was sent
	refused bool // the SDK rejected the request
}

// WriteHeader sends the status unless it is a plain-text rejection.
func (w *responseWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.begun || w.refused:
	case status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain"):
		w.refused = true
	default:
		w.begun = true
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write writes a part of the body and reports success for a dropped rejection.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refused {
		return len(p), nil
	}
	w.begun = true
	web.LimitWrite(w.ResponseWriter)
	return w.ResponseWriter.Write(p)
}

// FlushError sends buffered data to the client.
func (w *responseWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refused {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// ping writes a comment to an event stream, which clients ignore.
func (w *responseWriter) ping() error { return w.send(": ping\n\n") }

// pad begins a JSON response with white space, which is insignificant.
func (w *responseWriter) pad() error {
	w.Header().Set("Content-Type", api.TypeJSON)
	return w.send("\n")
}

// send writes an event and flushes it, since clients show progress as it arrives. Any error
// counts as a client that has disconnected.
func (w *responseWriter) send(text string) error {
	_, err := w.Write([]byte(text))
	if err == nil {
		err = w.FlushError()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", web.ErrClientGone, err)
	}
	return nil
}
