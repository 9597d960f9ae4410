package db_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/dbtest"
)

// TestOpen_creates_nothing_if_the_database_must_exist checks that Open creates neither tables nor the directory of the
// master key if the database must exist.
func TestOpen_creates_nothing_if_the_database_must_exist(t *testing.T) {
	t.Parallel()
	absent := func(t *testing.T, cfg core.Config) {
		t.Helper()
		cfg.DataDir, cfg.MasterKey, cfg.MustExist = filepath.Join(t.TempDir(), "none"), "", true
		if _, err := db.Open(t.Context(), cfg); !errors.Is(err, dbconn.ErrNoDatabase) {
			t.Errorf("got %v, want ErrNoDatabase", err)
		}
		if _, err := os.Stat(cfg.DataDir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the data directory was made: %v", err)
		}
	}
	present := func(t *testing.T, cfg core.Config) {
		t.Helper()
		cfg.MustExist = true
		s, err := db.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		absent(t, core.Config{})
		present(t, dbtest.SQLiteConfig(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		cfg := dbtest.PostgresConfig(t)
		present(t, cfg)
		conn, err := pgxpool.New(t.Context(), cfg.DatabaseURL)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Exec(t.Context(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public"); err != nil {
			t.Fatal(err)
		}
		absent(t, cfg)
		var tables int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables); err != nil || tables != 0 {
			t.Errorf("%d tables were made, %v", tables, err)
		}
		cfg.MustExist = false // other tests get this database next: create its tables again
		if err := openAndClose(t, cfg); err != nil {
			t.Error(err)
		}
	})
}
