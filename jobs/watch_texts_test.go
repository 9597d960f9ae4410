package jobs

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/flow"
)

const run = "run_1"

func all(string, int) bool { return true }

// listen watches the run of these tests for text.
func (h *hub) listen() *watcher {
	return h.add(run, &watcher{changes: make(chan struct{}, 1), reader: newReader()})
}

// record is what the Runner tells after a write.
func (h *hub) record(state flow.StepState, path string, attempt int) {
	h.recorded(&flow.RunWrite{Run: &flow.Run{ID: run}, Steps: []flow.Step{{Path: path, State: state, Attempt: attempt}}})
}

// wantText reads once and compares, written as path/attempt text and ! for a
// reset, … for a cut.
func wantText(t *testing.T, w *watcher, want ...string) {
	t.Helper()
	got := []string{}
	for _, d := range w.read(all) {
		s := fmt.Sprintf("%s/%d %s", d.Path, d.Attempt, d.Text)
		if d.Reset {
			s = "!" + s
		}
		if d.Truncated {
			s += "…"
		}
		got = append(got, s)
	}
	if !slices.Equal(got, want) {
		t.Errorf("read %q, wanted %q", got, want)
	}
}

func wantPoke(t *testing.T, w *watcher, want bool) {
	t.Helper()
	select {
	case <-w.pokes:
		if !want {
			t.Error("the reader was poked")
		}
	default:
		if want {
			t.Error("the reader was not poked")
		}
	}
}

// wantKept compares how much of the run's text is kept.
func wantKept(t *testing.T, l *liveRun, texts, size int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.texts) != texts || l.size != size {
		t.Errorf("%d texts of %d bytes are kept, wanted %d of %d", len(l.texts), l.size, texts, size)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, h *hub, l *liveRun){
		"gathers what was not read": func(t *testing.T, h *hub, _ *liveRun) {
			w := h.listen()
			wantPoke(t, w, false)
			h.emit(run, "a", 1, "one ")
			h.emit(run, "a", 1, "two ")
			wantPoke(t, w, true)
			wantText(t, w, "a/1 one two ")
			wantText(t, w)
			h.emit(run, "a", 1, "three")
			wantPoke(t, w, true)
			wantText(t, w, "a/1 three")
		},
		"tells who comes late all that was said": func(t *testing.T, h *hub, _ *liveRun) {
			h.emit(run, "a", 1, "one ")
			w := h.listen()
			wantPoke(t, w, true)
			h.emit(run, "a", 1, "two ")
			h.emit(run, "b", 1, "new")
			wantText(t, w, "!a/1 one two ", "b/1 new")
			h.emit(run, "a", 1, "three")
			wantText(t, w, "a/1 three")
		},
		"keeps what the reader is not ready for": func(t *testing.T, h *hub, _ *liveRun) {
			w := h.listen()
			h.emit(run, "a", 1, "one")
			h.emit(run, "b", 1, "two")
			if got := w.read(func(path string, _ int) bool { return path == "b" }); len(got) != 1 || got[0].Text != "two" {
				t.Errorf("read %+v", got)
			}
			wantText(t, w, "a/1 one")
		},
		"voids the text of an earlier attempt": func(t *testing.T, h *hub, l *liveRun) {
			w := h.listen()
			h.emit(run, "a", 1, "wrong")
			wantText(t, w, "a/1 wrong")
			h.record(flow.StepRetrying, "a", 1)
			<-w.pokes
			h.record(flow.StepRunning, "a", 2)
			wantPoke(t, w, true)
			wantText(t, w, "!a/2 ")
			h.emit(run, "a", 1, "late")
			wantPoke(t, w, false)
			h.emit(run, "a", 2, "right")
			wantText(t, w, "a/2 right")
			wantKept(t, l, 1, len("right"))
		},
		"voids unread text as well": func(t *testing.T, h *hub, _ *liveRun) {
			w := h.listen()
			h.emit(run, "a", 1, "wrong")
			h.record(flow.StepRunning, "a", 2)
			wantText(t, w)
			h.emit(run, "a", 2, "right")
			wantText(t, w, "a/2 right")
			late := h.listen()
			wantText(t, late, "!a/2 right")
		},
		"voids text after the run was away": func(t *testing.T, h *hub, l *liveRun) {
			w := h.listen()
			h.emit(run, "a", 1, "wrong")
			wantText(t, w, "a/1 wrong")
			h.finish(run, l)
			wantKept(t, l, 0, 0)
			again := h.begin(run)
			defer h.finish(run, again)
			h.record(flow.StepRunning, "a", 2)
			wantText(t, w, "!a/2 ")
		},
		"says nothing of a first attempt that only began": func(t *testing.T, h *hub, l *liveRun) {
			w := h.listen()
			h.record(flow.StepRunning, "a", 1)
			h.record(flow.StepRunning, "b", 2)
			wantPoke(t, w, false)
			wantText(t, w)
			wantKept(t, l, 0, 0)
		},
		"keeps the rest of an ended step until all have read it": func(t *testing.T, h *hub, l *liveRun) {
			w, slow, leaver := h.listen(), h.listen(), h.listen()
			h.emit(run, "a", 1, "text")
			h.record(flow.StepSucceeded, "a", 1)
			late := h.listen()
			wantText(t, late)
			wantText(t, w, "a/1 text")
			wantText(t, slow, "a/1 text")
			wantKept(t, l, 1, 4)
			h.leave(run, leaver)
			wantKept(t, l, 0, 0)
			if len(w.places)+len(slow.places)+len(late.places) > 0 {
				t.Error("readers remember the text of a step that has ended")
			}
		},
		"keeps no text of an ended step that nobody reads": func(t *testing.T, h *hub, l *liveRun) {
			w := h.watch(run) // for its end
			h.emit(run, "a", 1, "text")
			wantKept(t, l, 1, 4)
			h.record(flow.StepFailed, "a", 1)
			wantKept(t, l, 0, 0)
			h.leave(run, w)
		},
		"cuts a text that is too long, in whole characters": func(t *testing.T, h *hub, l *liveRun) {
			w := h.listen()
			h.emit(run, "a", 1, strings.Repeat("x", maxText-1))
			if got := w.read(all); len(got) != 1 || got[0].Truncated {
				t.Fatal("the text that fits is cut")
			}
			h.emit(run, "a", 1, "é")
			wantText(t, w, "a/1 …")
			<-w.pokes
			h.emit(run, "a", 1, "y")
			wantPoke(t, w, false)
			wantText(t, w)
			wantKept(t, l, 1, maxText-1)
			if got := h.listen().read(all); len(got) != 1 || !got[0].Reset || !got[0].Truncated || len(got[0].Text) != maxText-1 {
				t.Error("who comes late is not told of the cut")
			}
		},
		"cuts all texts of a run together": func(t *testing.T, h *hub, l *liveRun) {
			for i := range maxRunText/maxText + 2 {
				h.emit(run, fmt.Sprintf("s%d", i), 1, strings.Repeat("x", maxText))
			}
			wantKept(t, l, maxRunText/maxText+2, maxRunText)
			h.record(flow.StepSucceeded, "s0", 1)
			h.emit(run, "b", 1, "room again")
			wantKept(t, l, maxRunText/maxText+2, maxRunText-maxText+len("room again"))
		},
		"hears nothing of runs that nobody works on": func(t *testing.T, h *hub, l *liveRun) {
			w := h.listen()
			h.finish(run, l)
			h.emit(run, "a", 1, "late")
			wantPoke(t, w, false)
			wantText(t, w)
			h.leave(run, w)
			h.emit(run, "a", 1, "later")
			if h.find(run) != nil {
				t.Error("the hub remembers a run that nobody watches or works on")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub()
			test(t, h, h.begin(run))
		})
	}
}

