package jobs

import (
	"slices"
	"unicode/utf8"

	"sluice/flow"
)

// Text that steps pass on is kept for those who come late or read slowly, in
// bytes. A step that says more is cut off there: its outputs tell the rest.
const (
	maxText    = 1 << 20 // of one step
	maxRunText = 4 << 20 // of all steps of a run that is worked on
)

// said is what the steps of a run passed on. Text is kept while its step works,
// and after that until every reader has it; readers come for it themselves, so
// a step never waits for one. It is guarded by the run.
type outputBuffer struct {
	workers int // who carry the run on; without one nothing is said
	texts   []*attemptText
	size    int // bytes kept of all texts
	started int // texts begun so far
}

// text is what one attempt of a step passed on.
type attemptText struct {
	path       string
	attempt    int
	buf        []byte
	number     int  // among the texts of the run
	truncated  bool // more came than is kept
	done       bool // nothing more comes
	stepEnded  bool // nor will there be another attempt
	joinedLate bool // of another instance: begun before this one heard of it
}

// reader is a watcher's place in the texts; the zero value reads none.
type textReader struct {
	notifications chan struct{}
	positions     map[string]position // by path
	startedBefore int                 // texts begun before it came
}

type position struct {
	attempt, offset int
	truncated       bool // it was told so
}

func newTextReader() textReader {
	return textReader{notifications: make(chan struct{}, 1), positions: map[string]position{}}
}

// enter gives a new reader what steps said that are still at work.
func (r *textReader) attach(s *outputBuffer) {
	if r.notifications == nil {
		return
	}
	r.startedBefore = s.started
	for _, t := range s.texts {
		if t.done {
			r.positions[t.path] = t.position()
		}
	}
	if len(s.texts) > 0 {
		notify(r.notifications)
	}
}

func (t *attemptText) position() position { return position{t.attempt, len(t.buf), t.truncated} }

// behind tells whether there is something of a text that the reader has not.
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

// read is Watch.Read.
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

// take moves the reader to the end of a text.
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

// emit is what the engine tells the text of steps. It costs a copy, whoever
// watches.
func (h *broker) emit(runID, path string, attempt int, s string) {
	l := h.find(runID)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.open(path, attempt); t != nil && l.append(t, s) {
		l.notifyReaders()
	}
}

// text finds or begins the text of an attempt; nil if that is over.
func (s *outputBuffer) open(path string, attempt int) *attemptText {
	t := s.find(path)
	switch {
	case s.workers == 0, t != nil && (attempt < t.attempt || attempt == t.attempt && t.done):
		return nil
	case t == nil:
		t = &attemptText{path: path}
		s.texts = append(s.texts, t)
	case attempt == t.attempt:
		return t
	}
	s.started++
	s.size -= len(t.buf)
	*t = attemptText{path: path, attempt: attempt, buf: t.buf[:0], number: s.started}
	return t
}

func (s *outputBuffer) find(path string) *attemptText {
	for _, t := range s.texts {
		if t.path == path {
			return t
		}
	}
	return nil
}

// keep appends what there is room for, in whole characters, and tells whether
// there is news.
func (s *outputBuffer) append(t *attemptText, more string) bool {
	if t.truncated {
		return false
	}
	if room := min(maxText-len(t.buf), maxRunText-s.size); len(more) > room {
		for room > 0 && !utf8.RuneStart(more[room]) {
			room--
		}
		more, t.truncated = more[:room], true
	}
	t.buf = append(t.buf, more...)
	s.size += len(more)
	return true
}

func (l *liveRun) notifyReaders() {
	for _, w := range l.watchers {
		if w.notifications != nil {
			notify(w.notifications)
		}
	}
}

// settle draws from recorded steps which texts are over, and voids those of
// attempts that others follow.
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

func (l *liveRun) wasRead(path string) bool {
	return slices.ContainsFunc(l.watchers, func(w *watcher) bool { return w.positions[path].attempt > 0 })
}

// sweep forgets texts that are over and that every reader has.
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

// begin notes that a worker has the run in its hands.
func (h *broker) workerStarted(runID string) *liveRun {
	l := h.acquire(runID)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers++
	l.ended = false
	h.updateMirror(l)
	return l
}

// finish notes that the worker let go of the run: whoever goes on with it
// starts its open steps again.
func (h *broker) workerStopped(runID string, l *liveRun) {
	l.workerStopped(h)
	h.release(runID, l)
}

func (l *liveRun) workerStopped(h *broker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.workers--; l.workers > 0 {
		return
	}
	l.endAll()
	l.notifyRelays()
	h.updateMirror(l)
}

// cut ends all texts: whoever goes on with the run begins others.
func (l *liveRun) endAll() {
	for _, t := range l.texts {
		t.done = true
	}
	l.evict()
}
