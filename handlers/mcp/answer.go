package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"sluice/handlers/api"
	"sluice/handlers/web"
)

// responseWriter forwards a response of the SDK. It gives the client a minute
// for each write and drops the SDK's plain-text rejections, which package api
// replaces with a problem. It is safe for concurrent use, because keep-alive
// messages are written concurrently with the SDK's.
type responseWriter struct {
	http.ResponseWriter
	mu      sync.Mutex
	begun   bool // the status was sent
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

// Write sends a part of the body. For a dropped rejection it does nothing and
// reports success.
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

// ping sends a comment in an event stream. Clients ignore comments.
func (w *responseWriter) ping() error { return w.send(": ping\n\n") }

// padJSON sends white space before a JSON response, where it has no meaning.
func (w *responseWriter) padJSON() error {
	w.Header().Set("Content-Type", api.TypeJSON)
	return w.send("\n")
}

// send writes text and flushes it. Any error is reported as ErrClientGone.
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
