package jobs_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/jobs"
)

// The queue polls only every hour here, so a run that ends was woken by the commit.
func TestStartRun_wakes_worker_at_commit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, passThroughFlow).start()
		for range 20 {
			run := fx.startRun(func(s *flow.Start) { s.Wait = 20 * time.Second })
			if run.State != flow.RunSucceeded || run.Outputs["y"] != "hello" {
				t.Fatalf("the run is %s with %v", run.State, run.Outputs)
			}
		}
	})
}

func TestStartRun_waits_and_returns_stored_run(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, passThroughFlow).start()
		returned := fx.startRun(func(s *flow.Start) { s.Wait = 20 * time.Second })
		stored := fx.awaitEnd(returned)
		if a, b := returned.ExpiresAt, stored.ExpiresAt; !a.Equal(b) {
			t.Errorf("expires at %s as returned, %s as stored", a, b)
		}
		if !returned.EndedAt.Equal(stored.EndedAt) || !returned.StartedAt.Equal(stored.StartedAt) || returned.Seq != stored.Seq {
			t.Errorf("returned %+v, stored %+v", returned, stored)
		}
	})
}

func TestPilot_deletes_completed_jobs(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), passThroughFlow).start()
	fx.awaitEnd(fx.startRun())
	fx.waitUntil("no job is left", func() bool {
		return fx.queryInt(`SELECT count(*) FROM river_job WHERE kind IN ('run', 'delivery')`) == 0
	})
}

func TestStartRun_rejects(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), passThroughFlow).start()
	published := fx.flowID
	library := &flow.Library{Store: fx.store, Kinds: fx.kinds, IDs: flow.NewIDs()}
	unpublished, err := library.Import(context.Background(), flow.DefaultWorkspace, "", []byte(passThroughFlow))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		flowID string
		set    func(*flow.Start)
		want   flow.Code
	}{
		"unknown flow":      {"flow_unknown", func(*flow.Start) {}, flow.CodeNotFound},
		"unpublished flow":  {unpublished.ID, func(*flow.Start) {}, flow.CodeNotPublished},
		"unknown version":   {published, func(s *flow.Start) { s.Options.Version = 7 }, flow.CodeInputInvalid},
		"missing input":     {published, func(s *flow.Start) { s.Given = nil }, flow.CodeInputInvalid},
		"another workspace": {published, func(s *flow.Start) { s.WorkspaceID = "ws_other" }, flow.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: c.flowID, Given: map[string]any{"x": "hello"}}
			c.set(&s)
			_, err := fx.runner.StartRun(context.Background(), s)
			if !errors.Is(err, &flow.Error{Code: c.want}) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestStartRun_of_draft(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, passThroughFlow).start()
		run := fx.awaitEnd(fx.startRun(func(s *flow.Start) { s.Options.Draft = true }))
		if run.State != flow.RunSucceeded || !run.Draft || run.Version != 0 {
			t.Errorf("the draft run is %+v", run)
		}
	})
}

