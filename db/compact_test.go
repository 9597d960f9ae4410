package db_test

import (
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
)

// TestCompact_frees_the_space_of_erased_data compacts without a server, and then beside one.
func TestCompact_frees_the_space_of_erased_data(t *testing.T) {
	t.Parallel()
	cfg := dbtest.SQLiteConfig(t)
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := newFixture(t, s, &clock{now: time.Now()})
	fill := func() {
		t.Helper()
		for _, statement := range []string{
			`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
				INSERT INTO meta (name, value) SELECT 'filler' || i, randomblob(4000) FROM n`,
			"DELETE FROM meta WHERE name LIKE 'filler%'", "PRAGMA wal_checkpoint(PASSIVE)",
		} {
			if _, err := w.SQLite().Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	compact := func(when string) {
		t.Helper()
		other, err := db.Open(w.ctx, cfg) // as the command does
		w.must(err)
		defer other.Close()
		c, err := other.Compact(w.ctx)
		w.must(err)
		if c.Before-c.After < 6<<20 {
			t.Errorf("%s: from %d to %d bytes", when, c.Before, c.After)
		}
		run := w.start()
		if e, err := w.Inspect(w.ctx); err != nil || e.Damage != "" {
			t.Errorf("%s: %v %s", when, err, e.Damage)
		}
		_, err = w.FindRun(w.ctx, ws, w.flow.ID, run.ID)
		w.must(err)
	}
	fill()
	w.must(w.LockEngine(db.EngineInfo{}))
	other, err := db.Open(w.ctx, cfg)
	w.must(err)
	if _, err := other.Compact(w.ctx); err == nil || !strings.Contains(err.Error(), "stop the server") {
		t.Errorf("beside a server for the first time: %v", err)
	}
	w.must(other.Close())
	w.must(s.Close())
	s, err = db.Open(t.Context(), cfg)
	w.must(err)
	t.Cleanup(func() { s.Close() })
	w.Store = s
	w.UseQueue(w.queue)
	compact("without a server")
	fill()
	w.must(w.LockEngine(db.EngineInfo{}))
	compact("beside a server")
}

func TestCompact_refuses_PostgreSQL(t *testing.T) {
	t.Parallel()
	if _, err := dbtest.Postgres(t).Compact(t.Context()); err == nil || !strings.Contains(err.Error(), "autovacuum") {
		t.Errorf("got %v", err)
	}
}
