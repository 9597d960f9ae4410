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
	syncPatience = 500 * time.Millisecond
	// peerLookEvery is the shortest time between two searches for the instance that
	// works on a run.
	peerLookEvery = 100 * time.Millisecond
	// retryAtMost is the longest pause before connecting again.
	retryAtMost = 5 * time.Second
)

// mirror copies the text of a run that another instance works on. A run has one
// mirror for all its readers here, so two instances have one connection for it
// at most. It is guarded by the run.
type mirror struct {
	stop    context.CancelFunc
	drop    context.CancelFunc // ends the present connection; nil if there is none
	changes chan struct{}      // holds at most one poke
	arrived chan struct{}      // closed and replaced whenever text arrives or the state changes
	seq     int64              // of the newest piece
	idle    bool               // no other instance is known to work on the run
	stalled bool               // text did not arrive in time; readers do not wait for it
}

// adjust starts or stops the mirror of a run: it is needed while somebody here
// reads the text and no worker of this process has the run.
func (h *hub) adjust(l *liveRun) {
	if h.follow == nil {
		return
	}
	switch needed := l.workers == 0 && !l.ended && slices.ContainsFunc(l.watchers, (*watcher).mayRead); {
	case needed && l.mirror == nil:
		m := &mirror{changes: make(chan struct{}, 1), arrived: make(chan struct{})}
		l.mirror = m
		var ctx context.Context
		ctx, m.stop = context.WithCancel(context.Background())
		go h.follow(ctx, l, m)
	case !needed && l.mirror != nil:
		l.mirror.stop()
		l.mirror.wake()
		l.mirror = nil
		l.cut()
	}
}

func (w *watcher) mayRead() bool { return w.pokes != nil && w.relay == nil }

func (m *mirror) wake() {
	close(m.arrived)
	m.arrived = make(chan struct{})
}

// followText keeps a mirror connected to the instance that works on the run, as
// the run moves from one to another.
func (r *Runner) followText(ctx context.Context, l *liveRun, m *mirror) {
	defer context.AfterFunc(r.life, m.stop)()
	for wait := time.Duration(0); ctx.Err() == nil; {
		looked := time.Now()
		ok := r.mirrorOnce(ctx, l, m)
		l.mirrorLost(m, ok)
		if ok || time.Since(looked) > retryAtMost {
			wait = 0
		}
		if !ok {
			wait = min(max(2*wait, peerLookEvery), retryAtMost)
		}
		r.nextLook(ctx, m, wait)
		pause(ctx, time.Until(looked.Add(peerLookEvery)))
	}
}

// nextLook waits until the run was written, as it is after each change of hands,
// or until it is time to try again after an error; 0 is for no error.
func (r *Runner) nextLook(ctx context.Context, m *mirror, again time.Duration) {
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
func (r *Runner) mirrorOnce(ctx context.Context, l *liveRun, m *mirror) bool {
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
	m.drop, m.idle = drop, false
	l.mu.Unlock()
	err = r.cfg.Follow(connection, peer, l.id, func(p flow.PeerText) { l.mirrored(m, p) })
	if err != nil && ctx.Err() == nil {
		r.log.Debug("text of another instance", "run", l.id, "instance", peer.Instance, "error", err)
	}
	return err == nil
}

// mirrored takes in a piece of text.
func (l *liveRun) mirrored(m *mirror, p flow.PeerText) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mirror != m {
		return
	}
	for i := range p.Deltas {
		l.copyText(&p.Deltas[i])
	}
	for _, path := range p.Over {
		if t := l.find(path); t != nil {
			t.over, t.ended = true, true
		}
	}
	m.seq, m.stalled = max(m.seq, p.Seq), false
	m.wake()
	l.pokeReaders()
	l.sweep()
}

// copyText keeps what another instance keeps. On a new connection to it the
// text so far comes again; readers go on where they were, because the text of
// an attempt only grows.
func (s *said) copyText(d *flow.Delta) {
	t := s.find(d.Path)
	switch {
	case t != nil && d.Attempt < t.attempt:
		return
	case t == nil:
		t = &text{path: d.Path}
		s.texts = append(s.texts, t)
		fallthrough
	case d.Attempt > t.attempt:
		s.begun++
		s.size -= len(t.kept)
		*t = text{path: d.Path, attempt: d.Attempt, kept: t.kept[:0], number: s.begun, late: d.Reset}
	case d.Reset:
		s.size -= len(t.kept)
		t.kept = t.kept[:0]
	}
	t.over, t.truncated = false, false
	s.keep(t, d.Text)
	t.truncated = t.truncated || d.Truncated
}

