package db_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
)

// onPostgres sets up a fixture on PostgreSQL.
func onPostgres(t *testing.T) *fixture {
	t.Helper()
	c := &clock{now: time.Date(2026, 3, 14, 15, 9, 26, 535_000_000, time.UTC)}
	return newFixture(t, dbtest.Postgres(t, func(cfg *core.Config) { cfg.Now = c.Now }), c)
}

func (w *fixture) holds(instance string) []flow.Hold {
	w.t.Helper()
	list, err := w.ListHolds(w.ctx, instance)
	w.must(err)
	for i := range list {
		list[i].Row = min(list[i].Row, 1) // whether there is one
	}
	slices.SortFunc(list, func(a, b flow.Hold) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Row, b.Row)) })
	return list
}

func TestListHolds(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	w.must(w.Heartbeat(w.ctx, "b", 5))
	w.river("b")
	fetched := w.start().ID
	w.must(w.Heartbeat(w.ctx, "a", 5))
	w.river("a")
	mine := w.start().ID
	w.take(mine)
	w.queue.in = nil // as if in memory, without a job
	lost := w.start().ID
	w.river("gone")
	forgotten := w.start().ID
	want := []flow.Hold{
		{Kind: flow.JobRun, ID: string(mine), Attempt: 1, By: flow.HeldHere}, {Kind: flow.JobRun, ID: string(mine), Attempt: 1, Row: 1, By: flow.HeldHere},
		{Kind: flow.JobRun, ID: string(lost), Attempt: 1, By: flow.HeldByNone}, {Kind: flow.JobRun, ID: string(forgotten), Attempt: 1, Row: 1, By: flow.HeldByNone},
	}
	if got := w.holds("a"); !slices.Equal(got, want) {
		t.Errorf("a sees %+v, want %+v", got, want)
	}
	if got := w.holds("b"); !slices.Contains(got, flow.Hold{Kind: flow.JobRun, ID: string(fetched), Attempt: 1, Row: 1, By: flow.HeldHere}) || slices.Contains(got, want[0]) {
		t.Errorf("b sees %+v", got)
	}
}

func TestListHolds_runs_that_should_have_ended(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	w.must(w.Heartbeat(w.ctx, "a", 5))
	late, canceled, fine := w.take(w.start().ID), w.start(), w.take(w.start().ID)
	for _, r := range []*flow.Run{late, fine} {
		r.DeadlineAt = w.clock.Now().Add(time.Minute)
		if r == fine {
			r.DeadlineAt = r.DeadlineAt.Add(time.Minute)
		}
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Durable: true}))
	}
	_, err := w.RequestCancel(w.ctx, ws, canceled.FlowID, canceled.ID)
	w.must(err)
	w.clock.move(time.Minute)
	got := slices.DeleteFunc(w.holds("b"), func(h flow.Hold) bool { return h.By != flow.HeldTooLong })
	want := []flow.Hold{{Kind: flow.JobRun, ID: string(late.ID), Attempt: 1, By: flow.HeldTooLong}, {Kind: flow.JobRun, ID: string(canceled.ID), Attempt: 1, By: flow.HeldTooLong}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	next, err := w.TakeOverRun(w.ctx, late.ID, 1)
	w.must(err)
	wantEqual(t, "attempt", next, 2)
	if _, err := w.TakeOverRun(w.ctx, late.ID, 1); !errors.Is(err, flow.ErrFenced) {
		t.Errorf("taken twice: %v", err)
	}
	if err := w.finish(late, flow.RunSucceeded); !errors.Is(err, flow.ErrFenced) {
		t.Errorf("the late answer of the former holder: %v", err)
	}
}

func TestReleaseHolds(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	w.must(w.Heartbeat(w.ctx, "b", 5))
	w.river("b")
	theirs := w.start().ID
	w.must(w.Heartbeat(w.ctx, "a", 5))
	w.river("a")
	r := w.take(w.start().ID)
	row := func(of flow.RunID) (id int64) {
		w.must(db.Pool(w.Store).QueryRow(w.ctx, "SELECT id FROM river_job WHERE args->>'id' = $1", of).Scan(&id))
		return id
	}
	release := []flow.Hold{
		{Kind: flow.JobRun, ID: string(r.ID), Attempt: 1, Row: row(r.ID)}, {Kind: flow.JobRun, ID: string(r.ID), Attempt: 1},
		{Kind: flow.JobRun, ID: string(theirs), Attempt: 9, Row: row(theirs)},
	}
	w.queue.in = nil
	w.must(w.ReleaseHolds(w.ctx, "a", release))
	w.must(w.ReleaseHolds(w.ctx, "a", release[:2])) // again, for the answer was lost
	wantEqual(t, "jobs of the run", w.queue.count(r.ID), 2)
	wantEqual(t, "crashes", w.find(r.ID).Crashes, 0)
	wantEqual(t, "jobs in the queue's table", w.riverJobs(), 1) // of a living instance
	if err := w.finish(r, flow.RunSucceeded); !errors.Is(err, flow.ErrFenced) {
		t.Errorf("the late answer of the former holder: %v", err)
	}
	again := w.take(r.ID)
	wantEqual(t, "attempt", again.Attempt, 2)
	w.must(w.finish(again, flow.RunSucceeded))
	wantEqual(t, "attempt of the other run", w.find(theirs).Attempt, 1)
}

func TestReleaseHolds_deliveries(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	w.must(w.Heartbeat(w.ctx, "a", 5))
	r := w.take(w.start().ID)
	r.State, r.EndedAt = flow.RunSucceeded, w.clock.Now()
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, End: true, Durable: true, Deliveries: []flow.NewDelivery{{ID: "whd_a", Node: "hook", URL: "https://a.test/x", Body: []byte(`{}`)}}}))
	wantEqual(t, "attempts handed out", len(w.handed()), 1)
	want := flow.Hold{Kind: flow.JobDelivery, ID: "whd_a", Attempt: 1, By: flow.HeldByNone}
	if got := w.holds("a"); !slices.Equal(got, []flow.Hold{want}) {
		t.Fatalf("got %+v", got)
	}
	w.must(w.ReleaseHolds(w.ctx, "a", []flow.Hold{want}))
	wantEqual(t, "attempts handed out", len(w.handed()), 2)
	w.must(w.ReleaseHolds(w.ctx, "a", []flow.Hold{want})) // stale
	wantEqual(t, "attempts handed out", len(w.handed()), 2)
	if _, err := w.FindDelivery(w.ctx, "whd_a", 1); !errors.Is(err, flow.ErrFenced) {
		t.Errorf("the former attempt: %v", err)
	}
}
