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

// The poll of these queues is an hour: a run that ends was woken by the commit.
func TestRunBeginsAtTheCommit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, passing).start()
		for range 20 {
			run := w.begin(func(s *flow.Start) { s.Wait = 20 * time.Second })
			if run.State != flow.RunSucceeded || run.Outputs["y"] != "hello" {
				t.Fatalf("the run is %s with %v", run.State, run.Outputs)
			}
		}
	})
}

func TestAnswerFromMemoryEqualsTheStore(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, passing).start()
		told := w.begin(func(s *flow.Start) { s.Wait = 20 * time.Second })
		kept := w.ended(told)
		if a, b := told.ExpiresAt, kept.ExpiresAt; !a.Equal(b) {
			t.Errorf("expires at %s in the answer, %s in the store", a, b)
		}
		if !told.EndedAt.Equal(kept.EndedAt) || !told.StartedAt.Equal(kept.StartedAt) || told.Seq != kept.Seq {
			t.Errorf("told %+v, kept %+v", told, kept)
		}
	})
}

func TestCompletedJobsAreRemoved(t *testing.T) {
	t.Parallel()
	w := open(t, sqliteConfig(t), passing).start()
	w.ended(w.begin())
	deadline := time.Now().Add(20 * time.Second)
	for left := -1; left != 0; {
		if err := w.store.SQLite().QueryRow(`SELECT count(*) FROM river_job WHERE kind IN ('run', 'delivery')`).Scan(&left); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d jobs are left", left)
		}
	}
}

func TestStartRunRefuses(t *testing.T) {
	t.Parallel()
	w := open(t, sqliteConfig(t), passing).start()
	draft := w.flowID
	library := &flow.Library{Store: w.store, Kinds: w.kinds, IDs: flow.NewIDs()}
	unpublished, err := library.Import(context.Background(), flow.DefaultWorkspace, "", []byte(passing))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		flowID string
		set    func(*flow.Start)
		want   flow.Code
	}{
		"an unknown flow":          {"flow_unknown", func(*flow.Start) {}, flow.CodeNotFound},
		"a flow never published":   {unpublished.ID, func(*flow.Start) {}, flow.CodeNotPublished},
		"a version that never was": {draft, func(s *flow.Start) { s.Options.Version = 7 }, flow.CodeInputInvalid},
		"a missing input":          {draft, func(s *flow.Start) { s.Given = nil }, flow.CodeInputInvalid},
		"another workspace":        {draft, func(s *flow.Start) { s.WorkspaceID = "ws_other" }, flow.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: c.flowID, Given: map[string]any{"x": "hello"}}
			c.set(&s)
			_, err := w.runner.StartRun(context.Background(), s)
			if !errors.Is(err, &flow.Error{Code: c.want}) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestDraftRunKeepsItsDocument(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, passing).start()
		run := w.ended(w.begin(func(s *flow.Start) { s.Options.Draft = true }))
		if run.State != flow.RunSucceeded || !run.Draft || run.Version != 0 {
			t.Errorf("the draft run is %+v", run)
		}
	})
}

func TestIdempotencyOutlivesTheFlow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, passing).start()
		repeat := func(s *flow.Start) { s.IdempotencyKey, s.Fingerprint, s.Wait = "k", "f", 20*time.Second }
		first := w.begin(repeat)
		if err := w.store.ArchiveFlow(context.Background(), flow.DefaultWorkspace, w.flowID); err != nil {
			t.Fatal(err)
		}
		if again := w.begin(repeat); again.ID != first.ID || again.State != flow.RunSucceeded {
			t.Errorf("the repeated request found %s (%s), wanted %s", again.ID, again.State, first.ID)
		}
		_, err := w.runner.StartRun(context.Background(), flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: w.flowID})
		if flow.AsError(err).Code != flow.CodeNotFound {
			t.Errorf("an archived flow was started: %v", err)
		}
	})
}

func TestCancelReachesTheStep(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, gated).start()
		run := w.begin()
		<-w.gate.begun
		got, err := w.runner.CancelRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID)
		if err != nil || got.State != flow.RunCanceled {
			t.Fatalf("canceled: %+v, %v", got, err)
		}
		again, err := w.runner.CancelRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID)
		if err != nil || again.State != flow.RunCanceled || !again.EndedAt.Equal(got.EndedAt) {
			t.Errorf("a second cancel changed the run: %+v, %v", again, err)
		}
	})
}

