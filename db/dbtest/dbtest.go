package dbtest

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"sluice/db"
	"sluice/db/dbtest/pgserver"
	"sluice/e2e/need"
)

// Main runs the tests of a package and stops the PostgreSQL server after them.
func Main(m *testing.M) {
	code := m.Run()
	Stop()
	os.Exit(code)
}

// Stop stops the PostgreSQL server, for a TestMain that does more than Main.
func Stop() { server.stop() }

// SQLite opens a fresh store in a temporary directory.
func SQLite(t testing.TB, set ...func(*db.Config)) *db.Store {
	t.Helper()
	return open(t, SQLiteConfig(t, set...))
}

// SQLiteConfig returns the configuration of a new, migrated database.
func SQLiteConfig(t testing.TB, set ...func(*db.Config)) db.Config {
	t.Helper()
	cfg := db.Config{DataDir: t.TempDir()}
	if err := copyTemplate(cfg.DataDir); err != nil {
		t.Fatalf("copy the migrated SQLite database: %v", err)
	}
	return apply(cfg, set)
}

// Postgres opens a fresh store on the private server.
func Postgres(t testing.TB, set ...func(*db.Config)) *db.Store {
	t.Helper()
	return open(t, PostgresConfig(t, set...))
}

// PostgresConfig returns the configuration of a new, migrated database.
func PostgresConfig(t testing.TB, set ...func(*db.Config)) db.Config {
	t.Helper()
	startServer(t)
	name, err := server.acquire()
	if err != nil {
		t.Fatalf("create a PostgreSQL database: %v", err)
	}
	t.Cleanup(func() { server.release(name) })
	return apply(db.Config{DataDir: t.TempDir(), DatabaseURL: server.url(name), MasterKey: masterKey, Instance: "test-" + rand.Text()}, set)
}

// startServer starts the shared server. It skips the test if PostgreSQL is not
// installed.
func startServer(t testing.TB) {
	t.Helper()
	need.Tool(t, "PostgreSQL server binaries not found", pgserver.Installed())
	if err := server.start(); err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
}

// masterKey is the same in all tests, because a copy of the template needs its key.
const masterKey = "c2x1aWNlIHRlc3QgbWFzdGVyIGtleSBvZiAzMiBieXQ="

// apply returns a configuration with the changes of a test, in their order.
func apply(cfg db.Config, set []func(*db.Config)) db.Config {
	for _, f := range set {
		f(&cfg)
	}
	return cfg
}

// open opens a store and closes it when the test ends. Errors of either fail the test.
func open(t testing.TB, cfg db.Config) *db.Store {
	t.Helper()
	s, err := db.Open(context.Background(), cfg)
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return s
}

// template is a migrated SQLite database and its master key, read once:
// migrating it for every test would cost more than most tests.
var template = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "sluice-template-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := db.Open(context.Background(), db.Config{DataDir: dir})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range []string{db.DatabaseFile, db.KeyFile} {
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return files, nil
})

// copyTemplate copies an empty, migrated database. Migrating takes longer than most
// tests.
func copyTemplate(dir string) error {
	files, err := template()
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Tool returns a command for a PostgreSQL program, such as pg_dump, of the same version
// as the server. The test is skipped if it is not installed.
func Tool(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	path := pgserver.Program(name)
	need.Tool(t, name+" is not installed", path != "")
	return exec.Command(path, args...)
}

// EmptyPostgresConfig returns the configuration of a database without tables, for tests
// of migrations and of restored dumps. It is dropped after the test.
func EmptyPostgresConfig(t testing.TB, set ...func(*db.Config)) db.Config {
	t.Helper()
	startServer(t)
	name, err := server.create("empty", "template0")
	if err != nil {
		t.Fatalf("create an empty PostgreSQL database: %v", err)
	}
	t.Cleanup(func() { server.drop(name) })
	return apply(db.Config{DataDir: t.TempDir(), DatabaseURL: server.url(name), MasterKey: masterKey}, set)
}
