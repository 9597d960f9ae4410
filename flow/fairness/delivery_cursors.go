package fairness

import (
	"sync"

	"sluice/flow"
)

// DeliveryCursors holds the round-robin position of each workspace among its
// endpoints: the endpoint that was served last. It is safe for concurrent use.
type DeliveryCursors struct {
	mu    sync.Mutex
	after map[flow.WorkspaceID]string
}

// Of returns the endpoint of a workspace that was served last, or "".
func (t *DeliveryCursors) Of(ws flow.WorkspaceID) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.after[ws]
}

// Keep replaces all positions, so that workspaces without waiting deliveries
// are removed.
func (t *DeliveryCursors) Keep(after map[flow.WorkspaceID]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.after = after
}