// A cancel that comes while a worker takes the run must not get lost.
func TestCancelAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, gated).start()
		for range 30 {
			run := w.begin()
			if _, err := w.runner.CancelRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID); err != nil {
				t.Fatal(err)
			}
			if end := w.ended(run); end.State != flow.RunCanceled {
				t.Fatalf("the run is %s", end.State)
			}
		}
	})
}

func TestDrainHandsBack(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, gated).start()
		run := w.begin()
		<-w.gate.begun
		if err := drain(w.runner, 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		back, err := w.store.FindRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID)
		if err != nil || back.State.Ended() || back.Attempt != 2 || back.Crashes != 0 {
			t.Fatalf("handed back as %+v, %v", back, err)
		}
		w.wire()
		w.start()
		<-w.gate.begun
		w.gate.let <- nil
		if end := w.ended(run); end.State != flow.RunSucceeded || end.Outputs["y"] != "hello" {
			t.Errorf("went on to %s with %v", end.State, end.Outputs)
		}
	})
}

func TestDrainLetsStepsFinish(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, gated).start()
		run := w.begin()
		<-w.gate.begun
		drained := make(chan error)
		go func() { drained <- drain(w.runner, 20*time.Second) }()
		for !w.runner.Draining() {
			time.Sleep(time.Millisecond)
		}
		late := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: w.flowID, Given: map[string]any{"x": "late"}}
		started, err := w.runner.StartRun(context.Background(), late)
		if shared := cfg.DatabaseURL != ""; shared != (err == nil) || !shared && !errors.Is(err, &flow.Error{Code: flow.CodeDraining}) {
			t.Errorf("a start while draining gave %v", err)
		}
		w.gate.let <- nil
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
		steps, err := w.store.FindSteps(context.Background(), run.WorkspaceID, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if s.Node == "g" && s.State != flow.StepSucceeded {
				t.Errorf("the step that was let finish is %s", s.State)
			}
		}
		if started.Run == nil {
			return
		}
		w.wire()
		w.start()
		<-w.gate.begun
		w.gate.let <- nil
		if end := w.ended(started.Run); end.Outputs["y"] != "late" {
			t.Errorf("what was accepted while draining is %s with %v", end.State, end.Outputs)
		}
	})
}

func TestDrainLetsWaitersGo(t *testing.T) {
	t.Parallel()
	w := open(t, sqliteConfig(t), gated).start()
	told := make(chan *flow.Run)
	go func() { told <- w.begin(func(s *flow.Start) { s.Wait = time.Minute }) }()
	<-w.gate.begun
	go drain(w.runner, 10*time.Second)
	if run := <-told; run.State.Ended() {
		t.Errorf("the run is %s", run.State)
	}
	w.gate.let <- nil
}

func TestLongBackOffReleasesTheWorker(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, `{"schema":"sluice.flow/v1","name":"Retry","nodes":[
			{"id":"a","kind":"input","config":{"name":"x"}},
			{"id":"g","kind":"gate","retry":{"attempts":2,"backoff_s":60},"config":{}},
			{"id":"o","kind":"output","config":{"name":"y"}}],
			"edges":[{"from":"a.value","to":"g.value"},{"from":"g.value","to":"o.value"}]}`).start()
		w.gate.let <- &flow.Error{Code: flow.CodeHTTPFailed, Message: "Not now.", Retryable: true}
		run := w.begin()
		w.until(run, func(r *flow.Run) bool { return r.State == flow.RunWaiting })
		w.gate.let <- nil
		w.clock.advance(61 * time.Second)
		end := w.ended(run)
		if end.State != flow.RunSucceeded || end.Outputs["y"] != "hello" {
			t.Errorf("went on to %s with %v", end.State, end.Outputs)
		}
	})
}

func TestRetentionErases(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		cfg.Retention = time.Hour
		w := open(t, cfg, passing).start()
		run := w.ended(w.begin())
		w.clock.advance(2 * time.Hour)
		gone := w.until(run, func(r *flow.Run) bool { return r.Erased != "" })
		if gone.Erased != flow.CodeRunExpired || gone.Inputs != nil || gone.Outputs != nil || gone.State != flow.RunSucceeded {
			t.Errorf("the tombstone is %+v", gone)
		}
	})
}

