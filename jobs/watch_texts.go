package jobs

import (
	"slices"
	"unicode/utf8"

	"sluice/flow"
)

// Limits of the text that is buffered for readers who join late or read slowly, in
// bytes. Text beyond them is dropped and marked as truncated; the step's outputs
// are complete regardless.
const (
	maxText    = 1 << 20 // of one step
	maxRunText = 4 << 20 // of all steps of a run
)

// outputBuffer holds the text that the steps of a run have emitted. The text of a
// step is kept while the step runs, and after that until every reader has it.
// Readers fetch it themselves, so a step never waits for a reader. The run's lock
// guards it.
type outputBuffer struct {
	workers int // workers of this process that have the run; without one no text is accepted
	texts   []*attemptText
	size    int // bytes of all texts
	started int // number of texts started so far
}

// attemptText is the text of one attempt at a step. There is one per step: the text
// of the next attempt replaces it.
type attemptText struct {
	path       string
	attempt    int
	buf        []byte
	number     int  // ordinal among the texts of the run
	truncated  bool // text beyond the limits was dropped
	done       bool // the attempt emits nothing more
	stepEnded  bool // there will be no other attempt
	joinedLate bool // mirrored, and started before this instance connected
}

// textReader is a watcher's position in the texts; the zero value reads no text.
type textReader struct {
	notifications chan struct{}       // of capacity one; nil if the watcher reads no text
	positions     map[string]position // by path of the step
	startedBefore int                 // number of texts started before the reader joined
}

// position is how much of a text has been read.
type position struct {
	attempt, offset int
	truncated       bool // the reader knows that the text is truncated
}

// newTextReader returns a reader that starts at the beginning of each step's text.
func newTextReader() textReader {
	return textReader{notifications: make(chan struct{}, 1), positions: map[string]position{}}
}

// attach lets a new reader read the texts of the steps at work from their start.
func (r *textReader) attach(b *outputBuffer) {
	if r.notifications == nil {
		return
	}
	r.startedBefore = b.started
	for _, t := range b.texts {
		if t.done {
			r.positions[t.path] = t.position()
		}
	}
	if len(b.texts) > 0 {
		notify(r.notifications)
	}
}

// position returns the position after the end of the text.
func (t *attemptText) position() position { return position{t.attempt, len(t.buf), t.truncated} }

// hasUnread reports whether the reader has not read all of a text.
func (r *textReader) hasUnread(t *attemptText) bool {
	if r.notifications == nil {
		return false
	}
	p := r.positions[t.path]
	if p.attempt == 0 && len(t.buf) == 0 && !t.truncated {
		return false
	}
	return p != t.position()
}

// read implements Watch.Read.
func (w *watcher) read(ready func(path string, attempt int) bool) []flow.Delta {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	var list []flow.Delta
	for _, t := range w.run.texts {
		if w.hasUnread(t) && ready(t.path, t.attempt) {
			list = append(list, w.next(t))
		}
	}
	if list != nil {
		w.run.evict()
	}
	return list
}

// next returns the unread rest of a text and moves the reader to its end. The delta
// is a reset, which replaces the step's earlier text at the reader, if the reader
// has text of another attempt or joined after this one started.
func (r *textReader) next(t *attemptText) flow.Delta {
	d := flow.Delta{Path: t.path, Attempt: t.attempt, Truncated: t.truncated}
	p := r.positions[t.path]
	if p.attempt != t.attempt || p.offset > len(t.buf) {
		d.Reset = p.attempt != 0 || t.joinedLate || t.number <= r.startedBefore
		p.offset = 0
	}
	d.Text = string(t.buf[p.offset:])
	r.positions[t.path] = t.position()
	return d
}

// emit buffers text of a step. The engine calls it; the cost is one copy however
// many readers there are.
func (b *broker) emit(runID flow.RunID, path string, attempt int, s string) {
	l := b.find(runID)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.open(path, attempt); t != nil && l.append(t, s) {
		l.notifyReaders()
	}
}

