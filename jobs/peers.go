package jobs

import (
	"context"
	"slices"
	"time"

	"sluice/flow"
)

// How a mirror of another instance's text behaves.
const (
	// syncPatience is how long a reader waits for text that the store says is
	// complete. It bounds how long a frozen instance delays events.
	syncTimeout = 500 * time.Millisecond
	// peerLookEvery is the shortest time between two searches for the instance that
	// works on a run.
	minReconnectInterval = 100 * time.Millisecond
	// retryAtMost is the longest pause before connecting again.
	maxReconnectInterval = 5 * time.Second
)

// mirror copies the text of a run that another instance works on. A run has one
// mirror for all its readers here, so two instances have one connection for it
// at most. It is guarded by the run.
type mirror struct {
	stop       context.CancelFunc
	disconnect context.CancelFunc // ends the present connection; nil if there is none
	changes    chan struct{}      // holds at most one poke
	arrived    chan struct{}      // closed and replaced whenever text arrives or the state changes
	seq        int64              // of the newest piece
	idle       bool               // no other instance is known to work on the run
	stalled    bool               // text did not arrive in time; readers do not wait for it
}

// adjust starts or stops the mirror of a run: it is needed while somebody here
// reads the text and no worker of this process has the run.
func (h *broker) updateMirror(l *liveRun) {
	if h.runMirror == nil {
		return
	}
	switch needed := l.workers == 0 && !l.ended && slices.ContainsFunc(l.watchers, (*watcher).readsText); {
	case needed && l.mirror == nil:
		m := &mirror{changes: make(chan struct{}, 1), arrived: make(chan struct{})}
		l.mirror = m
		var ctx context.Context
		ctx, m.stop = context.WithCancel(context.Background())
		go h.runMirror(ctx, l, m)
	case !needed && l.mirror != nil:
		l.mirror.stop()
		l.mirror.signal()
		l.mirror = nil
		l.endAll()
	}
}

func (w *watcher) readsText() bool { return w.notifications != nil && w.relay == nil }

func (m *mirror) signal() {
	close(m.arrived)
	m.arrived = make(chan struct{})
}

// followText keeps a mirror connected to the instance that works on the run, as
// the run moves from one to another.
func (r *Runner) runMirror(ctx context.Context, l *liveRun, m *mirror) {
	defer context.AfterFunc(r.lifetime, m.stop)()
	for wait := time.Duration(0); ctx.Err() == nil; {
		looked := time.Now()
		ok := r.mirrorFrom(ctx, l, m)
		l.mirrorDisconnected(m, ok)
		if ok || time.Since(looked) > maxReconnectInterval {
			wait = 0
		}
		if !ok {
			wait = min(max(2*wait, minReconnectInterval), maxReconnectInterval)
		}
		r.awaitReconnect(ctx, m, wait)
		sleep(ctx, time.Until(looked.Add(minReconnectInterval)))
	}
}

// nextLook waits until the run was written, as it is after each change of hands,
// or until it is time to try again after an error; 0 is for no error.
func (r *Runner) awaitReconnect(ctx context.Context, m *mirror, again time.Duration) {
	var retry <-chan time.Time
	if again > 0 {
		timer := time.NewTimer(again)
		defer timer.Stop()
		retry = timer.C
	}
	select {
	case <-m.changes:
	case <-retry:
	case <-ctx.Done():
	}
}

// mirrorOnce copies text from the instance that works on the run for as long as
// that has it. It reports whether there is nothing to try again.
func (r *Runner) mirrorFrom(ctx context.Context, l *liveRun, m *mirror) bool {
	peer, err := r.store.FindPeer(ctx, l.id)
	if err != nil {
		return false
	}
	if peer.Addr == "" || peer.Instance == r.cfg.Instance {
		return true
	}
	connection, drop := context.WithCancel(ctx)
	defer drop()
	l.mu.Lock()
	m.disconnect, m.idle = drop, false
	l.mu.Unlock()
	err = r.cfg.Follow(connection, peer, l.id, func(p flow.PeerText) { l.receive(m, p) })
	if err != nil && ctx.Err() == nil {
		r.log.Debug("text of another instance", "run", l.id, "instance", peer.Instance, "error", err)
	}
	return err == nil
}

