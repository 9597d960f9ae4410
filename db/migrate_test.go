package db_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/dbtest"
	"sluice/flow"
)

// A database of the first schema is migrated with all its data.
func TestOpen_an_older_schema(t *testing.T) {
	t.Parallel()
	cfg := core.Config{DataDir: t.TempDir()}
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

// each runs a test on a migrated database of each kind.
func each(t *testing.T, test func(t *testing.T, cfg core.Config)) {
	t.Parallel()
	for name, config := range map[string]func(testing.TB, ...func(*core.Config)) core.Config{"sqlite": dbtest.SQLiteConfig, "postgres": dbtest.PostgresConfig} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, config(t))
		})
	}
}

// An older program refuses a database that a newer one has migrated. The error contains
// both versions and what to do.
func TestOpen_a_newer_schema(t *testing.T) {
	each(t, func(t *testing.T, cfg core.Config) {
		refused := func(text string) {
			t.Helper()
			s, err := db.Open(t.Context(), cfg)
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, dbconn.ErrNewer) || !strings.Contains(fmt.Sprint(err), text) {
				t.Errorf("got error %v, want %q in it", err, text)
			}
		}
		exec := func(statement string) {
			t.Helper()
			if err := db.Exec(t.Context(), cfg, statement); err != nil {
				t.Fatal(err)
			}
		}
		cfg.Version = "7.8.9"
		s, err := db.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)")
		exec("DELETE FROM meta WHERE name = 'migrated_by'") // a program that does not note it
		refused("this database: it has schema version 99999, and this program, 7.8.9, supports versions up to ")
		exec("INSERT INTO meta (name, value) VALUES ('migrated_by', '9.9.9')")
		refused("this database, 9.9.9: it has schema version 99999")
		refused("start the newer program, or restore a backup from before the upgrade")
		exec("DELETE FROM goose_db_version WHERE version_id = 99999")
		exec("INSERT INTO river_migration (line, version) VALUES ('main', 99)")
		refused("supports versions up to ")
		exec("DELETE FROM river_migration WHERE version = 99")
		exec("DELETE FROM meta WHERE name = 'migrated_by'")
	})
}

// A store keeps working while a newer program adds columns to every table, because
// its statements name the columns that they use.
func TestStore_works_with_a_newer_schema(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.startAndFinish() // so that statements are prepared
		for _, table := range w.tables() {
			w.exec("ALTER TABLE " + table + " ADD COLUMN added_later BIGINT NOT NULL DEFAULT 0")
		}
		w.exec("CREATE TABLE added_later (id TEXT NOT NULL PRIMARY KEY)")
		run := w.startAndFinish()
		wantEqual(t, "state", w.find(run.ID).State, flow.RunSucceeded)
		w.newFlow(ws)
		w.must(w.Audit(w.ctx, ws, "cli", "a", "", ""))
		wantIntact(t, verified(t, w.Store, ws), 1)
		w.exec("DROP TABLE added_later") // another test gets the database next
		for _, table := range w.tables() {
			w.exec("ALTER TABLE " + table + " DROP COLUMN added_later")
		}
	})
}

// tables returns the names of Sluice's own tables, without River's.
func (w *fixture) tables() (names []string) {
	w.t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'river%' AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%'"
	if w.IsPostgres() {
		query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'river%' AND tablename NOT LIKE 'goose%'"
	}
	w.must(w.Write(w.ctx, true, func(tx *core.Tx) error {
		rows, err := tx.DBTX.QueryContext(w.ctx, query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for names = nil; rows.Next(); {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			names = append(names, name)
		}
		return rows.Err()
	}))
	return names
}

// Indexes that no query uses would only slow down inserts of jobs.
func TestOpen_drops_unused_indexes(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	for range 2 { // River made them, as in a database of an earlier release
		s, err := db.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		var left int
		err = db.Pool(s).QueryRow(t.Context(), `SELECT count(*) FROM pg_indexes WHERE tablename = 'river_job' AND indexdef LIKE '%USING gin%'`).Scan(&left)
		if err != nil || left != 0 {
			t.Errorf("%d unused indexes, %v", left, err)
		}
		if _, err := db.Pool(s).Exec(t.Context(), `CREATE INDEX river_job_args_index ON river_job USING gin (args)`); err != nil {
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
