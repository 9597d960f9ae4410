package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/jobs"
)

// crash recovers as if an engine had crashed while it worked on the runs.
func crash(t *testing.T, fx *fixture, runIDs ...flow.RunID) {
	t.Helper()
	marks := fx.store.BusyMarks()
	for _, id := range runIDs {
		if _, err := fx.store.SQLite().Exec(`UPDATE river_job SET state = 'running' WHERE kind = 'run' AND json_extract(args, '$.id') = ?`, id); err != nil {
			t.Fatal(err)
		}
		marks.Open(string(id)).Enter()
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

func (s *suspectsFailStore) TrySuspects(ctx context.Context, runIDs []flow.RunID) (map[flow.RunID]int64, error) {
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
	begin := func() flow.RunID { return fx.startRun(func(s *flow.Start) { s.Given = nil }).ID }
	first, second := begin(), begin()
	crash(t, fx, first, second)
	crash(t, fx, first, second)
	if _, err := fx.store.TrySuspects(t.Context(), []flow.RunID{first, second}); err != nil {
		t.Fatal(err)
	}
	crash(t, fx, first, second) // now each is a group
	fx.newRunnerWith(fx.store, func(c *jobs.Config) { c.SuspectTimeout = 100 * time.Millisecond })
	fx.start()
	started := map[string]bool{<-fx.gate.started: true, <-fx.gate.started: true} // neither has recorded progress
	if len(started) != 2 {
		t.Errorf("started %v", started)
	}
	fx.gate.release <- nil
	fx.gate.release <- nil
	for _, id := range []flow.RunID{first, second} {
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
	if _, err := fx.store.TrySuspects(t.Context(), []flow.RunID{retried.ID, parked.ID}); err != nil {
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

func TestSuspects_poisoned_run_fails(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), gatedFlow)
	run, neighbor := fx.startRun(), fx.startRun()
	crash(t, fx, run.ID)
	crash(t, fx, run.ID)
	if _, err := fx.store.TrySuspects(t.Context(), []flow.RunID{run.ID}); err != nil {
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

// TestSuspects_are_marked_before_they_process_data reads the mark of a run on trial from the
// database, as another instance would after a crash.
func TestSuspects_are_marked_before_they_process_data(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, dbtest.PostgresConfig(t), gateOnlyFlow)
	run := fx.startRun(func(s *flow.Start) { s.Given = nil })
	for _, sql := range []string{"DELETE FROM river_job", fmt.Sprintf("UPDATE runs SET place = %d, instance_id = '', busy = 0", core.PlaceSuspect)} {
		if _, err := db.Pool(fx.store).Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	marks := make(chan int, 2)
	fx.newRunnerWith(fx.store, func(c *jobs.Config) {
		c.Calls = func(ctx context.Context, _ func(context.Context) error, working func(bool)) context.Context {
			for _, busy := range []bool{true, false} {
				working(busy)
				var mark int
				if err := db.Pool(fx.store).QueryRow(t.Context(), "SELECT busy FROM runs WHERE id = $1", run.ID).Scan(&mark); err != nil {
					t.Error(err)
				}
				marks <- mark
			}
			return ctx
		}
	})
	fx.start()
	if during, after := <-marks, <-marks; during != 1 || after != 0 {
		t.Errorf("the marks are %d and then %d", during, after)
	}
	<-fx.gate.started
	fx.gate.release <- nil
	fx.awaitEnd(run)
}