// mirrored takes in a piece of text.
func (l *liveRun) receive(m *mirror, p flow.PeerText) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mirror != m {
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

// copyText keeps what another instance keeps. On a new connection to it the
// text so far comes again; readers go on where they were, because the text of
// an attempt only grows.
func (s *outputBuffer) copyDelta(d *flow.Delta) {
	t := s.find(d.Path)
	switch {
	case t != nil && d.Attempt < t.attempt:
		return
	case t == nil:
		t = &attemptText{path: d.Path}
		s.texts = append(s.texts, t)
		fallthrough
	case d.Attempt > t.attempt:
		s.started++
		s.size -= len(t.buf)
		*t = attemptText{path: d.Path, attempt: d.Attempt, buf: t.buf[:0], number: s.started, joinedLate: d.Reset}
	case d.Reset:
		s.size -= len(t.buf)
		t.buf = t.buf[:0]
	}
	t.done, t.truncated = false, false
	s.append(t, d.Text)
	t.truncated = t.truncated || d.Truncated
}

// mirrorLost notes that a connection has ended, or that none was needed.
func (l *liveRun) mirrorDisconnected(m *mirror, idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.disconnect, m.idle, m.seq = nil, idle, 0
	m.stalled = !idle
	m.signal()
	if l.mirror == m {
		l.endAll()
		l.notifyReaders()
	}
}

// sync is Watch.Sync.
func (w *watcher) sync(ctx context.Context, run *flow.Run, steps []flow.Step) {
	l, seq := w.run, run.Seq
	for i := range steps {
		seq = max(seq, steps[i].Seq)
	}
	var over <-chan time.Time
	for {
		arrived := l.applyStepsOrWait(seq, steps)
		if arrived == nil {
			return
		}
		if over == nil {
			timer := time.NewTimer(syncTimeout)
			defer timer.Stop()
			over = timer.C
		}
		select {
		case <-arrived:
		case <-over:
			l.stallMirror()
		case <-ctx.Done():
			return
		}
	}
}

// missing returns nil if all text is here that was passed on before the event
// seq, else a channel that is closed when there is more. Once it is here, the
// steps tell which texts are over or void, as this process would learn from its
// own writes if it worked on the run.
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

// giveUp ends a connection on which nothing comes any more.
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

// relay is what a watcher has still to pass on to another instance.
type relay struct {
	endedSteps []string // paths of steps that have ended
	sentSeq    int64    // that was passed on; -1 before the first piece
}

// relayEnd has relays pass on that nothing more comes of a step.
func (l *liveRun) relayStepEnd(path string) {
	for _, w := range l.watchers {
		if w.relay != nil {
			w.relay.endedSteps = append(w.relay.endedSteps, path)
		}
	}
}

func (l *liveRun) notifyRelays() {
	for _, w := range l.watchers {
		if w.relay != nil {
			notify(w.changes)
		}
	}
}

// loaded notes how far a run was recorded when a worker of this process took it.
func (h *broker) runLoaded(run *flow.Run) {
	l := h.find(run.ID)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq = max(l.seq, run.Seq)
	l.notifyRelays()
}

// ErrNotHere means that no worker of this process has the run.
var errRunNotHere = flow.Errorf(flow.CodeNotFound, "This instance does not work on the run.")

// gatherText is the shortest time between two pieces that hold only text. What
// was recorded is passed on at once.
const textBatchInterval = 20 * time.Millisecond

// PassText passes the text of a run on to another instance: first all so far of
// the steps at work, then what follows, until no worker of this process has the
// run any more. It returns ErrNotHere if none has it, and the error of send.
func (r *Runner) StreamText(ctx context.Context, runID string, send func(flow.PeerText) error) error {
	w := r.broker.addWatcher(runID, &watcher{changes: make(chan struct{}, 1), textReader: newTextReader(), relay: &relay{sentSeq: -1}})
	defer r.broker.removeWatcher(runID, w)
	if !w.hasWorker() {
		return errRunNotHere
	}
	gather := time.NewTimer(textBatchInterval)
	defer gather.Stop()
	for texts := w.notifications; ; {
		p, is, more := w.nextPeerText()
		if is {
			if err := send(p); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		if len(p.Deltas) > 0 {
			texts = nil
			gather.Reset(textBatchInterval)
		}
		select {
		case <-texts:
		case <-w.changes:
		case <-gather.C:
			texts = w.notifications
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *watcher) hasWorker() bool {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	return w.run.workers > 0
}

// piece takes what a relay has to pass on. is is false if that is nothing; more
// is false once no worker of this process has the run.
func (w *watcher) nextPeerText() (p flow.PeerText, is, more bool) {
	l := w.run
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.texts {
		if w.hasUnread(t) {
			p.Deltas = append(p.Deltas, w.next(t))
		}
	}
	p.Over, w.relay.endedSteps, p.Seq = w.relay.endedSteps, nil, l.seq
	is = len(p.Deltas) > 0 || len(p.Over) > 0 || w.relay.sentSeq != p.Seq
	w.relay.sentSeq = p.Seq
	if is {
		l.evict()
	}
	return p, is, l.workers > 0
}