func TestDiscardedRunIsErasedAtItsEnd(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, passing).start()
		run := w.begin(func(s *flow.Start) { s.Options.Discard, s.Wait = true, 20*time.Second })
		if run.Outputs["y"] != "hello" {
			t.Errorf("the answer has %v", run.Outputs)
		}
		if gone := w.until(run, func(r *flow.Run) bool { return r.Erased != "" }); gone.Erased != flow.CodeResultNotSaved {
			t.Errorf("erased as %s", gone.Erased)
		}
	})
}

// crash recovers as after a crash of an engine that had begun with the runs and
// was at work on them.
func crash(t *testing.T, w *world, runIDs ...string) {
	t.Helper()
	marks := w.store.BusyMarks()
	for _, id := range runIDs {
		if _, err := w.store.SQLite().Exec(`UPDATE river_job SET state = 'running' WHERE kind = 'run' AND json_extract(args, '$.id') = ?`, id); err != nil {
			t.Fatal(err)
		}
		marks.Open(id).Enter()
	}
	w.store.BusyMarks() // of the next engine
	if _, err := w.store.Recover(context.Background(), "gone"); err != nil {
		t.Fatal(err)
	}
}

// stuck is a store in which suspects cannot be taken for a passing reason, some
// times.
type stuck struct {
	*db.Store
	times atomic.Int32
}

func (s *stuck) TrySuspects(ctx context.Context, runIDs []string) (map[string]int64, error) {
	if s.times.Add(-1) >= 0 {
		return nil, errPassing
	}
	return s.Store.TrySuspects(ctx, runIDs)
}

// TestSuspectIsTriedOnceTheStoreAllowsIt: nobody comes for a suspect a second
// time before the next start.
func TestSuspectIsTriedOnceTheStoreAllowsIt(t *testing.T) {
	t.Parallel()
	w := open(t, sqliteConfig(t), passing)
	suspect := w.begin()
	crash(t, w, suspect.ID)
	crash(t, w, suspect.ID)
	s := &stuck{Store: w.store}
	s.times.Store(2)
	w.wireTo(s)
	w.start()
	if end := w.ended(suspect); end.State != flow.RunSucceeded {
		t.Errorf("the suspect is %s: %+v", end.State, end.Error)
	}
}

func TestSuspectIsTriedBesideNormalWork(t *testing.T) {
	t.Parallel()
	w := open(t, sqliteConfig(t), gateFirst)
	suspect := w.begin(func(s *flow.Start) { s.Given = nil })
	crash(t, w, suspect.ID)
	crash(t, w, suspect.ID)
	w.start() // returns although the suspect is still blocked
	<-w.gate.begun
	w.publish(passing)
	if end := w.ended(w.begin()); end.State != flow.RunSucceeded {
		t.Errorf("a run beside the suspect is %s: %+v", end.State, end.Error)
	}
	w.gate.let <- nil
	if end := w.ended(suspect); end.State != flow.RunSucceeded || end.Crashes != 0 {
		t.Errorf("an innocent suspect is %s with %d crashes", end.State, end.Crashes)
	}
}

func TestNextGroupIsTriedAfterTheBound(t *testing.T) {
	t.Parallel()
	w := open(t, sqliteConfig(t), gateFirst)
	begin := func() string { return w.begin(func(s *flow.Start) { s.Given = nil }).ID }
	first, second := begin(), begin()
	crash(t, w, first, second)
	crash(t, w, first, second)
	if _, err := w.store.TrySuspects(t.Context(), []string{first, second}); err != nil {
		t.Fatal(err)
	}
	crash(t, w, first, second) // each is a group now
	w.wireAs(w.store, func(c *jobs.Config) { c.Trial = 100 * time.Millisecond })
	w.start()
	begun := map[string]bool{<-w.gate.begun: true, <-w.gate.begun: true} // none has recorded anything
	if len(begun) != 2 {
		t.Errorf("begun: %v", begun)
	}
	w.gate.let <- nil
	w.gate.let <- nil
	for _, id := range []string{first, second} {
		if end := w.ended(&flow.Run{WorkspaceID: flow.DefaultWorkspace, ID: id}); end.State != flow.RunSucceeded {
			t.Errorf("%s is %s: %+v", id, end.State, end.Error)
		}
	}
}