// Whatever readers do, each of them puts together the whole text.
func TestTextsReachEveryReader(t *testing.T) {
	t.Parallel()
	const tokens, readers = 5_000, 4
	h := newHub()
	l := h.begin(run)
	var want strings.Builder
	for i := range tokens {
		fmt.Fprintf(&want, "%d ", i)
	}
	var all sync.WaitGroup
	for range readers {
		w := h.listen()
		all.Go(func() {
			defer h.leave(run, w)
			if got := w.whole(); got != want.String() {
				t.Errorf("a reader has %d bytes of %d", len(got), want.Len())
			}
		})
	}
	for i := range tokens {
		h.emit(run, "a", 1, fmt.Sprintf("%d ", i))
	}
	h.recorded(&flow.RunWrite{Run: &flow.Run{ID: run}, End: true, Steps: []flow.Step{{Path: "a", State: flow.StepSucceeded, Attempt: 1}}})
	h.finish(run, l)
	all.Wait()
	if h.find(run) != nil {
		t.Error("the hub remembers the run")
	}
}

// whole reads until the run has ended.
func (w *watcher) whole() string {
	var b strings.Builder
	take := func() {
		for _, d := range w.read(all) {
			if d.Reset {
				b.Reset()
			}
			b.WriteString(d.Text)
		}
	}
	for w.end() == nil {
		select {
		case <-w.pokes:
		case <-w.changes:
		}
		take()
	}
	take()
	return b.String()
}

func BenchmarkEmit(b *testing.B) {
	h := newHub()
	h.begin(run)
	w := h.listen()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.emit(run, "answer", 1, "token ")
		if i%10_000 == 0 { // lest all of it be cut
			w.read(all)
			h.record(flow.StepSucceeded, "answer", 1)
		}
	}
}
