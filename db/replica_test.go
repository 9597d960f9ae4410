package db_test

import (
	"syscall"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
)

// TestReplica_for_lists checks that lists are read from a replica only while it has all that was written, and
// that they work whatever happens to it.
func TestReplica_for_lists(t *testing.T) {
	t.Parallel()
	primary := dbtest.NewServer(t, dbtest.ServerConfig{})
	cfg := primary.Config("sluice")
	first, err := db.Open(t.Context(), cfg) // creates the tables
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	replica := primary.NewReplica()
	cfg.ReadDatabaseURL = replica.URL("sluice")
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := newFixture(t, s, &clock{now: time.Now()})
	state := func() (used, skipped int64) {
		t.Helper()
		r, _ := core.ReplicaOf(w.ctx, w.DB)
		return r.Used, r.Skipped
	}
	list := func(want flow.RunID) {
		t.Helper()
		runs, err := w.ListRuns(w.ctx, flow.RunFilter{WorkspaceID: ws, Limit: 1})
		w.must(err)
		if len(runs) != 1 || runs[0].ID != want {
			t.Fatalf("the list begins with %v, want %s", runs, want)
		}
		page, err := w.ListRunRows(w.ctx, flow.RunQuery{WorkspaceID: ws, Limit: 1})
		w.must(err)
		wantEqual(t, "first row", page.Rows[0].ID, want)
	}
	await := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	usedMore := func(id flow.RunID) func() bool {
		before, _ := state()
		return func() bool { list(id); used, _ := state(); return used > before }
	}
	var last flow.RunID
	for range 20 {
		last = w.startAndFinish().ID
		list(last) // also if it is read from the replica
	}
	await("the replica is never used", usedMore(last))
	if _, err := w.Usage(w.ctx, ws, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}

	replica.Exec("SELECT pg_wal_replay_pause()")
	last = w.start().ID
	_, before := state()
	list(last)
	if _, skipped := state(); skipped == before {
		t.Error("a replica that is behind was used")
	}
	if r, err := core.ReplicaOf(w.ctx, w.DB); err != nil || r.Bytes == 0 {
		t.Errorf("the lag is not shown: %+v, %v", r, err)
	}
	replica.Exec("SELECT pg_wal_replay_resume()")
	await("the replica is not used again", usedMore(last))

	replica.Stop(syscall.SIGKILL)
	last = w.start().ID
	list(last)
	if _, err := core.ReplicaOf(w.ctx, w.DB); err == nil {
		t.Error("a replica that is down is not reported")
	}
	replica.Start()
	await("the replica is not used after a restart", usedMore(last))

	replica.Exec("SELECT pg_promote()")
	last = w.start().ID
	list(last)
	used, _ := state()
	list(last)
	if after, _ := state(); after != used {
		t.Error("a promoted replica is used")
	}
}

func TestReplica_of_another_database_is_not_used(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	cfg.ReadDatabaseURL = dbtest.PostgresConfig(t).DatabaseURL
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := newFixture(t, s, &clock{now: time.Now()})
	run := w.start()
	runs, err := w.ListRuns(w.ctx, flow.RunFilter{WorkspaceID: ws, Limit: 1})
	w.must(err)
	wantEqual(t, "runs", len(runs) == 1 && runs[0].ID == run.ID, true)
	if r, err := core.ReplicaOf(w.ctx, w.DB); err == nil || r.Used != 0 {
		t.Errorf("it is used: %+v, %v", r, err)
	}
}