// open returns the text of an attempt and starts it if it is new. It returns nil if
// the attempt is over or no worker of this process has the run.
func (b *outputBuffer) open(path string, attempt int) *attemptText {
	t := b.find(path)
	switch {
	case b.workers == 0, t != nil && (attempt < t.attempt || attempt == t.attempt && t.done):
		return nil
	case t != nil && attempt == t.attempt:
		return t
	}
	return b.start(t, path, attempt, false)
}

// start starts the text of an attempt. It replaces the step's previous text t, which
// is nil for the first.
func (b *outputBuffer) start(t *attemptText, path string, attempt int, joinedLate bool) *attemptText {
	if t == nil {
		t = &attemptText{}
		b.texts = append(b.texts, t)
	}
	b.started++
	b.size -= len(t.buf)
	*t = attemptText{path: path, attempt: attempt, buf: t.buf[:0], number: b.started, joinedLate: joinedLate}
	return t
}

// find returns the text of a step, or nil.
func (b *outputBuffer) find(path string) *attemptText {
	for _, t := range b.texts {
		if t.path == path {
			return t
		}
	}
	return nil
}

// append adds as many whole characters of s as the limits allow. It reports whether
// readers have something new, which may be that the text is truncated.
func (b *outputBuffer) append(t *attemptText, s string) bool {
	if t.truncated {
		return false
	}
	if free := min(maxText-len(t.buf), maxRunText-b.size); len(s) > free {
		for free > 0 && !utf8.RuneStart(s[free]) {
			free--
		}
		s, t.truncated = s[:free], true
	}
	t.buf = append(t.buf, s...)
	b.size += len(s)
	return true
}

// notifyReaders wakes the watchers that read the text of steps. The caller holds the lock
// of the run.
func (l *liveRun) notifyReaders() {
	for _, w := range l.watchers {
		if w.notifications != nil {
			notify(w.notifications)
		}
	}
}

// applySteps derives from committed steps which texts are complete, and replaces
// the text of failed attempts that are being retried by empty text.
func (l *liveRun) applySteps(steps []flow.Step) {
	for i := range steps {
		s := &steps[i]
		switch t := l.find(s.Path); {
		case s.State == flow.StepRunning && s.Attempt > 1:
			if t != nil || l.wasRead(s.Path) {
				l.open(s.Path, s.Attempt)
				l.notifyReaders()
			}
		case t != nil && s.State.Ended():
			t.done, t.stepEnded = true, true
			l.relayStepEnd(s.Path)
		}
	}
	l.evict()
}

// wasRead reports whether any reader has text of a step.
func (l *liveRun) wasRead(path string) bool {
	return slices.ContainsFunc(l.watchers, func(w *watcher) bool { return w.positions[path].attempt > 0 })
}

// evict drops the texts that are complete and that every reader has read.
func (l *liveRun) evict() {
	l.texts = slices.DeleteFunc(l.texts, func(t *attemptText) bool {
		if !t.done || slices.ContainsFunc(l.watchers, func(w *watcher) bool { return w.hasUnread(t) }) {
			return false
		}
		l.size -= len(t.buf)
		if t.stepEnded {
			for _, w := range l.watchers {
				delete(w.positions, t.path)
			}
		}
		return true
	})
}

// workerStarted registers a worker of this process that has claimed a run.
func (b *broker) workerStarted(runID flow.RunID) *liveRun {
	l := b.acquire(runID)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers++
	l.ended = false
	b.updateMirror(l)
	return l
}

// workerStopped undoes workerStarted. Unless the run has ended, its next worker
// starts the open steps again.
func (b *broker) workerStopped(runID flow.RunID, l *liveRun) {
	defer b.release(runID, l) // after the run is unlocked: see the lock order
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.workers--; l.workers > 0 {
		return
	}
	l.completeTexts()
	l.notifyRelays()
	b.updateMirror(l)
}

// completeTexts marks all texts as complete. The next worker of the run, here or
// elsewhere, starts new ones.
func (l *liveRun) completeTexts() {
	for _, t := range l.texts {
		t.done = true
	}
	l.evict()
}
