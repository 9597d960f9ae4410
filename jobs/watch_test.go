package jobs_test

import (
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
)

// heard waits for text of the node g that fits, and returns it.
func heard(t *testing.T, w flow.Watch, fits func(flow.Delta) bool) flow.Delta {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		for _, d := range w.Read(func(string, int) bool { return true }) {
			if d.Path == "g" && fits(d) {
				return d
			}
		}
		select {
		case <-w.Texts:
		case <-late:
			t.Fatal("nothing of the kind was heard for 20 s")
		}
	}
}

func says(text string) func(flow.Delta) bool {
	return func(d flow.Delta) bool { return d.Text == text }
}

func TestWatchHearsSteps(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, gated).start()
		run := w.begin()
		early := w.runner.WatchText(run.ID)
		defer early.Stop()
		<-w.gate.begun
		w.gate.say <- "one "
		if d := heard(t, early, says("one ")); d.Reset || d.Attempt != 1 {
			t.Errorf("heard %+v", d)
		}
		w.gate.say <- "two"
		heard(t, early, says("two"))
		late := w.runner.WatchText(run.ID)
		defer late.Stop()
		if d := heard(t, late, says("one two")); !d.Reset {
			t.Errorf("who comes late hears %+v", d)
		}
		w.gate.let <- nil
		w.ended(run)
		after := w.runner.WatchText(run.ID)
		defer after.Stop()
		if got := after.Read(func(string, int) bool { return true }); got != nil {
			t.Errorf("of a run that has ended was heard %+v", got)
		}
	})
}

func TestWatchHearsThatAnAttemptIsVoid(t *testing.T) {
	t.Parallel()
	w := open(t, sqliteConfig(t), `{"schema":"sluice.flow/v1","name":"Retry","nodes":[
		{"id":"a","kind":"input","config":{"name":"x"}},
		{"id":"g","kind":"gate","retry":{"attempts":2,"backoff_s":0},"config":{}},
		{"id":"o","kind":"output","config":{"name":"y"}}],
		"edges":[{"from":"a.value","to":"g.value"},{"from":"g.value","to":"o.value"}]}`).start()
	run := w.begin()
	watch := w.runner.WatchText(run.ID)
	defer watch.Stop()
	<-w.gate.begun
	w.gate.say <- "wrong"
	heard(t, watch, says("wrong"))
	w.gate.let <- &flow.Error{Code: flow.CodeHTTPFailed, Message: "Not now.", Retryable: true}
	if d := heard(t, watch, func(d flow.Delta) bool { return d.Reset }); d.Attempt != 2 || d.Text != "" {
		t.Errorf("the new attempt begins with %+v", d)
	}
	<-w.gate.begun
	w.gate.say <- "right"
	heard(t, watch, says("right"))
	w.gate.let <- nil
	w.ended(run)
}

// Text that a step said before a shutdown is void when it is said again by
// whoever goes on with the run.
func TestWatchHearsOfARunThatWasHandedBack(t *testing.T) {
	t.Parallel()
	w := open(t, sqliteConfig(t), gated).start()
	run := w.begin()
	watch := w.runner.WatchText(run.ID)
	defer watch.Stop()
	<-w.gate.begun
	w.gate.say <- "cut"
	heard(t, watch, says("cut"))
	if err := drain(w.runner, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	w.wire()
	again := w.runner.WatchText(run.ID)
	defer again.Stop()
	w.start()
	<-w.gate.begun
	w.gate.say <- "again"
	if d := heard(t, again, says("again")); d.Attempt != 2 {
		t.Errorf("the next attempt says %+v", d)
	}
	w.gate.let <- nil
	w.ended(run)
}