// mirrorLost notes that a connection has ended, or that none was needed.
func (l *liveRun) mirrorLost(m *mirror, idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.drop, m.idle, m.seq = nil, idle, 0
	m.stalled = !idle
	m.wake()
	if l.mirror == m {
		l.cut()
		l.pokeReaders()
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
		arrived := l.missing(seq, steps)
		if arrived == nil {
			return
		}
		if over == nil {
			timer := time.NewTimer(syncPatience)
			defer timer.Stop()
			over = timer.C
		}
		select {
		case <-arrived:
		case <-over:
			l.giveUp()
		case <-ctx.Done():
			return
		}
	}
}

// missing returns nil if all text is here that was passed on before the event
// seq, else a channel that is closed when there is more. Once it is here, the
// steps tell which texts are over or void, as this process would learn from its
// own writes if it worked on the run.
func (l *liveRun) missing(seq int64, steps []flow.Step) <-chan struct{} {
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
			l.copyText(&flow.Delta{Path: s.Path, Attempt: s.Attempt})
		case t != nil && s.State.Ended() && t.attempt <= s.Attempt:
			t.over, t.ended = true, true
		}
	}
	l.sweep()
	return nil
}

// giveUp ends a connection on which nothing comes any more.
func (l *liveRun) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.mirror; m != nil {
		m.stalled = true
		if m.drop != nil {
			m.drop()
		}
	}
}

// relay is what a watcher has still to pass on to another instance.
type relay struct {
	over []string // paths of steps that have ended
	seq  int64    // that was passed on; -1 before the first piece
}

// relayEnd has relays pass on that nothing more comes of a step.
func (l *liveRun) relayEnd(path string) {
	for _, w := range l.watchers {
		if w.relay != nil {
			w.relay.over = append(w.relay.over, path)
		}
	}
}

func (l *liveRun) pokeRelays() {
	for _, w := range l.watchers {
		if w.relay != nil {
			poke(w.changes)
		}
	}
}

// loaded notes how far a run was recorded when a worker of this process took it.
func (h *hub) loaded(run *flow.Run) {
	l := h.find(run.ID)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq = max(l.seq, run.Seq)
	l.pokeRelays()
}

// ErrNotHere means that no worker of this process has the run.
var ErrNotHere = flow.Errorf(flow.CodeNotFound, "This instance does not work on the run.")

// gatherText is the shortest time between two pieces that hold only text. What
// was recorded is passed on at once.
const gatherText = 20 * time.Millisecond

// PassText passes the text of a run on to another instance: first all so far of
// the steps at work, then what follows, until no worker of this process has the
// run any more. It returns ErrNotHere if none has it, and the error of send.
func (r *Runner) PassText(ctx context.Context, runID string, send func(flow.PeerText) error) error {
	w := r.hub.add(runID, &watcher{changes: make(chan struct{}, 1), reader: newReader(), relay: &relay{seq: -1}})
	defer r.hub.leave(runID, w)
	if !w.worked() {
		return ErrNotHere
	}
	gather := time.NewTimer(gatherText)
	defer gather.Stop()
	for texts := w.pokes; ; {
		p, is, more := w.piece()
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
			gather.Reset(gatherText)
		}
		select {
		case <-texts:
		case <-w.changes:
		case <-gather.C:
			texts = w.pokes
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *watcher) worked() bool {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	return w.run.workers > 0
}

// piece takes what a relay has to pass on. is is false if that is nothing; more
// is false once no worker of this process has the run.
func (w *watcher) piece() (p flow.PeerText, is, more bool) {
	l := w.run
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.texts {
		if w.behind(t) {
			p.Deltas = append(p.Deltas, w.take(t))
		}
	}
	p.Over, w.relay.over, p.Seq = w.relay.over, nil, l.seq
	is = len(p.Deltas) > 0 || len(p.Over) > 0 || w.relay.seq != p.Seq
	w.relay.seq = p.Seq
	if is {
		l.sweep()
	}
	return p, is, l.workers > 0
}