func TestDrainHandsSuspectsBack(t *testing.T) {
	t.Parallel()
	w := open(t, sqliteConfig(t), gateFirst)
	begin := func() *flow.Run { return w.begin(func(s *flow.Start) { s.Given = nil }) }
	tried, parked := begin(), begin()
	crash(t, w, tried.ID, parked.ID)
	crash(t, w, tried.ID, parked.ID)
	if _, err := w.store.TrySuspects(t.Context(), []string{tried.ID, parked.ID}); err != nil {
		t.Fatal(err)
	}
	crash(t, w, tried.ID, parked.ID)
	before := w.find(tried).Crashes
	w.wire()
	w.start()
	<-w.gate.begun
	if err := drain(w.runner, 0); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	w.wire()
	if _, err := w.store.Recover(t.Context(), "next"); err != nil {
		t.Fatal(err)
	}
	for _, run := range []*flow.Run{tried, parked} {
		if n := w.find(run).Crashes; n != before {
			t.Errorf("a shutdown made %d crashes of %d", n, before)
		}
	}
	w.start()
	w.gate.let <- nil
	w.gate.let <- nil
	for _, run := range []*flow.Run{tried, parked} {
		if end := w.ended(run); end.State != flow.RunSucceeded {
			t.Errorf("handed back, a suspect is %s: %+v", end.State, end.Error)
		}
	}
}

func (w *world) find(run *flow.Run) *flow.Run {
	w.t.Helper()
	r, err := w.store.FindRun(context.Background(), run.WorkspaceID, "", run.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func TestPoisonedRunEnds(t *testing.T) {
	t.Parallel()
	w := open(t, sqliteConfig(t), gated)
	run, neighbor := w.begin(), w.begin()
	crash(t, w, run.ID)
	crash(t, w, run.ID)
	if _, err := w.store.TrySuspects(t.Context(), []string{run.ID}); err != nil {
		t.Fatal(err)
	}
	crash(t, w, run.ID) // on trial
	w.gate.let <- nil
	w.start()
	if end := w.ended(run); end.State != flow.RunFailed || end.Error == nil || end.Error.Code != flow.CodePoisoned {
		t.Errorf("the poisoned run is %s: %+v", end.State, end.Error)
	}
	if end := w.ended(neighbor); end.State != flow.RunSucceeded {
		t.Errorf("its neighbor is %s: %+v", end.State, end.Error)
	}
}

func TestRerunReusesWhatSucceeded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, cfg db.Config) {
		w := open(t, cfg, gated).start()
		w.gate.let <- &flow.Error{Code: flow.CodeHTTPFailed, Message: "Broken."}
		failed := w.ended(w.begin())
		if failed.State != flow.RunFailed || failed.Error.Node != "g" {
			t.Fatalf("the parent is %s: %+v", failed.State, failed.Error)
		}
		w.gate.let <- nil
		second := w.rerun(t, w.runner, failed, "")
		if got := w.states(second); got["a"] != flow.StepReused || got["g"] != flow.StepSucceeded {
			t.Errorf("after the failure: %v", got)
		}
		third := w.rerun(t, w.runner, second, "o")
		if got := w.states(third); got["a"] != flow.StepReused || got["g"] != flow.StepReused || got["o"] != flow.StepSucceeded {
			t.Errorf("from the output: %v", got)
		}
	})
}

func (w *world) rerun(t *testing.T, r *jobs.Runner, parent *flow.Run, from string) *flow.Run {
	t.Helper()
	started, err := r.Rerun(context.Background(), flow.Rerun{
		Start: flow.Start{WorkspaceID: parent.WorkspaceID, FlowID: parent.FlowID}, ParentRunID: parent.ID, From: from})
	if err != nil {
		t.Fatal(err)
	}
	end := w.ended(started.Run)
	if end.State != flow.RunSucceeded || end.ParentRunID != parent.ID || end.Outputs["y"] != "hello" {
		t.Fatalf("the rerun is %s: %+v", end.State, end)
	}
	return end
}

func (w *world) states(run *flow.Run) map[string]flow.StepState {
	w.t.Helper()
	steps, err := w.store.FindSteps(context.Background(), run.WorkspaceID, run.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	m := map[string]flow.StepState{}
	for _, s := range steps {
		m[s.Path] = s.State
	}
	return m
}
