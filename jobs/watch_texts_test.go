package jobs

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/flow"
)

const testRunID = "run_1"

func readyForAll(string, int) bool { return true }

// addReader adds a watcher that reads text.
func (h *broker) addReader() *watcher {
	return h.addWatcher(testRunID, &watcher{changes: make(chan struct{}, 1), textReader: newTextReader()})
}

// recordStep publishes a write of one step.
func (h *broker) recordStep(state flow.StepState, path string, attempt int) {
	h.publish(&flow.RunWrite{Run: &flow.Run{ID: testRunID}, Steps: []flow.Step{{Path: path, State: state, Attempt: attempt}}})
}

// wantText reads once and compares. Deltas are written as "path/attempt text", with !
// before a reset and … after truncated text.
func wantText(t *testing.T, w *watcher, want ...string) {
	t.Helper()
	got := []string{}
	for _, d := range w.read(readyForAll) {
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

func wantNotification(t *testing.T, w *watcher, want bool) {
	t.Helper()
	select {
	case <-w.notifications:
		if !want {
			t.Error("the reader was notified")
		}
	default:
		if want {
			t.Error("the reader was not notified")
		}
	}
}

// wantBuffered compares how much of the run's text is buffered.
func wantBuffered(t *testing.T, l *liveRun, texts, size int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.texts) != texts || l.size != size {
		t.Errorf("%d texts of %d bytes are buffered, wanted %d of %d", len(l.texts), l.size, texts, size)
	}
}

func TestOutputBuffer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, h *broker, l *liveRun){
		"coalesces unread text": func(t *testing.T, h *broker, _ *liveRun) {
			w := h.addReader()
			wantNotification(t, w, false)
			h.emit(testRunID, "a", 1, "one ")
			h.emit(testRunID, "a", 1, "two ")
			wantNotification(t, w, true)
			wantText(t, w, "a/1 one two ")
			wantText(t, w)
			h.emit(testRunID, "a", 1, "three")
			wantNotification(t, w, true)
			wantText(t, w, "a/1 three")
		},
		"gives late readers all text so far": func(t *testing.T, h *broker, _ *liveRun) {
			h.emit(testRunID, "a", 1, "one ")
			w := h.addReader()
			wantNotification(t, w, true)
			h.emit(testRunID, "a", 1, "two ")
			h.emit(testRunID, "b", 1, "new")
			wantText(t, w, "!a/1 one two ", "b/1 new")
			h.emit(testRunID, "a", 1, "three")
			wantText(t, w, "a/1 three")
		},
		"keeps text the reader is not ready for": func(t *testing.T, h *broker, _ *liveRun) {
			w := h.addReader()
			h.emit(testRunID, "a", 1, "one")
			h.emit(testRunID, "b", 1, "two")
			if got := w.read(func(path string, _ int) bool { return path == "b" }); len(got) != 1 || got[0].Text != "two" {
				t.Errorf("read %+v", got)
			}
			wantText(t, w, "a/1 one")
		},
		"resets text of an earlier attempt": func(t *testing.T, h *broker, l *liveRun) {
			w := h.addReader()
			h.emit(testRunID, "a", 1, "wrong")
			wantText(t, w, "a/1 wrong")
			h.recordStep(flow.StepRetrying, "a", 1)
			<-w.notifications
			h.recordStep(flow.StepRunning, "a", 2)
			wantNotification(t, w, true)
			wantText(t, w, "!a/2 ")
			h.emit(testRunID, "a", 1, "late")
			wantNotification(t, w, false)
			h.emit(testRunID, "a", 2, "right")
			wantText(t, w, "a/2 right")
			wantBuffered(t, l, 1, len("right"))
		},
		"drops unread text of an earlier attempt": func(t *testing.T, h *broker, _ *liveRun) {
			w := h.addReader()
			h.emit(testRunID, "a", 1, "wrong")
			h.recordStep(flow.StepRunning, "a", 2)
			wantText(t, w)
			h.emit(testRunID, "a", 2, "right")
			wantText(t, w, "a/2 right")
			late := h.addReader()
			wantText(t, late, "!a/2 right")
		},
		"resets text after the run was handed back": func(t *testing.T, h *broker, l *liveRun) {
			w := h.addReader()
			h.emit(testRunID, "a", 1, "wrong")
			wantText(t, w, "a/1 wrong")
			h.workerStopped(testRunID, l)
			wantBuffered(t, l, 0, 0)
			again := h.workerStarted(testRunID)
			defer h.workerStopped(testRunID, again)
			h.recordStep(flow.StepRunning, "a", 2)
			wantText(t, w, "!a/2 ")
		},
		"ignores steps without text": func(t *testing.T, h *broker, l *liveRun) {
			w := h.addReader()
			h.recordStep(flow.StepRunning, "a", 1)
			h.recordStep(flow.StepRunning, "b", 2)
			wantNotification(t, w, false)
			wantText(t, w)
			wantBuffered(t, l, 0, 0)
		},
		"keeps text of an ended step until all have read it": func(t *testing.T, h *broker, l *liveRun) {
			w, slow, leaver := h.addReader(), h.addReader(), h.addReader()
			h.emit(testRunID, "a", 1, "text")
			h.recordStep(flow.StepSucceeded, "a", 1)
			late := h.addReader()
			wantText(t, late)
			wantText(t, w, "a/1 text")
			wantText(t, slow, "a/1 text")
			wantBuffered(t, l, 1, 4)
			h.removeWatcher(testRunID, leaver)
			wantBuffered(t, l, 0, 0)
			if len(w.positions)+len(slow.positions)+len(late.positions) > 0 {
				t.Error("readers keep positions in the text of an ended step")
			}
		},
		"drops text of an ended step that nobody reads": func(t *testing.T, h *broker, l *liveRun) {
			w := h.watch(testRunID) // without text
			h.emit(testRunID, "a", 1, "text")
			wantBuffered(t, l, 1, 4)
			h.recordStep(flow.StepFailed, "a", 1)
			wantBuffered(t, l, 0, 0)
			h.removeWatcher(testRunID, w)
		},
		"truncates long text at a character": func(t *testing.T, h *broker, l *liveRun) {
			w := h.addReader()
			h.emit(testRunID, "a", 1, strings.Repeat("x", maxText-1))
			if got := w.read(readyForAll); len(got) != 1 || got[0].Truncated {
				t.Fatal("text within the limit is truncated")
			}
			h.emit(testRunID, "a", 1, "é")
			wantText(t, w, "a/1 …")
			<-w.notifications
			h.emit(testRunID, "a", 1, "y")
			wantNotification(t, w, false)
			wantText(t, w)
			wantBuffered(t, l, 1, maxText-1)
			if got := h.addReader().read(readyForAll); len(got) != 1 || !got[0].Reset || !got[0].Truncated || len(got[0].Text) != maxText-1 {
				t.Error("a late reader does not learn that text was truncated")
			}
		},
		"bounds the texts of a run together": func(t *testing.T, h *broker, l *liveRun) {
			for i := range maxRunText/maxText + 2 {
				h.emit(testRunID, fmt.Sprintf("s%d", i), 1, strings.Repeat("x", maxText))
			}
			wantBuffered(t, l, maxRunText/maxText+2, maxRunText)
			h.recordStep(flow.StepSucceeded, "s0", 1)
			h.emit(testRunID, "b", 1, "room again")
			wantBuffered(t, l, maxRunText/maxText+2, maxRunText-maxText+len("room again"))
		},
		"ignores text of runs without a worker": func(t *testing.T, h *broker, l *liveRun) {
			w := h.addReader()
			h.workerStopped(testRunID, l)
			h.emit(testRunID, "a", 1, "late")
			wantNotification(t, w, false)
			wantText(t, w)
			h.removeWatcher(testRunID, w)
			h.emit(testRunID, "a", 1, "later")
			if h.find(testRunID) != nil {
				t.Error("the broker keeps a run that nobody watches or works on")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newBroker()
			test(t, h, h.workerStarted(testRunID))
		})
	}
}

