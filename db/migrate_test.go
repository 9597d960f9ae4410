package db_test

import (
	"errors"
	"testing"

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
