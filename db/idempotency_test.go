package db_test

import (
	"sync"
	"testing"
	"time"

	"sluice/flow"
)

func keyed(key, fingerprint string) func(*flow.NewRun) {
	return func(n *flow.NewRun) { n.IdempotencyKey, n.Fingerprint = key, fingerprint }
}

func TestStartRun_repeated_with_the_same_key(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		first := w.start(keyed("k", "f"))
		again, err := w.tryStart(keyed("k", "f"))
		w.must(err)
		wantEqual(t, "replayed", again.Replayed, true)
		wantEqual(t, "run", again.Run.ID, first.ID)
		wantEqual(t, "jobs", len(w.queue.ids(flow.JobRun)), 1)
		found, err := w.FindStarted(w.ctx, ws, "k", "f")
		w.must(err)
		wantEqual(t, "found", found.ID, first.ID)

		_, err = w.tryStart(keyed("k", "other"))
		wantCode(t, err, flow.CodeIdempotencyMismatch)
		_, err = w.FindStarted(w.ctx, ws, "k", "other")
		wantCode(t, err, flow.CodeIdempotencyMismatch)
	})
}

func TestStartRun_with_a_stale_key(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		first := w.start(keyed("k", "f"))
		w.clock.move(24*time.Hour - time.Second)
		again, err := w.tryStart(keyed("k", "f"))
		w.must(err)
		wantEqual(t, "within a day", again.Run.ID, first.ID)
		w.clock.move(time.Second)
		found, err := w.FindStarted(w.ctx, ws, "k", "f")
		w.must(err)
		wantEqual(t, "found", found, nil)
		fresh, err := w.tryStart(keyed("k", "other"))
		w.must(err)
		wantEqual(t, "after a day", fresh.Replayed, false)
	})
}

func TestStartRun_refused_stores_nothing(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, err := w.tryStart(keyed("k", "f"), func(n *flow.NewRun) { n.Run.FlowID = "flow_none" })
		wantCode(t, err, flow.CodeNotFound)
		s, err := w.tryStart(keyed("k", "other"))
		w.must(err)
		wantEqual(t, "replayed", s.Replayed, false)
	})
}

func TestStartRun_concurrent_with_the_same_key(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		ids := make([]flow.RunID, 20)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				s, err := w.tryStart(keyed("k", "f"))
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = s.Run.ID
			})
		}
		wg.Wait()
		for _, id := range ids {
			wantEqual(t, "run", id, ids[0])
		}
		runs, err := w.ListRuns(w.ctx, flow.RunFilter{WorkspaceID: ws, Limit: 100})
		w.must(err)
		wantEqual(t, "runs", len(runs), 1)
	})
}

func TestStartRun_of_an_erased_run(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.startAndFinish(keyed("k", "f"))
		w.must(w.EraseRun(w.ctx, ws, r.FlowID, r.ID, flow.CodeResultNotSaved))
		s, err := w.tryStart(keyed("k", "f"))
		w.must(err)
		wantEqual(t, "erased", s.Run.Erased, flow.CodeResultNotSaved)
	})
}
