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
type said struct {
	workers int // who carry the run on; without one nothing is said
	texts   []*text
	size    int // bytes kept of all texts
	begun   int // texts begun so far
}

// text is what one attempt of a step passed on.
type text struct {
	path      string
	attempt   int
	kept      []byte
	number    int  // among the texts of the run
	truncated bool // more came than is kept
	over      bool // nothing more comes
	ended     bool // nor will there be another attempt
	late      bool // of another instance: begun before this one heard of it
}

// reader is a watcher's place in the texts; the zero value reads none.
type reader struct {
	pokes  chan struct{}
	places map[string]place // by path
	joined int              // texts begun before it came
}

type place struct {
	attempt, at int
	truncated   bool // it was told so
}

func newReader() reader {
	return reader{pokes: make(chan struct{}, 1), places: map[string]place{}}
}

// enter gives a new reader what steps said that are still at work.
func (r *reader) enter(s *said) {
	if r.pokes == nil {
		return
	}
	r.joined = s.begun
	for _, t := range s.texts {
		if t.over {
			r.places[t.path] = t.end()
		}
	}
	if len(s.texts) > 0 {
		poke(r.pokes)
	}
}

func (t *text) end() place { return place{t.attempt, len(t.kept), t.truncated} }

// behind tells whether there is something of a text that the reader has not.
func (r *reader) behind(t *text) bool {
	if r.pokes == nil {
		return false
	}
	p := r.places[t.path]
	if p.attempt == 0 && len(t.kept) == 0 && !t.truncated {
		return false
	}
	return p != t.end()
}

// read is Watch.Read.
func (w *watcher) read(ready func(path string, attempt int) bool) []flow.Delta {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	var list []flow.Delta
	for _, t := range w.run.texts {
		if w.behind(t) && ready(t.path, t.attempt) {
			list = append(list, w.take(t))
		}
	}
	if list != nil {
		w.run.sweep()
	}
	return list
}

// take moves the reader to the end of a text.
func (r *reader) take(t *text) flow.Delta {
	d := flow.Delta{Path: t.path, Attempt: t.attempt, Truncated: t.truncated}
	p := r.places[t.path]
	if p.attempt != t.attempt || p.at > len(t.kept) {
		d.Reset = p.attempt != 0 || t.late || t.number <= r.joined
		p.at = 0
	}
	d.Text = string(t.kept[p.at:])
	r.places[t.path] = t.end()
	return d
}

// emit is what the engine tells the text of steps. It costs a copy, whoever
// watches.
func (h *hub) emit(runID, path string, attempt int, s string) {
	l := h.find(runID)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.text(path, attempt); t != nil && l.keep(t, s) {
		l.pokeReaders()
	}
}

// text finds or begins the text of an attempt; nil if that is over.
func (s *said) text(path string, attempt int) *text {
	t := s.find(path)
	switch {
	case s.workers == 0, t != nil && (attempt < t.attempt || attempt == t.attempt && t.over):
		return nil
	case t == nil:
		t = &text{path: path}
		s.texts = append(s.texts, t)
	case attempt == t.attempt:
		return t
	}
	s.begun++
	s.size -= len(t.kept)
	*t = text{path: path, attempt: attempt, kept: t.kept[:0], number: s.begun}
	return t
}

func (s *said) find(path string) *text {
	for _, t := range s.texts {
		if t.path == path {
			return t
		}
	}
	return nil
}

// keep appends what there is room for, in whole characters, and tells whether
// there is news.
func (s *said) keep(t *text, more string) bool {
	if t.truncated {
		return false
	}
	if room := min(maxText-len(t.kept), maxRunText-s.size); len(more) > room {
		for room > 0 && !utf8.RuneStart(more[room]) {
			room--
		}
		more, t.truncated = more[:room], true
	}
	t.kept = append(t.kept, more...)
	s.size += len(more)
	return true
}

func (l *liveRun) pokeReaders() {
	for _, w := range l.watchers {
		if w.pokes != nil {
			poke(w.pokes)
		}
	}
}

// settle draws from recorded steps which texts are over, and voids those of
// attempts that others follow.
func (l *liveRun) settle(steps []flow.Step) {
	for i := range steps {
		s := &steps[i]
		switch t := l.find(s.Path); {
		case s.State == flow.StepRunning && s.Attempt > 1:
			if t != nil || l.wasRead(s.Path) {
				l.text(s.Path, s.Attempt)
				l.pokeReaders()
			}
		case t != nil && s.State.Ended():
			t.over, t.ended = true, true
			l.relayEnd(s.Path)
		}
	}
	l.sweep()
}

func (l *liveRun) wasRead(path string) bool {
	return slices.ContainsFunc(l.watchers, func(w *watcher) bool { return w.places[path].attempt > 0 })
}

// sweep forgets texts that are over and that every reader has.
func (l *liveRun) sweep() {
	l.texts = slices.DeleteFunc(l.texts, func(t *text) bool {
		if !t.over || slices.ContainsFunc(l.watchers, func(w *watcher) bool { return w.behind(t) }) {
			return false
		}
		l.size -= len(t.kept)
		if t.ended {
			for _, w := range l.watchers {
				delete(w.places, t.path)
			}
		}
		return true
	})
}

// begin notes that a worker has the run in its hands.
func (h *hub) begin(runID string) *liveRun {
	l := h.join(runID)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers++
	l.ended = false
	h.adjust(l)
	return l
}

// finish notes that the worker let go of the run: whoever goes on with it
// starts its open steps again.
func (h *hub) finish(runID string, l *liveRun) {
	l.abandon(h)
	h.part(runID, l)
}

func (l *liveRun) abandon(h *hub) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.workers--; l.workers > 0 {
		return
	}
	l.cut()
	l.pokeRelays()
	h.adjust(l)
}

// cut ends all texts: whoever goes on with the run begins others.
func (l *liveRun) cut() {
	for _, t := range l.texts {
		t.over = true
	}
	l.sweep()
}