func TestStartRun_replays_after_flow_is_archived(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, passThroughFlow).start()
		repeat := func(s *flow.Start) { s.IdempotencyKey, s.Fingerprint, s.Wait = "k", "f", 20*time.Second }
		first := fx.startRun(repeat)
		if err := fx.store.ArchiveFlow(context.Background(), flow.DefaultWorkspace, fx.flowID); err != nil {
			t.Fatal(err)
		}
		if again := fx.startRun(repeat); again.ID != first.ID || again.State != flow.RunSucceeded {
			t.Errorf("the repeated request found %s (%s), wanted %s", again.ID, again.State, first.ID)
		}
		_, err := fx.runner.StartRun(context.Background(), flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID})
		if flow.AsError(err).Code != flow.CodeNotFound {
			t.Errorf("an archived flow was started: %v", err)
		}
	})
}

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
		if end := fx.awaitEnd(run); end.State != flow.RunSucceeded || end.Outputs["y"] != "hello" {
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
		late := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Given: map[string]any{"x": "late"}}
		started, err := fx.runner.StartRun(context.Background(), late)
		if shared := cfg.DatabaseURL != ""; shared != (err == nil) || !shared && !errors.Is(err, &flow.Error{Code: flow.CodeDraining}) {
			t.Errorf("a start while draining gave %v", err)
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
		if end := fx.awaitEnd(started.Run); end.Outputs["y"] != "late" {
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

func TestRun_releases_worker_during_long_back_off(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		fx := newFixture(t, cfg, `{"schema":"sluice.flow/v1","name":"Retry","nodes":[
			{"id":"a","kind":"input","config":{"name":"x"}},
			{"id":"g","kind":"gate","retry":{"attempts":2,"backoff_s":60},"config":{}},
			{"id":"o","kind":"output","config":{"name":"y"}}],
			"edges":[{"from":"a.value","to":"g.value"},{"from":"g.value","to":"o.value"}]}`).start()
		fx.gate.release <- &flow.Error{Code: flow.CodeHTTPFailed, Message: "Not now.", Retryable: true}
		run := fx.startRun()
		fx.awaitRun(run, func(r *flow.Run) bool { return r.State == flow.RunWaiting })
		fx.gate.release <- nil
		fx.clock.advance(61 * time.Second)
		end := fx.awaitEnd(run)
		if end.State != flow.RunSucceeded || end.Outputs["y"] != "hello" {
			t.Errorf("continued, the run is %s with %v", end.State, end.Outputs)
		}
	})
}

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
		if run.Outputs["y"] != "hello" {
			t.Errorf("the returned run has %v", run.Outputs)
		}
		if gone := fx.awaitRun(run, func(r *flow.Run) bool { return r.Erased != "" }); gone.Erased != flow.CodeResultNotSaved {
			t.Errorf("erased as %s", gone.Erased)
		}
	})
}

// crash recovers as if an engine had crashed while it worked on the runs.
func crash(t *testing.T, fx *fixture, runIDs ...string) {
	t.Helper()
	marks := fx.store.BusyMarks()
	for _, id := range runIDs {
		if _, err := fx.store.SQLite().Exec(`UPDATE river_job SET state = 'running' WHERE kind = 'run' AND json_extract(args, '$.id') = ?`, id); err != nil {
			t.Fatal(err)
		}
		marks.Open(id).Enter()
	}
	fx.store.BusyMarks() // of the next engine
	if _, err := fx.store.Recover(context.Background(), "gone"); err != nil {
		t.Fatal(err)
	}
}

// suspectsFailStore fails the next calls of TrySuspects for a transient reason.
type suspectsFailStore struct {
	*db.Store
	failures atomic.Int32
}

func (s *suspectsFailStore) TrySuspects(ctx context.Context, runIDs []string) (map[string]int64, error) {
	if s.failures.Add(-1) >= 0 {
		return nil, errTransient
	}
	return s.Store.TrySuspects(ctx, runIDs)
}

// Nothing else claims a suspect before the next start.
func TestSuspects_are_claimed_despite_store_errors(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), passThroughFlow)
	suspect := fx.startRun()
	crash(t, fx, suspect.ID)
	crash(t, fx, suspect.ID)
	s := &suspectsFailStore{Store: fx.store}
	s.failures.Store(2)
	fx.newRunnerOn(s)
	fx.start()
	if end := fx.awaitEnd(suspect); end.State != flow.RunSucceeded {
		t.Errorf("the suspect is %s: %+v", end.State, end.Error)
	}
}

func TestSuspects_do_not_block_other_runs(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), gateOnlyFlow)
	suspect := fx.startRun(func(s *flow.Start) { s.Given = nil })
	crash(t, fx, suspect.ID)
	crash(t, fx, suspect.ID)
	fx.start() // returns although the suspect is still at the gate
	<-fx.gate.started
	fx.publish(passThroughFlow)
	if end := fx.awaitEnd(fx.startRun()); end.State != flow.RunSucceeded {
		t.Errorf("a run next to the suspect is %s: %+v", end.State, end.Error)
	}
	fx.gate.release <- nil
	if end := fx.awaitEnd(suspect); end.State != flow.RunSucceeded || end.Crashes != 0 {
		t.Errorf("the cleared suspect is %s with %d crashes", end.State, end.Crashes)
	}
}

