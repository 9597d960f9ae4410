package jobs

import (
	"context"
	"slices"
	"time"

	"sluice/flow"
)

const (
	// syncTimeout is how long a reader waits for text that the store says was
	// emitted. It bounds how long a frozen instance delays events.
	syncTimeout = 500 * time.Millisecond
	// minReconnectInterval and maxReconnectInterval bound the back-off between
	// attempts to connect to the instance that works on a run.
	minReconnectInterval = 100 * time.Millisecond
	maxReconnectInterval = 5 * time.Second
)

// mirror copies the text of a run from the instance that works on it. A run has one
// mirror for all its readers here, so two instances have at most one stream for it.
// The run's lock guards the fields below arrived.
type mirror struct {
	stop       context.CancelFunc // ends the mirror
	changes    chan struct{}      // of capacity one; notified when the run was written
	arrived    chan struct{}      // closed and replaced whenever text arrives or the state changes
	disconnect context.CancelFunc // ends the current connection; nil while disconnected
	seq        int64              // newest event whose preceding text has arrived
	idle       bool               // no other instance is known to work on the run
	stalled    bool               // text did not arrive in time; readers do not wait for it
}

// updateMirror starts or stops the mirror of a run. It is needed while somebody
// here reads the text and no worker of this process has the run.
func (b *broker) updateMirror(l *liveRun) {
	if b.runMirror == nil {
		return
	}
	switch needed := l.workers == 0 && !l.ended && slices.ContainsFunc(l.watchers, (*watcher).readsText); {
	case needed && l.mirror == nil:
		m := &mirror{changes: make(chan struct{}, 1), arrived: make(chan struct{})}
		l.mirror = m
		var ctx context.Context
		ctx, m.stop = context.WithCancel(context.Background())
		go b.runMirror(ctx, l, m)
	case !needed && l.mirror != nil:
		l.mirror.stop()
		l.mirror.signal()
		l.mirror = nil
		l.completeTexts()
	}
}

// readsText reports whether the watcher is a reader of this process; a relay reads
// for another one.
func (w *watcher) readsText() bool { return w.notifications != nil && w.relay == nil }

// signal wakes those who wait for text.
func (m *mirror) signal() {
	close(m.arrived)
	m.arrived = make(chan struct{})
}

// runMirror keeps a mirror connected to the instance that works on the run, while
// the run moves from one instance to another.
func (r *Runner) runMirror(ctx context.Context, l *liveRun, m *mirror) {
	defer context.AfterFunc(r.lifetime, m.stop)()
	for backOff := time.Duration(0); ctx.Err() == nil; {
		start := time.Now()
		ok := r.mirrorFrom(ctx, l, m)
		l.mirrorDisconnected(m, ok)
		if ok || time.Since(start) > maxReconnectInterval {
			backOff = 0
		}
		if !ok {
			backOff = min(max(2*backOff, minReconnectInterval), maxReconnectInterval)
		}
		awaitReconnect(ctx, m, backOff)
		sleep(ctx, time.Until(start.Add(minReconnectInterval)))
	}
}

// awaitReconnect waits until the run is written, which it is after each takeover, or
// until the back-off has passed. A back-off of 0 means that there was no error, so
// only a write is a reason to reconnect.
func awaitReconnect(ctx context.Context, m *mirror, backOff time.Duration) {
	var retry <-chan time.Time
	if backOff > 0 {
		timer := time.NewTimer(backOff)
		defer timer.Stop()
		retry = timer.C
	}
	select {
	case <-m.changes:
	case <-retry:
	case <-ctx.Done():
	}
}

// mirrorFrom finds the instance that works on the run and copies its text until
// that instance no longer has the run. It reports false after an error, which is a
// reason to retry.
func (r *Runner) mirrorFrom(ctx context.Context, l *liveRun, m *mirror) (ok bool) {
	peer, err := r.store.FindPeer(ctx, l.id)
	if err != nil {
		return false
	}
	if peer.Addr == "" || peer.Instance == r.cfg.Instance {
		return true
	}
	connCtx, disconnect := context.WithCancel(ctx)
	defer disconnect()
	l.mu.Lock()
	m.disconnect, m.idle = disconnect, false
	l.mu.Unlock()
	err = r.cfg.Follow(connCtx, peer, l.id, func(p flow.PeerText) { l.receive(m, p) })
	if err != nil && ctx.Err() == nil {
		r.log.Debug("lost the text stream of another instance", "run", l.id, "instance", peer.Instance, "error", err)
	}
	return err == nil
}

