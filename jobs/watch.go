package jobs

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"sluice/flow"
)

// broker notifies those who watch a run of changes, and buffers the text that the
// steps at work emit. It holds no durable state: a notification only means that the
// store may have something newer. Runs are spread over shards to avoid contention
// on one lock.
//
// Notifications go to channels of capacity one without blocking, so they coalesce:
// many changes cause one notification if the watcher is slow.
//
// Lock order: a shard's before a run's.
type broker struct {
	seed   maphash.Seed
	shards [64]shard
	// runMirror copies the text of a run from the instance that works on it, until
	// ctx ends; nil if instances have no connections to each other.
	runMirror func(ctx context.Context, l *liveRun, m *mirror)
}

// shard holds a part of the watched runs under a lock of its own, so that runs rarely wait
// for each other.
type shard struct {
	mu   sync.RWMutex
	runs map[flow.RunID]*liveRun // by run ID
}

// liveRun is a run that this process watches or works on. It is forgotten with its
// last reference.
type liveRun struct {
	id   flow.RunID
	refs int // watchers and workers; guarded by the shard

	mu       sync.Mutex
	watchers []*watcher
	ended    bool    // this process recorded the end
	seq      int64   // number of the newest event that this process recorded, or read when it claimed the run
	mirror   *mirror // set while text may come from another instance
	outputBuffer
}

// watcher waits for changes of a run: an HTTP request, a dashboard page or another
// instance.
type watcher struct {
	run        *liveRun
	changes    chan struct{} // of capacity one
	ended      *flow.Run     // set once this process has recorded the end; guarded by the run
	relay      *relay        // set if the watcher streams text to another instance
	textReader               // reads nothing for watchers without text
}

// newBroker returns a broker without runs. Its seed assigns runs to shards.
func newBroker() *broker {
	b := &broker{seed: maphash.MakeSeed()}
	for i := range b.shards {
		b.shards[i].runs = map[flow.RunID]*liveRun{}
	}
	return b
}

// shard returns the shard of a run. The seed is random, so that no choice of IDs can put all
// runs into one shard.
func (b *broker) shard(runID flow.RunID) *shard {
	return &b.shards[maphash.String(b.seed, string(runID))%uint64(len(b.shards))]
}