func TestSuspects_next_group_starts_after_timeout(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), gateOnlyFlow)
	begin := func() string { return fx.startRun(func(s *flow.Start) { s.Given = nil }).ID }
	first, second := begin(), begin()
	crash(t, fx, first, second)
	crash(t, fx, first, second)
	if _, err := fx.store.TrySuspects(t.Context(), []string{first, second}); err != nil {
		t.Fatal(err)
	}
	crash(t, fx, first, second) // now each is a group
	fx.newRunnerWith(fx.store, func(c *jobs.Config) { c.SuspectTimeout = 100 * time.Millisecond })
	fx.start()
	begun := map[string]bool{<-fx.gate.started: true, <-fx.gate.started: true} // neither has recorded progress
	if len(begun) != 2 {
		t.Errorf("begun: %v", begun)
	}
	fx.gate.release <- nil
	fx.gate.release <- nil
	for _, id := range []string{first, second} {
		if end := fx.awaitEnd(&flow.Run{WorkspaceID: flow.DefaultWorkspace, ID: id}); end.State != flow.RunSucceeded {
			t.Errorf("%s is %s: %+v", id, end.State, end.Error)
		}
	}
}

func TestDrain_hands_suspects_back(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), gateOnlyFlow)
	begin := func() *flow.Run { return fx.startRun(func(s *flow.Start) { s.Given = nil }) }
	retried, parked := begin(), begin()
	crash(t, fx, retried.ID, parked.ID)
	crash(t, fx, retried.ID, parked.ID)
	if _, err := fx.store.TrySuspects(t.Context(), []string{retried.ID, parked.ID}); err != nil {
		t.Fatal(err)
	}
	crash(t, fx, retried.ID, parked.ID)
	before := fx.findRun(retried).Crashes
	fx.newRunner()
	fx.start()
	<-fx.gate.started
	if err := drain(fx.runner, 0); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	fx.newRunner()
	if _, err := fx.store.Recover(t.Context(), "next"); err != nil {
		t.Fatal(err)
	}
	for _, run := range []*flow.Run{retried, parked} {
		if n := fx.findRun(run).Crashes; n != before {
			t.Errorf("a shutdown left %d crashes, wanted %d", n, before)
		}
	}
	fx.start()
	fx.gate.release <- nil
	fx.gate.release <- nil
	for _, run := range []*flow.Run{retried, parked} {
		if end := fx.awaitEnd(run); end.State != flow.RunSucceeded {
			t.Errorf("handed back, a suspect is %s: %+v", end.State, end.Error)
		}
	}
}

func (fx *fixture) findRun(run *flow.Run) *flow.Run {
	fx.t.Helper()
	r, err := fx.store.FindRun(context.Background(), run.WorkspaceID, "", run.ID)
	if err != nil {
		fx.t.Fatal(err)
	}
	return r
}

func TestSuspects_poisoned_run_fails(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), gatedFlow)
	run, neighbor := fx.startRun(), fx.startRun()
	crash(t, fx, run.ID)
	crash(t, fx, run.ID)
	if _, err := fx.store.TrySuspects(t.Context(), []string{run.ID}); err != nil {
		t.Fatal(err)
	}
	crash(t, fx, run.ID) // while being retried
	fx.gate.release <- nil
	fx.start()
	if end := fx.awaitEnd(run); end.State != flow.RunFailed || end.Error == nil || end.Error.Code != flow.CodePoisoned {
		t.Errorf("the poisoned run is %s: %+v", end.State, end.Error)
	}
	if end := fx.awaitEnd(neighbor); end.State != flow.RunSucceeded {
		t.Errorf("its neighbor is %s: %+v", end.State, end.Error)
	}
}

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
	if end.State != flow.RunSucceeded || end.ParentRunID != parent.ID || end.Outputs["y"] != "hello" {
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
