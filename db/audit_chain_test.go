package db_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/backup"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/db/masterkey"
	"sluice/flow"
)

// audited adds entries of a workspace, one second apart.
func (w *fixture) audited(ws flow.WorkspaceID, actions ...string) {
	w.t.Helper()
	for _, action := range actions {
		w.clock.move(time.Second)
		w.must(w.Audit(w.ctx, ws, "cli", action, "target", "detail"))
	}
}

// verified returns the result for one workspace.
func verified(t *testing.T, s *db.Store, ws flow.WorkspaceID) flow.AuditChain {
	t.Helper()
	list, err := s.VerifyAudit(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 {
		t.Fatalf("%d chains of %s", len(list), ws)
	}
	return list[0]
}

func wantIntact(t *testing.T, c flow.AuditChain, entries int64) {
	t.Helper()
	if c.Break != nil {
		t.Fatalf("broken at %d %s: %s", c.Break.Seq, c.Break.ID, c.Break.Reason)
	}
	wantEqual(t, "entries", c.Entries, entries)
}

// tamper changes the database like an attacker without the master key.
func (w *fixture) tamper(statement string, args ...any) {
	w.t.Helper()
	w.must(w.Write(w.ctx, true, func(tx *core.Tx) error {
		_, err := tx.DBTX.ExecContext(context.Background(), statement, args...)
		return err
	}))
}

func TestVerifyAudit(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.audited(ws, "a", "b", "c")
		w.audited("ws_other", "x")
		wantIntact(t, verified(t, w.Store, ws), 3)
		all, err := w.VerifyAudit(w.ctx, "")
		w.must(err)
		wantEqual(t, "workspaces", len(all), 2)
		wantEqual(t, "last", verified(t, w.Store, ws).LastSeq, 3)
	})
}

func TestVerifyAudit_finds_tampering(t *testing.T) {
	for name, test := range map[string]struct {
		tamper []string
		seq    int64
		says   string
	}{
		"a changed entry":               {[]string{"UPDATE audit SET detail = 'nothing' WHERE seq = 2"}, 2, "changed"},
		"a changed time":                {[]string{"UPDATE audit SET created_at = created_at + 1 WHERE seq = 4"}, 4, "changed"},
		"an entry of another workspace": {[]string{"DELETE FROM audit WHERE workspace_id = 'default' AND seq = 1", "UPDATE audit SET workspace_id = 'default' WHERE workspace_id = 'ws_other'"}, 1, "changed"},
		"a deleted entry":               {[]string{"DELETE FROM audit WHERE seq = 2"}, 2, "Entry 2 is missing."},
		"a deleted entry, renumbered":   {[]string{"DELETE FROM audit WHERE seq = 2", "UPDATE audit SET seq = seq - 1 WHERE seq > 2"}, 2, "changed"},
		"a deleted start":               {[]string{"DELETE FROM audit WHERE seq = 1"}, 1, "Entry 1 is missing."},
		"a deleted end":                 {[]string{"DELETE FROM audit WHERE seq > 3"}, 4, "Entries 4 to 5 are missing at the end."},
		"a deleted last entry":          {[]string{"DELETE FROM audit WHERE seq = 5"}, 5, "Entry 5 is missing at the end."},
		"deleted entries":               {[]string{"DELETE FROM audit WHERE seq IN (2, 3)"}, 2, "Entries 2 to 3 are missing."},
		"a deleted end, hidden": {[]string{
			"DELETE FROM audit WHERE seq > 3",
			"UPDATE audit_chains SET last_seq = 3, last_mac = (SELECT mac FROM audit WHERE workspace_id = 'default' AND seq = 3) WHERE workspace_id = 'default'",
		}, 0, "starts and ends was changed"},
		"a deleted start, hidden": {[]string{
			"UPDATE audit_chains SET start_seq = 2, start_mac = (SELECT mac FROM audit WHERE workspace_id = 'default' AND seq = 2) WHERE workspace_id = 'default'",
			"DELETE FROM audit WHERE seq < 3",
		}, 0, "starts and ends was changed"},
		"everything deleted": {[]string{"DELETE FROM audit"}, 1, "Entries 1 to 5 are missing at the end."},
		"two entries exchanged": {[]string{
			"UPDATE audit SET seq = 99 WHERE seq = 2", "UPDATE audit SET seq = 2 WHERE seq = 3", "UPDATE audit SET seq = 3 WHERE seq = 99",
		}, 2, "changed"},
		"an inserted entry": {[]string{
			"INSERT INTO audit (id, workspace_id, actor, action, target, detail, ip, created_at) VALUES ('aud_x', 'default', '', 'a', '', '', '', 0)",
		}, 0, "not in the chain"},
		"an appended entry": {[]string{
			"INSERT INTO audit (id, workspace_id, actor, action, target, detail, ip, created_at, seq, mac, key_no) VALUES ('aud_x', 'default', '', 'a', '', '', '', 0, 6, 'ab', 1)",
		}, 6, "after the end"},
		"a deleted chain": {[]string{"DELETE FROM audit_chains"}, 1, "after the end"},
		"a later date":    {[]string{"UPDATE audit_chains SET began_at = began_at + 1"}, 0, "starts and ends was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			setup(t, func(t *testing.T, w *fixture) {
				w.audited("ws_other", "x")
				w.audited(ws, "a", "b", "c", "d", "e")
				for _, statement := range test.tamper {
					w.tamper(strings.Replace(statement, "WHERE seq", "WHERE workspace_id = 'default' AND seq", 1))
				}
				c := verified(t, w.Store, ws)
				if c.Break == nil || !strings.Contains(c.Break.Reason, test.says) || c.Break.Seq != test.seq {
					t.Fatalf("found %+v, want %d: %s", c.Break, test.seq, test.says)
				}
				w.audited(ws, "f", "g")
				if c := verified(t, w.Store, ws); c.Break == nil {
					t.Error("later entries hid it")
				}
			})
		})
	}
}