// acquire returns the live run of an ID with another reference; release drops it.
func (b *broker) acquire(runID flow.RunID) *liveRun {
	s := b.shard(runID)
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

// release drops a reference to a run. The last one removes the run with its buffered text.
func (b *broker) release(runID flow.RunID, l *liveRun) {
	s := b.shard(runID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.refs--; l.refs == 0 {
		delete(s.runs, runID)
	}
}

// find returns nil for a run that this process neither watches nor works on.
func (b *broker) find(runID flow.RunID) *liveRun {
	s := b.shard(runID)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.runs[runID]
}

// watch adds a watcher without text.
func (b *broker) watch(runID flow.RunID) *watcher {
	return b.addWatcher(runID, &watcher{changes: make(chan struct{}, 1)})
}

// addWatcher subscribes a watcher to a run. The run need not be at work in this process.
func (b *broker) addWatcher(runID flow.RunID, w *watcher) *watcher {
	w.run = b.acquire(runID)
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	w.run.watchers = append(w.run.watchers, w)
	w.attach(&w.run.outputBuffer)
	b.updateMirror(w.run)
	return w
}

// removeWatcher undoes addWatcher. The texts that only this watcher had not read are
// dropped.
func (b *broker) removeWatcher(runID flow.RunID, w *watcher) {
	l := w.run
	defer b.release(runID, l) // after the run is unlocked: see the lock order
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers = slices.DeleteFunc(l.watchers, func(other *watcher) bool { return other == w })
	b.updateMirror(l)
	l.evict()
}

// notifyAll notifies the watchers of all runs. It is used when notifications of
// other instances may have been lost.
func (b *broker) notifyAll() {
	for i := range b.shards {
		s := &b.shards[i]
		s.mu.RLock()
		for _, l := range s.runs {
			l.mu.Lock()
			l.notify()
			l.mu.Unlock()
		}
		s.mu.RUnlock()
	}
}

// notify notifies the watchers of a run that another process may have written.
func (b *broker) notify(runID flow.RunID) {
	if l := b.find(runID); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.notify()
	}
}

// publish notifies the watchers of a run of a write that this process has
// committed.
func (b *broker) publish(w *flow.RunWrite) {
	l := b.find(w.Run.ID)
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

// notify wakes the watchers and the mirror of the run. The caller holds the lock of the run.
func (l *liveRun) notify() {
	for _, w := range l.watchers {
		notify(w.changes)
	}
	if l.mirror != nil {
		notify(l.mirror.changes)
	}
}

// notify sends to a channel of capacity one unless a notification is pending.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// endedRun returns the run as this process recorded its end, or nil.
func (w *watcher) endedRun() *flow.Run {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	return w.ended
}

// WatchRun follows a run without its text.
func (r *Runner) WatchRun(runID flow.RunID) flow.Watch {
	w := r.broker.watch(runID)
	return flow.Watch{Changes: w.changes, Stop: func() { r.broker.removeWatcher(runID, w) }}
}

// WatchText follows a run and its text. The text comes from this process if it
// works on the run, otherwise from the instance that does, if the two can connect.
func (r *Runner) WatchText(runID flow.RunID) flow.Watch {
	w := r.broker.addWatcher(runID, &watcher{changes: make(chan struct{}, 1), textReader: newTextReader()})
	return flow.Watch{Changes: w.changes, Texts: w.notifications, Read: w.read, Sync: w.sync, Stop: func() { r.broker.removeWatcher(runID, w) }}
}

// AwaitRun waits until the run has ended, or for at most limit, and returns it. An
// outage of the database during the wait is not an error.
func (r *Runner) AwaitRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID, limit time.Duration) (*flow.Run, error) {
	w := r.broker.watch(runID)
	defer r.broker.removeWatcher(runID, w)
	run, whole, err := r.store.FindRunHead(ctx, ws, flowID, runID)
	if limit > 0 && flow.IsBusy(err) {
		return r.await(ctx, w, &flow.Run{WorkspaceID: ws, FlowID: flowID, ID: runID}, limit)
	}
	if err != nil {
		return nil, err
	}
	if run.State.Ended() || limit <= 0 {
		if whole {
			return run, nil
		}
		return r.store.FindRun(ctx, ws, flowID, runID)
	}
	return r.await(ctx, w, run, limit)
}

// unavailableRetryInterval is the wait before reading again from an unavailable database.
const unavailableRetryInterval = 500 * time.Millisecond

// await waits for the end of a run that had not ended when it was last read. A run
// without a state has never been read, because the database was unavailable. If the
// database is unavailable when limit has passed, await returns the run as it was
// last read with its content, or the error if it never was.
func (r *Runner) await(ctx context.Context, w *watcher, run *flow.Run, limit time.Duration) (*flow.Run, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var retry <-chan time.Time // set after a read that failed
	if run.State == "" {
		retry = time.After(unavailableRetryInterval)
	}
	for {
		last := false
		select {
		case <-w.changes:
		case <-retry:
		case <-timer.C:
			last = true
		case <-r.drain: // shutting down: the caller may ask another instance
			last = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if ended := w.endedRun(); ended != nil {
			return ended, nil
		}
		if !last && !r.shared && retry == nil {
			continue // on SQLite only this process records the end
		}
		current, whole, err := r.store.FindRunHead(ctx, run.WorkspaceID, run.FlowID, run.ID)
		if err == nil && !whole && (current.State.Ended() || last) {
			current, err = r.store.FindRun(ctx, run.WorkspaceID, run.FlowID, run.ID)
		}
		switch {
		case flow.IsBusy(err) && last && run.Inputs != nil:
			return run, nil
		case flow.IsBusy(err) && last:
			return nil, err
		case flow.IsBusy(err):
			retry = time.After(unavailableRetryInterval)
			continue
		case err != nil || current.State.Ended() || last:
			return current, err
		}
		if !whole {
			current.Inputs, current.Outputs, current.Metadata = run.Inputs, run.Outputs, run.Metadata
		}
		run, retry = current, nil
	}
}
