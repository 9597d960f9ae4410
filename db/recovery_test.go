package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db"
	"sluice/flow"
)

// river lets the queue put rows into River's own table, as running jobs of an
// instance.
func (w *world) river(instance string) {
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

func (w *world) riverJobs() (n int) {
	w.t.Helper()
	const count = "SELECT count(*) FROM river_job"
	if w.Pool() != nil {
		w.must(w.Pool().QueryRow(w.ctx, count).Scan(&n))
		return n
	}
	w.must(w.SQLite().QueryRow(count).Scan(&n))
	return n
}

// crash makes the instance die and another one recover.
func (w *world) crash() flow.Recovery {
	w.t.Helper()
	w.clock.move(time.Minute)
	w.queue.in = nil // jobs made by the recovery have not been fetched
	w.must(w.Heartbeat(w.ctx, "next", 5))
	report, err := w.Recover(w.ctx, "next")
	w.must(err)
	return report
}

func (w *world) begin(instance string) {
	w.t.Helper()
	w.must(w.Heartbeat(w.ctx, instance, 5))
	w.river(instance)
}

func TestRecover(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
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
		if err := w.finish(running, flow.RunSucceeded); !errors.Is(err, db.ErrFenced) {
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

func TestRecover_tries_a_suspect_alone(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		w.begin("dead")
		id := w.start().ID
		w.take(id)
		w.crash()
		// Its next worker dies with it, too.
		w.begin("next")
		w.must(w.Write(w.ctx, true, func(tx *db.Tx) error { j, _ := w.queue.last(id); tx.Enqueue(j); return nil }))
		w.take(id)
		jobs := w.queue.count(id)
		w.clock.move(time.Minute)
		report := w.crashAs("third")
		wantEqual(t, "runs", report.Runs, 0)
		wantEqual(t, "suspects", len(report.Suspects), 1)
		wantEqual(t, "crashes", report.Suspects[0].Crashes, 2)
		wantEqual(t, "jobs", w.queue.count(id), jobs)

		attempt, err := w.TryAlone(w.ctx, id)
		w.must(err)
		_, _, err = w.LoadRun(w.ctx, id, attempt)
		w.must(err)
		if _, err := w.TryAlone(w.ctx, id); !errors.Is(err, db.ErrFenced) {
			t.Fatalf("two tried it alone: %v", err)
		}
		report = w.crashAs("fourth")
		wantEqual(t, "crashes after it was alone", report.Suspects[0].Crashes, 3)
		// Cut before anybody looked, the next recovery reports it again.
		wantEqual(t, "suspects again", len(w.crashAs("fifth").Suspects), 1)

		attempt, err = w.TryAlone(w.ctx, id)
		w.must(err)
		r, _, err := w.LoadRun(w.ctx, id, attempt)
		w.must(err)
		w.must(w.finish(r, flow.RunFailed))
		wantEqual(t, "suspects left", len(w.crashAs("sixth").Suspects), 0)
	})
}

func (w *world) crashAs(next string) flow.Recovery {
	w.t.Helper()
	w.clock.move(time.Minute)
	w.queue.in = nil
	w.must(w.Heartbeat(w.ctx, next, 5))
	report, err := w.Recover(w.ctx, next)
	w.must(err)
	return report
}

func TestRecover_a_job_that_was_not_begun_is_no_crash(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		w.must(w.Heartbeat(w.ctx, "dead", 5))
		if w.Pool() != nil {
			w.river("dead") // fetched, but nobody has loaded the run
		}
		id := w.start().ID
		report := w.crash()
		wantEqual(t, "runs", report.Runs, 1)
		wantEqual(t, "crashes", w.find(id).Crashes, 0)
		wantEqual(t, "attempt", w.take(id).Attempt, 2)
	})
}

func TestRecover_spares_the_living(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		if w.Pool() == nil {
			t.Skip("on SQLite there is one engine")
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

func TestHandBack(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		r := w.take(w.start().ID)
		w.must(w.HandBack(w.ctx, map[string]int64{r.ID: r.Attempt, "run_none": 1}))
		again := w.take(r.ID)
		wantEqual(t, "attempt", again.Attempt, 2)
		wantEqual(t, "crashes", again.Crashes, 0)
		w.must(w.HandBack(w.ctx, map[string]int64{r.ID: r.Attempt})) // stale
		wantEqual(t, "attempt still", w.find(r.ID).Attempt, 2)
	})
}
