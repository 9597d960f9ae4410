package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/fairness"
)

// river makes the queue insert jobs into River's own table, as running jobs of an
// instance.
func (w *fixture) river(instance string) {
	args := func(j flow.Job) string { return fmt.Sprintf(`{"id":%q,"attempt":%d}`, j.ID, j.Attempt) }
	w.queue.in = func(tx any, jobs []flow.Job) (err error) {
		for _, j := range jobs {
			switch tx := tx.(type) {
			case *sql.Tx:
				_, err = tx.Exec(`INSERT INTO river_job (kind, args, state, queue) VALUES (?, jsonb(?), 'running', 'runs')`, j.Kind, args(j))
			case pgx.Tx:
				_, err = tx.Exec(context.Background(), `INSERT INTO river_job (kind, args, state, queue, max_attempts, attempted_by)
					VALUES ($1, $2, 'running', 'runs', 1, ARRAY['somebody', $3])`, j.Kind, args(j), instance)
			}
		}
		return err
	}
}

func (w *fixture) riverJobs() (n int) {
	w.t.Helper()
	const count = "SELECT count(*) FROM river_job"
	if w.IsPostgres() {
		w.must(db.Pool(w.Store).QueryRow(w.ctx, count).Scan(&n))
		return n
	}
	w.must(w.SQLite().QueryRow(count).Scan(&n))
	return n
}

// crash makes the instance die and another one recover.
func (w *fixture) crash() flow.Recovery {
	w.t.Helper()
	w.clock.move(time.Minute)
	w.queue.in = nil // jobs made by the recovery have not been fetched
	w.must(w.Heartbeat(w.ctx, "next", 5))
	report, err := w.Recover(w.ctx, "next")
	w.must(err)
	return report
}

func (w *fixture) begin(instance string) {
	w.t.Helper()
	w.must(w.Heartbeat(w.ctx, instance, 5))
	w.river(instance)
}

func TestRecover(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.begin("dead")
		running := w.take(w.start().ID)
		ended := w.startAndFinish()
		waiting := w.take(w.start().ID)
		w.wait(waiting, w.clock.Now().Add(time.Hour))
		_, delivery := w.withDelivery()
		jobs := w.queue.count(running.ID)

		report := w.crash()
		wantEqual(t, "runs", report.Runs, 2)
		wantEqual(t, "deliveries", report.Deliveries, 1)
		wantEqual(t, "suspects", len(report.Suspects), 0)
		wantEqual(t, "rows left in the queue", w.riverJobs(), 0)
		wantEqual(t, "fresh jobs", w.queue.count(running.ID)-jobs, 1)

		again := w.take(running.ID)
		wantEqual(t, "attempt", again.Attempt, 2)
		wantEqual(t, "crashes", again.Crashes, 1)
		wantEqual(t, "state", again.State, flow.RunRunning)
		if err := w.finish(running, flow.RunSucceeded); !errors.Is(err, dbconn.ErrFenced) {
			t.Fatalf("the dead worker wrote: %v", err)
		}
		wantEqual(t, "ended", w.find(ended.ID).Attempt, 1)
		wantEqual(t, "waiting", w.find(waiting.ID).Attempt, 1)

		n, _, err := w.DueDeliveries(w.ctx, w.clock.Now(), 10)
		w.must(err)
		wantEqual(t, "due deliveries", n, 1)
		w.deliver(delivery, flow.DeliveryDelivered)

		again.Seq++
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: again, Progressed: true}))
		wantEqual(t, "crashes after progress", w.find(running.ID).Crashes, 0)
	})
}

// dies makes an instance crash while it holds runs. The busy ones were executing a step.
// trial has the attempt of each run on trial. It returns the report of the
// recovery that follows.
func (w *fixture) dies(instance string, busy, idle []flow.RunID, trial map[flow.RunID]int64) flow.Recovery {
	w.t.Helper()
	w.begin(instance)
	for _, id := range slices.Concat(busy, idle) {
		j, _ := w.queue.last(string(id))
		if attempt, tried := trial[id]; tried {
			j.Attempt = attempt
		} else {
			w.must(w.Write(w.ctx, true, func(tx *core.Tx) error { tx.Enqueue(j); return nil }))
		}
		r, _, err := w.LoadRun(w.ctx, id, j.Attempt)
		w.must(err)
		if slices.Contains(idle, id) {
			r.State = flow.RunRunning
			w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Busy: false}))
		}
	}
	if !w.IsPostgres() {
		marks := w.BusyMarks()
		for _, id := range busy {
			marks.Open(string(id)).Enter()
		}
		w.BusyMarks() // of the next engine
	}
	return w.crashAs("after " + instance)
}

