package core

import "sync"

// lineTurns holds the round-robin position of each workspace: the endpoint that
// was served last.
type lineTurns struct {
	mu    sync.Mutex
	after map[string]string
}

func (t *lineTurns) Of(ws string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.after[ws]
}

// Keep replaces all positions, so that workspaces without waiting deliveries
// are removed.
func (t *lineTurns) Keep(after map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.after = after
}
