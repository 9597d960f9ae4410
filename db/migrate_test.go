package db_test

import (
	"errors"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
)

// A database of the first form is brought to the present one with all it holds.
func TestOpen_an_older_form(t *testing.T) {
	t.Parallel()
	cfg := db.Config{DataDir: t.TempDir()}
	if err := db.MigrateTo(t.Context(), cfg, 1,
		`INSERT INTO flows (id, workspace_id, name, description, tags, draft, rev, live_version, max_running, max_queued, signing, created_at, updated_at, archived_at)
		 VALUES ('flow_old', 'default', 'Old', '', '', '{"schema":"sluice.flow/v1"}', 1, 0, 0, 0, x'', 1, 1, 0)`,
		`INSERT INTO keys (id, workspace_id, name, prefix, hash, scopes, flows, rpm, concurrency, usd_per_day, run_trigger, created_by, created_at, expires_at, revoked_at, last_used_at, last_used_ip, uses)
		 VALUES ('key_old', 'default', 'old', 'slu_abc', 'h', '["run"]', '', 0, 0, 0, '', 'cli', 1, 0, 0, 0, '', 7)`,
		`INSERT INTO deliveries (id, workspace_id, flow_id, run_id, node, url, header, secret, signature, state, attempt, tries, fence, created_at, due_at, next_at, ended_at, erased, body)
		 VALUES ('whd_due', 'default', 'flow_old', 'run_old', 'hook', 'https://a.test/x', '', x'', x'', 'pending', 1, 1, 1, 1, 5, 5, 0, '', '{}'),
		        ('whd_done', 'default', 'flow_old', 'run_old', 'hook', 'https://a.test/x', '', x'', x'', 'delivered', 1, 1, 1, 1, 0, 1, 5, '', '{}')`,
	); err != nil {
		t.Fatal(err)
	}
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if f, err := s.FindFlow(t.Context(), ws, "flow_old"); err != nil || f.Name != "Old" {
		t.Errorf("the flow is %+v, %v", f, err)
	}
	if k, err := s.FindKeyByHash(t.Context(), "h"); err != nil || k.Uses != 7 || k.RunsPerDay != 0 {
		t.Errorf("the key is %+v, %v", k, err)
	}
	s.UseQueue(&queue{})
	if n, _, err := s.DueDeliveries(t.Context(), time.Now(), 10); n != 1 || err != nil {
		t.Errorf("%d deliveries are sent, %v; wanted the one that is due", n, err)
	}
	if list, err := s.ListDeliveries(t.Context(), ws, "flow_old", "", 10); err != nil || len(list) != 2 || list[0].ID != "whd_due" {
		t.Errorf("the log is %+v, %v", list, err)
	}
}

// What a newer program has changed is left alone by an older one.
func TestOpen_a_newer_form(t *testing.T) {
	t.Parallel()
	cfg := dbtest.SQLiteConfig(t)
	if err := db.PretendNewer(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Open(t.Context(), cfg); !errors.Is(err, db.ErrNewer) {
		t.Errorf("it opened: %v", err)
	}
}

// Inserts of jobs do not pay for indexes that no query uses.
func TestOpen_drops_unused_indexes(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	for range 2 { // River made them, as in a database of an earlier release
		s, err := db.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		var left int
		err = s.Pool().QueryRow(t.Context(), `SELECT count(*) FROM pg_indexes WHERE tablename = 'river_job' AND indexdef LIKE '%USING gin%'`).Scan(&left)
		if err != nil || left != 0 {
			t.Errorf("%d unused indexes, %v", left, err)
		}
		if _, err := s.Pool().Exec(t.Context(), `CREATE INDEX river_job_args_index ON river_job USING gin (args)`); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	s, err := db.Open(t.Context(), cfg) // leaves none to the next test
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}