// try claims the suspects of a recovery for the instance.
func (w *fixture) try(instance string, suspects []flow.Suspect) map[flow.RunID]int64 {
	w.t.Helper()
	w.must(w.Heartbeat(w.ctx, instance, 5))
	attempts, err := w.TrySuspects(w.ctx, suspectIDs(suspects))
	w.must(err)
	wantEqual(w.t, "tried", len(attempts), len(suspects))
	return attempts
}

func suspectIDs(list []flow.Suspect) []flow.RunID {
	ids := make([]flow.RunID, len(list))
	for i := range list {
		ids[i] = list[i].RunID
	}
	slices.Sort(ids)
	return ids
}

func TestRecover_suspects_a_run_busy_in_two_crashes(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		guilty, innocent := w.start().ID, w.start().ID
		both := []flow.RunID{guilty, innocent}
		wantEqual(t, "after one crash", len(w.dies("one", both, nil, nil).Suspects), 0)
		report := w.dies("two", []flow.RunID{guilty}, []flow.RunID{innocent}, nil)
		wantEqual(t, "after two", fmt.Sprint(suspectIDs(report.Suspects)), fmt.Sprint([]flow.RunID{guilty}))
		wantEqual(t, "handed back", report.Runs, 1)

		trial := w.try("three", report.Suspects)
		if again, err := w.TrySuspects(w.ctx, []flow.RunID{guilty}); err != nil || len(again) > 0 {
			t.Fatalf("two tried it: %v, %v", again, err)
		}
		report = w.dies("three", []flow.RunID{guilty}, []flow.RunID{innocent}, trial)
		wantEqual(t, "after its trial", report.Suspects[0], flow.Suspect{RunID: guilty, WorkspaceID: ws, FlowID: w.flow.ID, TrialSize: 1, Guilt: flow.GuiltyAt})
		// If the recovery ends before its report is used, the next one reports it again.
		wantEqual(t, "suspects again", len(w.crashAs("four").Suspects), 1)

		trial = w.try("four", report.Suspects)
		r, _, err := w.LoadRun(w.ctx, guilty, trial[guilty])
		w.must(err)
		w.must(w.finish(r, flow.RunFailed))
		wantEqual(t, "suspects left", len(w.crashAs("five").Suspects), 0)
		wantEqual(t, "crashes of its neighbour", w.find(innocent).Crashes, 3)
	})
}

// TestRecover_finds_a_run_that_waits_not_guilty has a run that only waits for its model while
// the process is killed again and again. After ten crashes it is tried apart from others, in
// case a mark was missed, but is never guilty.
func TestRecover_finds_a_run_that_waits_not_guilty(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		id, other := w.start().ID, w.start().ID
		for i := range 9 {
			var busy []flow.RunID
			if i == 5 { // the neighbor may have caused this one
				busy = append(busy, other)
			}
			wantEqual(t, fmt.Sprintf("suspects after %d crashes", i+1), len(w.dies(fmt.Sprint("n", i), busy, []flow.RunID{id}, nil).Suspects), 0)
		}
		report := w.dies("tenth", nil, []flow.RunID{id}, nil)
		for i := range 10 {
			wantEqual(t, "suspects", fmt.Sprint(suspectIDs(report.Suspects)), fmt.Sprint([]flow.RunID{id}))
			wantEqual(t, "guilt", report.Suspects[0].Guilt, 0)
			instance := fmt.Sprint("trial ", i)
			report = w.dies(instance, nil, []flow.RunID{id}, w.try(instance, report.Suspects))
		}
	})
}