// Entries that instances write concurrently form one chain.
func TestVerifyAudit_after_concurrent_writes(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(testing.TB, ...func(*core.Config)) core.Config{"sqlite": dbtest.SQLiteConfig, "postgres": dbtest.PostgresConfig} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			var stores []*db.Store
			for range 3 {
				s, err := db.Open(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				stores = append(stores, s)
			}
			var all sync.WaitGroup
			for i := range 60 {
				all.Go(func() {
					if err := stores[i%3].Audit(t.Context(), flow.WorkspaceID([]string{ws, "ws_other"}[i%2]), "cli", "key.create", "", ""); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			wantIntact(t, verified(t, stores[0], ws), 30)
			wantIntact(t, verified(t, stores[1], "ws_other"), 30)
		})
	}
}

func TestVerifyAudit_after_pruning(t *testing.T) {
	retention := func(cfg *core.Config) { cfg.AuditRetention = 24 * time.Hour }
	setup(t, func(t *testing.T, w *fixture) {
		w.audited(ws, "a", "b", "c")
		w.clock.move(25 * time.Hour)
		w.audited(ws, "d", "e")
		for range 3 {
			_, err := w.DropStale(w.ctx, w.clock.Now(), 2)
			w.must(err)
		}
		c := verified(t, w.Store, ws)
		wantIntact(t, c, 2)
		wantEqual(t, "pruned", c.Pruned, 3)
		left, err := w.ListAudit(w.ctx, ws, "", 10)
		w.must(err)
		wantEqual(t, "left", len(left), 2)
		w.audited(ws, "f")
		wantIntact(t, verified(t, w.Store, ws), 3)

		w.clock.move(25 * time.Hour)
		for range 3 {
			_, err = w.DropStale(w.ctx, w.clock.Now(), 2)
			w.must(err)
		}
		wantIntact(t, verified(t, w.Store, ws), 0)
		w.audited(ws, "g")
		wantIntact(t, verified(t, w.Store, ws), 1)
		w.tamper("INSERT INTO audit (id, workspace_id, actor, action, target, detail, ip, created_at, seq, mac, key_no) VALUES ('aud_x', 'default', '', 'a', '', '', '', 0, 1, 'ab', 1)")
		if c := verified(t, w.Store, ws); c.Break == nil || !strings.Contains(c.Break.Reason, "before the start") {
			t.Errorf("an entry before the start: %+v", c.Break)
		}
	}, retention)
}

func TestAudit_is_kept_without_a_retention(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.audited(ws, "a")
		w.clock.move(20 * 365 * 24 * time.Hour)
		_, err := w.DropStale(w.ctx, w.clock.Now(), 10)
		w.must(err)
		wantIntact(t, verified(t, w.Store, ws), 1)
	})
}