// Every reader gets the whole text, however reads and writes interleave.
func TestOutputBuffer_reaches_every_reader(t *testing.T) {
	t.Parallel()
	const tokens, readers = 5_000, 4
	h := newBroker()
	l := h.workerStarted(testRunID)
	var want strings.Builder
	for i := range tokens {
		fmt.Fprintf(&want, "%d ", i)
	}
	var all sync.WaitGroup
	for range readers {
		w := h.addReader()
		all.Go(func() {
			defer h.removeWatcher(testRunID, w)
			if got := w.readAll(); got != want.String() {
				t.Errorf("a reader got %d of %d bytes", len(got), want.Len())
			}
		})
	}
	for i := range tokens {
		h.emit(testRunID, "a", 1, fmt.Sprintf("%d ", i))
	}
	h.publish(&flow.RunWrite{Run: &flow.Run{ID: testRunID}, End: true, Steps: []flow.Step{{Path: "a", State: flow.StepSucceeded, Attempt: 1}}})
	h.workerStopped(testRunID, l)
	all.Wait()
	if h.find(testRunID) != nil {
		t.Error("the broker keeps the run")
	}
}

// readAll reads until the run has ended.
func (w *watcher) readAll() string {
	var b strings.Builder
	take := func() {
		for _, d := range w.read(readyForAll) {
			if d.Reset {
				b.Reset()
			}
			b.WriteString(d.Text)
		}
	}
	for w.endedRun() == nil {
		select {
		case <-w.notifications:
		case <-w.changes:
		}
		take()
	}
	take()
	return b.String()
}

func BenchmarkEmit(b *testing.B) {
	h := newBroker()
	h.workerStarted(testRunID)
	w := h.addReader()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.emit(testRunID, "answer", 1, "token ")
		if i%10_000 == 0 { // or it would be truncated
			w.read(readyForAll)
			h.recordStep(flow.StepSucceeded, "answer", 1)
		}
	}
}
