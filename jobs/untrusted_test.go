package jobs_test

import (
	"context"
	"testing"

	"sluice/db"
	"sluice/flow"
)

// TestStart_marks_inputs_from_outside: what starts a run decides whether its inputs come from outside. A rerun takes it over.
func TestStart_marks_inputs_from_outside(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, gatedFlow).start()
		for trigger, want := range map[flow.Trigger]bool{flow.TriggerAPI: false, flow.TriggerForm: true, flow.TriggerHook: true, flow.TriggerBatch: true, flow.TriggerSchedule: false} {
			fx.gate.release <- nil
			run := fx.awaitEnd(fx.startRun(func(s *flow.Start) { s.Trigger = trigger }))
			fx.wantUntrusted(run, want)
			if want {
				fx.wantUntrusted(fx.rerun(t, fx.runner, run, "o"), want)
			}
		}
	})
}

// wantUntrusted checks the mark of a run that has ended, and those of its steps.
func (fx *fixture) wantUntrusted(run *flow.Run, want bool) {
	fx.t.Helper()
	steps, err := fx.store.FindSteps(context.Background(), run.WorkspaceID, run.ID)
	if err != nil {
		fx.t.Fatal(err)
	}
	for i := range steps {
		if steps[i].Untrusted != want {
			fx.t.Errorf("%s: the step %s is untrusted: %v", run.Trigger, steps[i].Path, steps[i].Untrusted)
		}
	}
	var both flow.Untrusted
	if want {
		both = flow.UntrustedInputs | flow.UntrustedOutputs
	}
	if run.Untrusted != both {
		fx.t.Errorf("%s: the mark of the run is %d", run.Trigger, run.Untrusted)
	}
}