// receive applies text that arrived on the mirror's connection.
func (l *liveRun) receive(m *mirror, p flow.PeerText) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mirror != m { // stopped meanwhile
		return
	}
	for i := range p.Deltas {
		l.copyDelta(&p.Deltas[i])
	}
	for _, path := range p.Over {
		if t := l.find(path); t != nil {
			t.done, t.stepEnded = true, true
		}
	}
	m.seq, m.stalled = max(m.seq, p.Seq), false
	m.signal()
	l.notifyReaders()
	l.evict()
}

// copyDelta buffers text that another instance has buffered. A new connection
// repeats the text so far; readers keep their positions then, because the text of
// an attempt only grows.
func (b *outputBuffer) copyDelta(d *flow.Delta) {
	t := b.find(d.Path)
	switch {
	case t != nil && d.Attempt < t.attempt:
		return
	case t == nil || d.Attempt > t.attempt:
		t = b.start(t, d.Path, d.Attempt, d.Reset)
	case d.Reset:
		b.size -= len(t.buf)
		t.buf = t.buf[:0]
	}
	t.done, t.truncated = false, false
	b.append(t, d.Text)
	t.truncated = t.truncated || d.Truncated
}

// mirrorDisconnected records that a connection has ended, or that none was needed.
func (l *liveRun) mirrorDisconnected(m *mirror, idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.disconnect, m.idle, m.seq = nil, idle, 0
	m.stalled = !idle
	m.signal()
	if l.mirror == m {
		l.completeTexts()
		l.notifyReaders()
	}
}

// sync implements Watch.Sync: it waits until the text that was emitted before the
// newest event among the run and the steps has arrived, or for syncTimeout. Without
// it, a reader could learn from the store that a step has ended and miss the end of
// its text, which comes on another connection.
func (w *watcher) sync(ctx context.Context, run *flow.Run, steps []flow.Step) {
	l, seq := w.run, run.Seq
	for i := range steps {
		seq = max(seq, steps[i].Seq)
	}
	var timeout <-chan time.Time
	for {
		arrived := l.applyStepsOrWait(seq, steps)
		if arrived == nil {
			return
		}
		if timeout == nil {
			timer := time.NewTimer(syncTimeout)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-arrived:
		case <-timeout:
			l.stallMirror()
		case <-ctx.Done():
			return
		}
	}
}

// applyStepsOrWait applies steps that were read from the store, once all text that
// was emitted before the event seq has arrived, and returns nil. Until then it
// returns a channel that is closed when there is more. The steps say which texts are
// complete or replaced, as this process would learn from its own writes if it worked
// on the run.
func (l *liveRun) applyStepsOrWait(seq int64, steps []flow.Step) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.mirror
	if m == nil {
		return nil
	}
	if !m.idle && !m.stalled && m.seq < seq {
		return m.arrived
	}
	for i := range steps {
		s := &steps[i]
		t := l.find(s.Path)
		switch {
		case s.State == flow.StepRunning && s.Attempt > 1 && (t == nil || t.attempt < s.Attempt) && (t != nil || l.wasRead(s.Path)):
			l.copyDelta(&flow.Delta{Path: s.Path, Attempt: s.Attempt})
		case t != nil && s.State.Ended() && t.attempt <= s.Attempt:
			t.done, t.stepEnded = true, true
		}
	}
	l.evict()
	return nil
}

// stallMirror ends a connection on which text did not arrive in time.
func (l *liveRun) stallMirror() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.mirror; m != nil {
		m.stalled = true
		if m.disconnect != nil {
			m.disconnect()
		}
	}
}
