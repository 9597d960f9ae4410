package bases_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"sluice/db"
	"sluice/db/backup"
	"sluice/db/dbtest"
	"sluice/db/masterkey"
	"sluice/flow"
	"sluice/flow/knowledge"
)

// TestBackup_has_bases_with_their_index backs a database up, with the command of Sluice or with pg_dump, restores it elsewhere, and searches and changes a base there.
func TestBackup_has_bases_with_their_index(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct {
		open    func(testing.TB, ...func(*db.Config)) db.Config
		restore func(t *testing.T, s *db.Store, cfg db.Config) db.Config
	}{"sqlite": {dbtest.SQLiteConfig, restoreSQLite}, "postgres": {dbtest.PostgresConfig, restorePostgres}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := at.open(t)
			s := reopen(t, cfg)
			e := &env{t, s, newBase(t, s, "help", knowledge.PartsOptional)}
			e.put("", "a.md", "Refunds take five days.", "Parcels are insured.")
			e.put("acme", "b.md", "Refunds of acme take ten days.")
			q := knowledge.Query{Text: "refund days", Vector: vectorOf("Refunds")}
			before := e.find(q)
			restored := at.restore(t, s, cfg)
			closeStore(t, s)
			s = reopen(t, restored)
			defer closeStore(t, s)
			b, err := s.FindBase(t.Context(), flow.DefaultWorkspace, "help")
			if err != nil {
				t.Fatal(err)
			}
			e = &env{t, s, b}
			equal(t, "hits after the restore", e.find(q), before)
			equal(t, "hits of a part", e.find(knowledge.Query{Text: "refund", Part: "acme"}), []string{"b.md"})
			if problems, err := s.CheckBase(t.Context(), b); err != nil || len(problems) > 0 {
				t.Errorf("CheckBase: %v %v", problems, err)
			}
			state, _ := e.put("", "a.md", "Refunds take twenty days.")
			equal(t, "state", state, knowledge.Replaced)
		})
	}
}

func restoreSQLite(t *testing.T, s *db.Store, cfg db.Config) db.Config {
	t.Helper()
	archive, to := filepath.Join(t.TempDir(), "sluice.backup"), db.Config{DataDir: t.TempDir()}
	if _, err := backup.Create(t.Context(), s.DB, archive, "test", backup.Local); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(cfg.DataDir, masterkey.File))
	if err == nil {
		err = os.WriteFile(filepath.Join(to.DataDir, masterkey.File), key, 0o600)
	}
	if err == nil {
		_, err = backup.Restore(t.Context(), to, archive, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func restorePostgres(t *testing.T, _ *db.Store, cfg db.Config) db.Config {
	t.Helper()
	dump, to := filepath.Join(t.TempDir(), "sluice.dump"), dbtest.EmptyPostgresConfig(t)
	to.Instance = cfg.Instance + "-restored"
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := dbtest.Tool(t, name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	plain := func(cfg db.Config) string { // programs of PostgreSQL refuse settings of a pool
		u, err := url.Parse(cfg.DatabaseURL)
		if err != nil {
			t.Fatal(err)
		}
		query := u.Query()
		query.Del("pool_max_conns")
		u.RawQuery = query.Encode()
		return u.String()
	}
	run("pg_dump", "--format=custom", "--file="+dump, plain(cfg))
	run("pg_restore", "--no-owner", "--dbname="+plain(to), dump)
	return to
}
