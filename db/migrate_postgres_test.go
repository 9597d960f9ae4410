package db_test

import (
	"context"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
)

// firstRelease is the schema version of 0.1.0.
const firstRelease = 5

// Instances that start at once on one database migrate it once, whether it is
// empty or of an older schema.
func TestMigrate_concurrently_starting_instances(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]int64{"empty": 0, "older": firstRelease} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := dbtest.EmptyPostgresConfig(t)
			if from > 0 {
				if err := db.MigrateTo(t.Context(), cfg, from); err != nil {
					t.Fatal(err)
				}
			}
			openAll(t, cfg, cfg, cfg, cfg)
		})
	}
}

// openAll opens stores at the same time and closes them again.
func openAll(t *testing.T, configs ...core.Config) {
	t.Helper()
	var all sync.WaitGroup
	for _, cfg := range configs {
		all.Go(func() {
			s, err := db.Open(t.Context(), cfg)
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	all.Wait()
}

// A migration that waits for a table, as during pg_dump, does not make others
// wait behind it, and is done as soon as the table is free.
func TestMigrate_while_a_table_is_locked(t *testing.T) {
	t.Parallel()
	cfg := dbtest.EmptyPostgresConfig(t)
	if err := db.MigrateTo(t.Context(), cfg, firstRelease); err != nil {
		t.Fatal(err)
	}
	dump := hold(t, cfg, "LOCK TABLE runs, steps, keys IN ACCESS SHARE MODE")
	waits := watch(&cfg, "waits for other sessions")
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		openAll(t, cfg)
	}()
	for range 2 { // it gives up and tries again
		<-waits
		other, err := pgx.ConnectConfig(t.Context(), dump.Conn().Config())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close(context.Background())
		for _, table := range []string{"runs", "steps", "keys"} {
			if _, err := other.Exec(t.Context(), "SELECT * FROM "+table); err != nil {
				t.Errorf("another session reads %s: %v", table, err)
			}
		}
	}
	if _, err := dump.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	<-opened
}

// hold keeps a transaction open until the test commits it or ends.
func hold(t *testing.T, cfg core.Config, statement string) *pgxpool.Conn {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), cfg.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Release)
	for _, s := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", statement} {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

// watch returns a channel that gets a value for each line of the log that
// contains a text.
func watch(cfg *core.Config, text string) <-chan struct{} {
	seen := make(chan struct{}, 1000)
	cfg.Log = slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
		if strings.Contains(string(line), text) {
			seen <- struct{}{}
		}
		return len(line), nil
	}), nil))
	return seen
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// withIndex are the migrations of this program and one that builds an index
// concurrently.
func withIndex(t *testing.T) fs.FS {
	t.Helper()
	files := fstest.MapFS{"99990_index.sql": {Data: []byte(`-- +goose NO TRANSACTION

-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS runs_later;
CREATE INDEX CONCURRENTLY runs_later ON runs (created_at);
`)}}
	names, err := fs.Glob(db.EmbeddedMigrations(), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(db.EmbeddedMigrations(), name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	return files
}

// A concurrent index build is repeated if the program ended half-way, and instances that
// wait for it do not block it.
func TestMigrate_an_index_concurrently(t *testing.T) {
	t.Parallel()
	cfg := dbtest.EmptyPostgresConfig(t)
	openAll(t, cfg)
	cfg.Migrations = withIndex(t)
	old := hold(t, cfg, "SELECT count(*) FROM steps") // a snapshot, which the build waits for
	look, err := pgx.ConnectConfig(t.Context(), old.Conn().Config())
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close(context.Background())
	await := func(want string) {
		t.Helper()
		const query = `SELECT coalesce(min(i.indisvalid::text), 'none') FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname = 'runs_later'`
		for state := ""; state != want; {
			if err := look.QueryRow(t.Context(), query).Scan(&state); err != nil {
				t.Fatal(err)
			}
		}
	}

	cut, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		s, err := db.Open(cut, cfg)
		if err == nil {
			_ = s.Close()
		}
		ended <- err
	}()
	await("false")
	cancel()
	if err := <-ended; err == nil {
		t.Fatal("the first build was not cut short")
	}
	await("false")

	waits := watch(&cfg, "another instance is migrating")
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		openAll(t, cfg, cfg, cfg)
	}()
	<-waits
	if _, err := old.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	<-opened
	await("true")
}

// SQLite reads the same migration.
func TestMigrate_an_index_on_SQLite(t *testing.T) {
	t.Parallel()
	cfg := dbtest.SQLiteConfig(t)
	cfg.Migrations = withIndex(t)
	openAll(t, cfg)
	if err := db.Exec(t.Context(), cfg, "DROP INDEX runs_later"); err != nil {
		t.Error(err)
	}
}

// Migrations have no time limits, even if the database sets some.
func TestMigrate_without_time_limits(t *testing.T) {
	t.Parallel()
	cfg := dbtest.EmptyPostgresConfig(t)
	openAll(t, cfg)
	cfg.Migrations = fstest.MapFS{"99990_slow.sql": {Data: []byte(`-- +goose Up
CREATE TABLE limits AS SELECT name, setting FROM pg_settings WHERE name LIKE '%_timeout';
`)}}
	cfg.DatabaseURL += "&statement_timeout=1001&idle_in_transaction_session_timeout=1002&lock_timeout=1003"
	openAll(t, cfg)
	if err := db.Exec(t.Context(), cfg, `DO $$ BEGIN ASSERT (SELECT string_agg(name || ' ' || setting, ', ' ORDER BY name) FROM limits
		WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'))
		= 'idle_in_transaction_session_timeout 0, lock_timeout 500, statement_timeout 0'; END $$`); err != nil {
		t.Error(err)
	}
}
