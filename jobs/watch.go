package jobs

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"sluice/flow"
)

// hub knows who waits for which run, and what the steps of runs that are worked
// on here say meanwhile. It holds no truth: a poke only says that the store has
// something newer. Runs are spread over shards, so that they do not wait for
// each other.
type broker struct {
	seed   maphash.Seed
	shards [64]shard
	// follow mirrors text of another instance into a run until ctx ends; nil
	// where instances have no connections to each other.
	runMirror func(ctx context.Context, l *liveRun, m *mirror)
}

type shard struct {
	mu   sync.RWMutex
	runs map[string]*liveRun
}

// liveRun is a run that somebody here watches or works on. It is forgotten when
// the last of them has gone.
type liveRun struct {
	id   string
	refs int // who joined and did not part; guarded by the shard

	mu       sync.Mutex
	watchers []*watcher
	ended    bool    // this process recorded the end
	seq      int64   // number of the newest event that this process recorded or read when it took the run
	mirror   *mirror // set while text may come from another instance
	outputBuffer
}

type watcher struct {
	run        *liveRun
	changes    chan struct{} // holds at most one poke
	ended      *flow.Run     // set when this process recorded the end; guarded by the run
	relay      *relay        // set if it passes text on to another instance
	textReader               // of text
}

func newBroker() *broker {
	h := &broker{seed: maphash.MakeSeed()}
	for i := range h.shards {
		h.shards[i].runs = map[string]*liveRun{}
	}
	return h
}

func (h *broker) shard(runID string) *shard {
	return &h.shards[maphash.String(h.seed, runID)%uint64(len(h.shards))]
}

func (h *broker) acquire(runID string) *liveRun {
	s := h.shard(runID)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.runs[runID]
	if l == nil {
		l = &liveRun{id: runID}
		s.runs[runID] = l
	}
	l.refs++
	return l
}

func (h *broker) release(runID string, l *liveRun) {
	s := h.shard(runID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.refs--; l.refs == 0 {
		delete(s.runs, runID)
	}
}

// find returns nil for a run that nobody here watches or works on.
func (h *broker) find(runID string) *liveRun {
	s := h.shard(runID)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.runs[runID]
}

func (h *broker) watch(runID string) *watcher {
	return h.addWatcher(runID, &watcher{changes: make(chan struct{}, 1)})
}

func (h *broker) addWatcher(runID string, w *watcher) *watcher {
	w.run = h.acquire(runID)
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	w.run.watchers = append(w.run.watchers, w)
	w.attach(&w.run.outputBuffer)
	h.updateMirror(w.run)
	return w
}

func (h *broker) removeWatcher(runID string, w *watcher) {
	w.run.removeWatcher(h, w)
	h.release(runID, w.run)
}

func (l *liveRun) removeWatcher(h *broker, w *watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.watchers {
		if l.watchers[i] == w {
			l.watchers = append(l.watchers[:i:i], l.watchers[i+1:]...)
			break
		}
	}
	h.updateMirror(l)
	l.evict()
}

// pokeAll tells everybody: anything may have been written.
func (h *broker) notifyAll() {
	for i := range h.shards {
		h.shards[i].notifyAll()
	}
}

func (s *shard) notifyAll() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, l := range s.runs {
		l.mu.Lock()
		l.notify()
		l.mu.Unlock()
	}
}

// poke tells all watchers of a run that another process may have written it.
func (h *broker) notify(runID string) {
	if l := h.find(runID); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.notify()
	}
}

// recorded tells all watchers of a run what this process has written.
func (h *broker) publish(w *flow.RunWrite) {
	l := h.find(w.Run.ID)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq = max(l.seq, w.Run.Seq)
	l.applySteps(w.Steps)
	if w.End {
		l.ended = true
		for _, watcher := range l.watchers {
			watcher.ended = w.Run
		}
	}
	l.notify()
}

func (l *liveRun) notify() {
	for _, w := range l.watchers {
		notify(w.changes)
	}
	if l.mirror != nil {
		notify(l.mirror.changes)
	}
}

func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (w *watcher) endedRun() *flow.Run {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	return w.ended
}

// WatchRun follows a run without its text.
func (r *Runner) WatchRun(runID string) flow.Watch {
	w := r.broker.watch(runID)
	return flow.Watch{Changes: w.changes, Stop: func() { r.broker.removeWatcher(runID, w) }}
}

// WatchText follows a run and its text. The text comes from this process if it
// works on the run, else from the instance that does, if the two can connect.
func (r *Runner) WatchText(runID string) flow.Watch {
	w := r.broker.addWatcher(runID, &watcher{changes: make(chan struct{}, 1), textReader: newTextReader()})
	return flow.Watch{Changes: w.changes, Texts: w.notifications, Read: w.read, Sync: w.sync, Stop: func() { r.broker.removeWatcher(runID, w) }}
}

// AwaitRun returns the run once it has ended, or as it is after the limit. An
// outage of the database during the wait does not end it.
func (r *Runner) AwaitRun(ctx context.Context, ws, flowID, runID string, limit time.Duration) (*flow.Run, error) {
	w := r.broker.watch(runID)
	defer r.broker.removeWatcher(runID, w)
	run, err := r.store.FindRun(ctx, ws, flowID, runID)
	if limit > 0 && flow.IsUnavailable(err) {
		return r.await(ctx, w, &flow.Run{WorkspaceID: ws, FlowID: flowID, ID: runID}, limit)
	}
	if err != nil || run.State.Ended() || limit <= 0 {
		return run, err
	}
	return r.await(ctx, w, run, limit)
}

// missedPause is the wait after a look at a database that is away.
const unavailablePause = 500 * time.Millisecond

// await waits for the end of a run that was open when it was last read; one
// without a state was never read. If the database is away at the end of the
// limit, it returns the run as it was last read, if it was.
func (r *Runner) await(ctx context.Context, w *watcher, run *flow.Run, limit time.Duration) (*flow.Run, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var missed <-chan time.Time // set after a look that failed
	if run.State == "" {
		missed = time.After(unavailablePause)
	}
	for {
		late := false
		select {
		case <-w.changes:
		case <-missed:
		case <-timer.C:
			late = true
		case <-r.drain: // shutting down: the caller may ask again elsewhere
			late = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if ended := w.endedRun(); ended != nil {
			return ended, nil
		}
		if !late && !r.shared && missed == nil {
			continue // on SQLite this process itself records the end
		}
		now, err := r.store.FindRun(ctx, run.WorkspaceID, run.FlowID, run.ID)
		switch {
		case flow.IsUnavailable(err) && late && run.State != "":
			return run, nil
		case flow.IsUnavailable(err) && late:
			return nil, err
		case flow.IsUnavailable(err):
			missed = time.After(unavailablePause)
			continue
		case err != nil || now.State.Ended() || late:
			return now, err
		}
		run, missed = now, nil
	}
}
