package api

import (
	"fmt"
	"net/http"
	"sluice/handlers/web"
	"strings"
	"sync"
)

// agentAnswer is an answer of the SDK on its way out. It gives the peer a
// minute for each piece, keeps to itself what the SDK says in plain text of a
// request that it refuses, and can be pinged beside the SDK's own writes.
type agentAnswer struct {
	http.ResponseWriter
	mu      sync.Mutex
	begun   bool
	refused bool
}

// WriteHeader passes a status on unless it is a refusal in plain text.
func (a *agentAnswer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.begun || a.refused:
	case status >= 400 && strings.HasPrefix(a.Header().Get("Content-Type"), "text/plain"):
		a.refused = true
	default:
		a.begun = true
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write sends a piece.
func (a *agentAnswer) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused {
		return len(p), nil
	}
	a.begun = true
	web.LimitWrite(a.ResponseWriter)
	return a.ResponseWriter.Write(p)
}

// FlushError sends what was written so far.
func (a *agentAnswer) FlushError() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused {
		return nil
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// ping keeps an event stream open.
func (a *agentAnswer) ping() error { return a.send(": ping\n\n") }

// pad starts a JSON response with white space, which is insignificant.
func (a *agentAnswer) pad() error {
	a.Header().Set("Content-Type", typeJSON)
	return a.send("\n")
}

func (a *agentAnswer) send(text string) error {
	_, err := a.Write([]byte(text))
	if err == nil {
		err = a.FlushError()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}
