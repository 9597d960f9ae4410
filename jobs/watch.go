package jobs

import (
	"context"
	"sync"
	"time"

	"sluice/flow"
)

// hub knows who waits for which run. It holds no truth: a poke only says that
// the store has something newer.
type hub struct {
	mu       sync.Mutex
	watchers map[string][]*watcher
}

type watcher struct {
	changes chan struct{} // holds at most one poke
	mu      sync.Mutex
	ended   *flow.Run // set when this process recorded the end
}

func newHub() *hub { return &hub{watchers: map[string][]*watcher{}} }

func (h *hub) watch(runID string) *watcher {
	w := &watcher{changes: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[runID] = append(h.watchers[runID], w)
	return w
}

func (h *hub) leave(runID string, w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.watchers[runID]
	for i := range list {
		if list[i] == w {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(h.watchers, runID)
	} else {
		h.watchers[runID] = list
	}
}

// pokeAll tells everybody: anything may have been written.
func (h *hub) pokeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.watchers {
		h.pokeLocked(id, nil)
	}
}

// poke tells all watchers of a run; ended is the run if this was its end.
func (h *hub) poke(runID string, ended *flow.Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pokeLocked(runID, ended)
}

func (h *hub) pokeLocked(runID string, ended *flow.Run) {
	for _, w := range h.watchers[runID] {
		if ended != nil {
			w.mu.Lock()
			w.ended = ended
			w.mu.Unlock()
		}
		select {
		case w.changes <- struct{}{}:
		default:
		}
	}
}

func (w *watcher) end() *flow.Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// WatchRun pokes changes whenever the run may have changed; many changes may
// become one poke. stop must be called.
func (r *Runner) WatchRun(runID string) (changes <-chan struct{}, stop func()) {
	w := r.hub.watch(runID)
	return w.changes, func() { r.hub.leave(runID, w) }
}

// AwaitRun returns the run once it has ended, or as it is after the limit.
func (r *Runner) AwaitRun(ctx context.Context, ws, flowID, runID string, limit time.Duration) (*flow.Run, error) {
	w := r.hub.watch(runID)
	defer r.hub.leave(runID, w)
	run, err := r.store.FindRun(ctx, ws, flowID, runID)
	if err != nil || run.State.Ended() || limit <= 0 {
		return run, err
	}
	return r.await(ctx, w, run, limit)
}

// await waits for the end of a run that was open when it was last read.
func (r *Runner) await(ctx context.Context, w *watcher, run *flow.Run, limit time.Duration) (*flow.Run, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		late := false
		select {
		case <-w.changes:
		case <-timer.C:
			late = true
		case <-r.hold: // shutting down: the caller may ask again elsewhere
			late = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if ended := w.end(); ended != nil {
			return ended, nil
		}
		if !late && !r.shared {
			continue // on SQLite this process itself records the end
		}
		now, err := r.store.FindRun(ctx, run.WorkspaceID, run.FlowID, run.ID)
		if err != nil || now.State.Ended() || late {
			return now, err
		}
	}
}
