package db_test

import (
	"errors"
	"testing"
	"time"

	"sluice/flow"
)

// TestRunContexts_are_shared_and_erased_with_the_last_run: runs that continue the same run share what they start from, which counts once, and
// goes with the content of the last of them, by deletion as by retention.
func TestRunContexts_are_shared_and_erased_with_the_last_run(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		content := []byte(`{"agent":{"turns":1,"entries":[]}}`)
		ended := func(change ...func(*flow.NewRun)) *flow.Run {
			t.Helper()
			run := w.take(w.start(change...).ID)
			w.must(w.finish(run, flow.RunSucceeded))
			return run
		}
		first := ended()
		continued := func(n *flow.NewRun) {
			n.Context, n.Run.Continues, n.Run.ContextHash = content, first.ID, flow.Hash(content)
		}
		bytes := func() int64 {
			t.Helper()
			return w.storage(ws).Used.Bytes
		}
		before := bytes()
		second := ended(continued)
		one := bytes() - before
		third := ended(continued)
		if two := bytes() - before; two != 2*one-int64(len(content)) {
			t.Errorf("one run takes %d bytes, two take %d; the conversation has %d", one, two, len(content))
		}
		if got, err := w.FindRunContext(w.ctx, ws, flow.Hash(content)); err != nil || string(got) != string(content) {
			t.Errorf("%s %v", got, err)
		}
		if run, err := w.FindRun(w.ctx, ws, w.flow.ID, third.ID); err != nil || run.Continues != first.ID || run.ContextHash != flow.Hash(content) {
			t.Errorf("%+v %v", run, err)
		}
		list, err := w.ListContinued(w.ctx, ws, first.ID)
		w.must(err)
		if len(list) != 2 || list[0].FlowID != w.flow.ID || list[0].State != flow.RunSucceeded {
			t.Errorf("%+v continue", list)
		}
		again := func(n *flow.NewRun) { // a rerun refers to what is stored
			n.Run.ParentRunID, n.Run.Continues, n.Run.ContextHash = third.ID, first.ID, flow.Hash(content)
		}
		fourth := ended(again)

		w.must(w.EraseRun(w.ctx, ws, w.flow.ID, second.ID, flow.CodeResultNotSaved))
		w.must(w.EraseRun(w.ctx, ws, w.flow.ID, third.ID, flow.CodeResultNotSaved))
		if _, err := w.FindRunContext(w.ctx, ws, flow.Hash(content)); err != nil {
			t.Error("gone with the first:", err)
		}
		if _, err := w.FindRunContext(w.ctx, guest, flow.Hash(content)); !flow.IsNotFound(err) {
			t.Error("of another workspace:", err)
		}
		w.must(w.EraseRun(w.ctx, ws, w.flow.ID, fourth.ID, flow.CodeResultNotSaved))
		if _, err := w.FindRunContext(w.ctx, ws, flow.Hash(content)); !flow.IsNotFound(err) {
			t.Error("still there:", err)
		}
		if got := bytes(); got != before {
			t.Errorf("%d bytes are left over", got-before)
		}
		if _, err := w.tryStart(again); !errors.Is(err, &flow.Error{Code: flow.CodeRunExpired}) {
			t.Error("a rerun of what was erased meanwhile:", err)
		}

		fifth := ended(continued)
		w.clock.move(500 * 24 * time.Hour)
		for n := 1; n > 0; {
			erased, err := w.ExpireRuns(w.ctx, w.clock.Now(), 100)
			w.must(err)
			n = erased
		}
		if _, err := w.FindRunContext(w.ctx, ws, fifth.ContextHash); !flow.IsNotFound(err) {
			t.Error("there after the retention:", err)
		}
		if _, err := w.tryStart(continued); !errors.Is(err, &flow.Error{Code: flow.CodeRunExpired}) {
			t.Error("a run that continues what was erased meanwhile:", err)
		}
	})
}