// TestRecover_bisects_a_group finds the one run among many that crashes the process. The
// others progress as soon as they are tried without it.
func TestRecover_bisects_a_group(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		var all []flow.RunID
		for range 9 {
			all = append(all, w.start().ID)
		}
		guilty := all[4]
		w.dies("a", all, nil, nil)
		report := w.dies("b", all, nil, nil)
		wantEqual(t, "suspects", fmt.Sprint(suspectIDs(report.Suspects)), fmt.Sprint(all))
		crashes := 0
		for i := range 20 {
			instance := fmt.Sprint("trial ", i)
			if report.Suspects[0].Guilt >= flow.GuiltyAt {
				break
			}
			for _, group := range fairness.TrialGroups(report.Suspects) {
				trial := w.try(instance, group)
				if slices.Contains(suspectIDs(group), guilty) {
					report = w.dies(instance, suspectIDs(group), nil, trial)
					crashes++
					break
				}
				for id, attempt := range trial {
					r, _, err := w.LoadRun(w.ctx, id, attempt)
					w.must(err)
					w.must(w.finish(r, flow.RunSucceeded))
				}
			}
			slices.SortFunc(report.Suspects, func(a, b flow.Suspect) int { return b.Guilt - a.Guilt })
		}
		if first := report.Suspects[0]; first.RunID != guilty || first.Guilt < flow.GuiltyAt || crashes > 5 {
			t.Errorf("after %d crashes the first suspect is %+v, want %s", crashes, first, guilty)
		}
		for _, s := range report.Suspects[1:] {
			if s.Guilt > 0 {
				t.Errorf("%s is held to be guilty: %+v", s.RunID, s)
			}
		}
	})
}

func TestBusyMarks_survive_a_full_disk(t *testing.T) {
	t.Parallel()
	cfg := dbtest.SQLiteConfig(t)
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	marks := s.BusyMarks()
	mark := marks.Open("run_a")
	// The file loses its pages, as on a disk that cannot provide them.
	if err := os.Truncate(filepath.Join(cfg.DataDir, db.BusyFile), 0); err != nil {
		t.Fatal(err)
	}
	mark.Enter()
	mark.Leave()
	mark.Close()
	marks.Open("run_b").Enter()
}

func (w *fixture) crashAs(next string) flow.Recovery {
	w.t.Helper()
	w.clock.move(time.Minute)
	w.queue.in = nil
	w.must(w.Heartbeat(w.ctx, next, 5))
	report, err := w.Recover(w.ctx, next)
	w.must(err)
	return report
}

func TestRecover_ignores_crashes_before_the_start_of_a_job(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.Heartbeat(w.ctx, "dead", 5))
		if w.IsPostgres() {
			w.river("dead") // fetched, but nobody has loaded the run
		}
		id := w.start().ID
		report := w.crash()
		wantEqual(t, "runs", report.Runs, 1)
		wantEqual(t, "crashes", w.find(id).Crashes, 0)
		wantEqual(t, "attempt", w.take(id).Attempt, 2)
	})
}

func TestRecover_skips_live_instances(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		if !w.IsPostgres() {
			return // SQLite has only one instance
		}
		w.begin("alive")
		r := w.take(w.start().ID)
		w.clock.move(19 * time.Second)
		report, err := w.Recover(w.ctx, "other")
		w.must(err)
		wantEqual(t, "runs", report.Runs, 0)
		w.must(w.finish(r, flow.RunSucceeded))
		w.must(w.LeaveInstance(w.ctx, "alive"))
		_, err = w.Recover(w.ctx, "other")
		w.must(err)
	})
}

func TestRequeueRuns(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		w.must(w.RequeueRuns(w.ctx, map[flow.RunID]int64{r.ID: r.Attempt, "run_none": 1}))
		again := w.take(r.ID)
		wantEqual(t, "attempt", again.Attempt, 2)
		wantEqual(t, "crashes", again.Crashes, 0)
		w.must(w.RequeueRuns(w.ctx, map[flow.RunID]int64{r.ID: r.Attempt})) // stale
		wantEqual(t, "attempt still", w.find(r.ID).Attempt, 2)
	})
}
