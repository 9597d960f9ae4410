package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/value"
)

func TestDrain_hands_runs_back(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, gatedFlow).start()
		run := fx.startRun()
		<-fx.gate.started
		if err := drain(fx.runner, 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		back, err := fx.store.FindRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID)
		if err != nil || back.State.Ended() || back.Attempt != 2 || back.Crashes != 0 {
			t.Fatalf("handed back as %+v, %v", back, err)
		}
		fx.newRunner()
		fx.start()
		<-fx.gate.started
		fx.gate.release <- nil
		if end := fx.awaitEnd(run); end.State != flow.RunSucceeded || end.Outputs.Get("y") != "hello" {
			t.Errorf("continued, the run is %s with %v", end.State, end.Outputs)
		}
	})
}

func TestDrain_lets_steps_finish(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, gatedFlow).start()
		run := fx.startRun()
		<-fx.gate.started
		drained := make(chan error)
		go func() { drained <- drain(fx.runner, 20*time.Second) }()
		for !fx.runner.Draining() {
			time.Sleep(time.Millisecond)
		}
		late := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Given: value.FromMap(map[string]any{"x": "late"})}
		started, err := fx.runner.StartRun(context.Background(), late)
		if shared := cfg.DatabaseURL != ""; shared != (err == nil) || !shared && !errors.Is(err, &flow.Error{Code: flow.CodeDraining}) {
			t.Errorf("a start while draining returned %v", err)
		}
		fx.gate.release <- nil
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
		steps, err := fx.store.FindSteps(context.Background(), run.WorkspaceID, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if s.Node == "g" && s.State != flow.StepSucceeded {
				t.Errorf("the step that was running is %s", s.State)
			}
		}
		if started.Run == nil {
			return
		}
		fx.newRunner()
		fx.start()
		<-fx.gate.started
		fx.gate.release <- nil
		if end := fx.awaitEnd(started.Run); end.Outputs.Get("y") != "late" {
			t.Errorf("the run accepted while draining is %s with %v", end.State, end.Outputs)
		}
	})
}

func TestDrain_releases_waiters(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), gatedFlow).start()
	returned := make(chan *flow.Run)
	go func() { returned <- fx.startRun(func(s *flow.Start) { s.Wait = time.Minute }) }()
	<-fx.gate.started
	go drain(fx.runner, 10*time.Second)
	if run := <-returned; run.State.Ended() {
		t.Errorf("the run is %s", run.State)
	}
	fx.gate.release <- nil
}
