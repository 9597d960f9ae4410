package jobs_test

import (
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
)

// awaitDelta waits for text of the node g for which accept is true, and returns it.
func awaitDelta(t *testing.T, w flow.Watch, accept func(flow.Delta) bool) flow.Delta {
	t.Helper()
	deadline := time.After(waitTimeout)
	for {
		for _, d := range w.Read(func(string, int) bool { return true }) {
			if d.Path == "g" && accept(d) {
				return d
			}
		}
		select {
		case <-w.Texts:
		case <-deadline:
			t.Fatal("timed out waiting for text")
		}
	}
}

func hasText(text string) func(flow.Delta) bool {
	return func(d flow.Delta) bool { return d.Text == text }
}

func TestWatchText_returns_text_of_steps(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, gatedFlow).start()
		run := fx.startRun()
		early := fx.runner.WatchText(run.ID)
		defer early.Stop()
		<-fx.gate.started
		fx.gate.emit <- "one "
		if d := awaitDelta(t, early, hasText("one ")); d.Reset || d.Attempt != 1 {
			t.Errorf("got %+v", d)
		}
		fx.gate.emit <- "two"
		awaitDelta(t, early, hasText("two"))
		late := fx.runner.WatchText(run.ID)
		defer late.Stop()
		if d := awaitDelta(t, late, hasText("one two")); !d.Reset {
			t.Errorf("a reader that joins late got %+v", d)
		}
		fx.gate.release <- nil
		fx.awaitEnd(run)
		after := fx.runner.WatchText(run.ID)
		defer after.Stop()
		if got := after.Read(func(string, int) bool { return true }); got != nil {
			t.Errorf("got text of a run that has ended: %+v", got)
		}
	})
}

func TestWatchText_resets_text_of_failed_attempt(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), `{"schema":"sluice.flow/v1","name":"Retry","nodes":[
		{"id":"a","kind":"input","config":{"name":"x"}},
		{"id":"g","kind":"gate","retry":{"attempts":2,"backoff_s":0},"config":{}},
		{"id":"o","kind":"output","config":{"name":"y"}}],
		"edges":[{"from":"a.value","to":"g.value"},{"from":"g.value","to":"o.value"}]}`).start()
	run := fx.startRun()
	watch := fx.runner.WatchText(run.ID)
	defer watch.Stop()
	<-fx.gate.started
	fx.gate.emit <- "wrong"
	awaitDelta(t, watch, hasText("wrong"))
	fx.gate.release <- &flow.Error{Code: flow.CodeHTTPFailed, Message: "Not now.", Retryable: true}
	if d := awaitDelta(t, watch, func(d flow.Delta) bool { return d.Reset }); d.Attempt != 2 || d.Text != "" {
		t.Errorf("the text of the new attempt starts with %+v", d)
	}
	<-fx.gate.started
	fx.gate.emit <- "right"
	awaitDelta(t, watch, hasText("right"))
	fx.gate.release <- nil
	fx.awaitEnd(run)
}

// Text emitted before a shutdown is replaced by that of the next attempt.
func TestWatchText_continues_after_run_is_handed_back(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), gatedFlow).start()
	run := fx.startRun()
	watch := fx.runner.WatchText(run.ID)
	defer watch.Stop()
	<-fx.gate.started
	fx.gate.emit <- "cut"
	awaitDelta(t, watch, hasText("cut"))
	if err := drain(fx.runner, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	fx.newRunner()
	again := fx.runner.WatchText(run.ID)
	defer again.Stop()
	fx.start()
	<-fx.gate.started
	fx.gate.emit <- "again"
	if d := awaitDelta(t, again, hasText("again")); d.Attempt != 2 {
		t.Errorf("the text of the next attempt came as %+v", d)
	}
	fx.gate.release <- nil
	fx.awaitEnd(run)
}
