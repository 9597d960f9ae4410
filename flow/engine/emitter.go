package engine

import (
	"sync"

	"sluice/flow/redaction"
)

// emitter redacts secrets in streamed text before it passes the text on, also secrets that
// are split across two pieces. It is safe for concurrent use.
type emitter struct {
	secrets *redaction.Redactor
	emit    func(text string)
	mu      sync.Mutex
	pending string // redacted, except that its end may be the beginning of a secret
}

// write passes text on, except for a suffix that may be the beginning of a secret. That suffix
// is held back until more text arrives.
func (e *emitter) write(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending = e.secrets.Text(e.pending + text)
	e.flushBytes(len(e.pending) - e.secrets.Held(e.pending))
}

// flush passes on the text that was held back, because no more text follows.
func (e *emitter) flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.flushBytes(len(e.pending))
}

// flushBytes passes on the first n bytes of the pending text. The caller holds mu.
func (e *emitter) flushBytes(n int) {
	text := e.pending[:n]
	if e.pending = e.pending[n:]; text != "" {
		e.emit(text)
	}
}
