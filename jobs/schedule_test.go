package jobs_test

import (
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
)

func TestCleanUp_erases_expired_runs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		cfg.Retention = time.Hour
		fx := newFixture(t, cfg, passThroughFlow).start()
		run := fx.awaitEnd(fx.startRun())
		fx.clock.advance(2 * time.Hour)
		gone := fx.awaitRun(run, func(r *flow.Run) bool { return r.Erased != "" })
		if gone.Erased != flow.CodeRunExpired || gone.Inputs != nil || gone.Outputs != nil || gone.State != flow.RunSucceeded {
			t.Errorf("the tombstone is %+v", gone)
		}
	})
}

func TestCleanUp_erases_discarded_runs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, passThroughFlow).start()
		run := fx.startRun(func(s *flow.Start) { s.Options.Discard, s.Wait = true, 20*time.Second })
		if run.Outputs.Get("y") != "hello" {
			t.Errorf("the returned run has %v", run.Outputs)
		}
		if gone := fx.awaitRun(run, func(r *flow.Run) bool { return r.Erased != "" }); gone.Erased != flow.CodeResultNotSaved {
			t.Errorf("erased as %s", gone.Erased)
		}
	})
}