// Entries from before there were chains become the first entries of a chain.
func TestVerifyAudit_adopts_older_entries(t *testing.T) {
	t.Parallel()
	cfg := core.Config{DataDir: t.TempDir()}
	insert := "INSERT INTO audit (id, workspace_id, actor, action, target, detail, ip, created_at) VALUES "
	if err := db.MigrateTo(t.Context(), cfg, 5,
		insert+"('aud_1', 'default', '', 'a', '', '', '', 1), ('aud_2', 'default', '', 'b', '', '', '', 2), ('aud_3', 'ws_other', '', 'c', '', '', '', 3)",
		"INSERT INTO invites (id, token_hash, workspace_id, email, role, user_id, created_by, created_at, expires_at) VALUES ('inv_1', 'h', 'default', 'a@example.com', '', 'user_1', '', 1, 604800000001), ('inv_2', 'i', 'default', 'a@example.com', 'viewer', '', '', 1, 604800000001)",
	); err != nil {
		t.Fatal(err)
	}
	c := &clock{now: time.UnixMicro(3600000000)}
	cfg.Now = c.Now
	for range 2 {
		s, err := db.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		one := verified(t, s, ws)
		wantIntact(t, one, 2)
		wantEqual(t, "adopted", one.Adopted, 2)
		wantIntact(t, verified(t, s, "ws_other"), 1)
		if _, err := s.FindInvite(t.Context(), "h"); err != nil {
			t.Errorf("a link to a password within its hour: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c.move(time.Second)
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Audit(t.Context(), ws, "cli", "d", "", ""); err != nil {
		t.Fatal(err)
	}
	wantIntact(t, verified(t, s, ws), 3)
	_, err = s.FindInvite(t.Context(), "h")
	wantCode(t, err, flow.CodeNotFound)
	if _, err := s.FindInvite(t.Context(), "i"); err != nil {
		t.Errorf("an invitation ended with the links to passwords: %v", err)
	}
}

// TestVerifyAudit_after_rotation adds entries before and after a rotation and verifies the chain.
func TestVerifyAudit_after_rotation(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(testing.TB, ...func(*core.Config)) core.Config{"sqlite": dbtest.SQLiteConfig, "postgres": dbtest.PostgresConfig} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			write := func(cfg core.Config, want int64) {
				t.Helper()
				s, err := db.Open(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if want > 1 {
					wantIntact(t, verified(t, s, ws), want-1)
				}
				if err := s.Audit(t.Context(), ws, "cli", "a", "", ""); err != nil {
					t.Fatal(err)
				}
				wantIntact(t, verified(t, s, ws), want)
			}
			write(cfg, 1)
			write(cfg, 2)
			stale, err := db.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer stale.Close()
			file := filepath.Join(t.TempDir(), "new.key")
			if _, err := db.RotateMasterKey(t.Context(), cfg, file); err != nil {
				t.Fatal(err)
			}
			if err := stale.Audit(t.Context(), ws, "cli", "a", "", ""); err == nil {
				t.Error("a process with the old key wrote to the chain")
			}
			rotated := cfg
			rotated.MasterKey, rotated.MasterKeyFile = "", file
			write(rotated, 3)
			// Other tests use this database with its original key.
			first := filepath.Join(cfg.DataDir, masterkey.File)
			if cfg.MasterKey != "" {
				first = filepath.Join(t.TempDir(), "first.key")
				writeFile(t, first, cfg.MasterKey)
			}
			if _, err := db.RotateMasterKey(t.Context(), rotated, first); err != nil {
				t.Fatal(err)
			}
			write(cfg, 4)
		})
	}
}

// A backup contains the chain.
func TestVerifyAudit_after_restore(t *testing.T) {
	t.Parallel()
	cfg := dbtest.SQLiteConfig(t)
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Audit(t.Context(), ws, "cli", "a", "", ""); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(t.TempDir(), "a.backup")
	if _, err := backup.Create(t.Context(), s.DB, archive, "test", backup.Local); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	into := core.Config{DataDir: t.TempDir(), MasterKeyFile: filepath.Join(cfg.DataDir, masterkey.File)}
	if _, err := backup.Restore(t.Context(), into, archive, false); err != nil {
		t.Fatal(err)
	}
	restored, err := db.Open(t.Context(), into)
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	wantIntact(t, verified(t, restored, ws), 3)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A long log is adopted completely with few statements.
func TestVerifyAudit_adopts_a_long_log(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(testing.TB, ...func(*core.Config)) core.Config{"sqlite": dbtest.SQLiteConfig, "postgres": dbtest.PostgresConfig} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			open := func() *db.Store {
				s, err := db.Open(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := open()
			var rows []string
			for i := range 730 {
				rows = append(rows, fmt.Sprintf("('aud_%04d', 'default', '', 'a', '', '', '', %d)", i, i+1))
			}
			err := s.Write(t.Context(), true, func(tx *core.Tx) error {
				for _, statement := range []string{
					"DELETE FROM audit_chains", "DELETE FROM meta WHERE name = 'audit_key'",
					"INSERT INTO audit (id, workspace_id, actor, action, target, detail, ip, created_at) VALUES " + strings.Join(rows, ", "),
				} {
					if _, err := tx.DBTX.ExecContext(t.Context(), statement); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open()
			defer s.Close()
			chain := verified(t, s, ws)
			wantIntact(t, chain, 730)
			wantEqual(t, "adopted", chain.Adopted, 730)
		})
	}
}
