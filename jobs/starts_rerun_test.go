package jobs_test

import (
	"context"
	"testing"

	"sluice/db"
	"sluice/flow"
	"sluice/jobs"
)

func TestRerun_reuses_succeeded_steps(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, gatedFlow).start()
		fx.gate.release <- &flow.Error{Code: flow.CodeHTTPFailed, Message: "Broken."}
		failed := fx.awaitEnd(fx.startRun())
		if failed.State != flow.RunFailed || failed.Error.Node != "g" {
			t.Fatalf("the parent is %s: %+v", failed.State, failed.Error)
		}
		fx.gate.release <- nil
		second := fx.rerun(t, fx.runner, failed, "")
		if got := fx.stepStates(second); got["a"] != flow.StepReused || got["g"] != flow.StepSucceeded {
			t.Errorf("after the failure: %v", got)
		}
		third := fx.rerun(t, fx.runner, second, "o")
		if got := fx.stepStates(third); got["a"] != flow.StepReused || got["g"] != flow.StepReused || got["o"] != flow.StepSucceeded {
			t.Errorf("from the output: %v", got)
		}
	})
}

func (fx *fixture) rerun(t *testing.T, r *jobs.Runner, parent *flow.Run, from string) *flow.Run {
	t.Helper()
	started, err := r.Rerun(context.Background(), flow.Rerun{
		Start: flow.Start{WorkspaceID: parent.WorkspaceID, FlowID: parent.FlowID}, ParentRunID: parent.ID, From: from})
	if err != nil {
		t.Fatal(err)
	}
	end := fx.awaitEnd(started.Run)
	if end.State != flow.RunSucceeded || end.ParentRunID != parent.ID || end.Outputs.Get("y") != "hello" {
		t.Fatalf("the rerun is %s: %+v", end.State, end)
	}
	return end
}

func (fx *fixture) stepStates(run *flow.Run) map[string]flow.StepState {
	fx.t.Helper()
	steps, err := fx.store.FindSteps(context.Background(), run.WorkspaceID, run.ID)
	if err != nil {
		fx.t.Fatal(err)
	}
	m := map[string]flow.StepState{}
	for _, s := range steps {
		m[s.Path] = s.State
	}
	return m
}
