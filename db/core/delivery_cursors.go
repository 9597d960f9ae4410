package core

import "sync"

// deliveryCursors holds the round-robin position of each workspace among its
// endpoints: the endpoint that was served last. It is safe for concurrent use.
type deliveryCursors struct {
	mu    sync.Mutex
	after map[string]string
}

// Of returns the endpoint of a workspace that was served last, or "".
func (t *deliveryCursors) Of(ws string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.after[ws]
}

// Keep replaces all positions, so that workspaces without waiting deliveries
// are removed.
func (t *deliveryCursors) Keep(after map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.after = after
}
