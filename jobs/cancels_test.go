package jobs_test

import (
	"context"
	"testing"

	"sluice/db"
	"sluice/flow"
)

func TestCancelRun_stops_step(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, gatedFlow).start()
		run := fx.startRun()
		<-fx.gate.started
		got, err := fx.runner.CancelRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID)
		if err != nil || got.State != flow.RunCanceled {
			t.Fatalf("canceled: %+v, %v", got, err)
		}
		again, err := fx.runner.CancelRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID)
		if err != nil || again.State != flow.RunCanceled || !again.EndedAt.Equal(got.EndedAt) {
			t.Errorf("a second cancel changed the run: %+v, %v", again, err)
		}
	})
}

// A cancellation must not get lost while a worker claims the run.
func TestCancelRun_right_after_start(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, gatedFlow).start()
		for range 30 {
			run := fx.startRun()
			if _, err := fx.runner.CancelRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID); err != nil {
				t.Fatal(err)
			}
			if end := fx.awaitEnd(run); end.State != flow.RunCanceled {
				t.Fatalf("the run is %s", end.State)
			}
		}
	})
}
