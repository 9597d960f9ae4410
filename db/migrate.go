package db

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is the PostgreSQL advisory lock under which one instance
// migrates and the others wait.
const migrationLock = 0x536c7569

func migrateSQLite(ctx context.Context, db *sql.DB, log *slog.Logger) error {
	if err := migrateOwn(ctx, goose.DialectSQLite3, db); err != nil {
		return err
	}
	if err := inheritSigning(ctx, goose.DialectSQLite3, db); err != nil {
		return err
	}
	return migrateRiver(ctx, riversqlite.New(db), log)
}

func migratePostgres(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", migrationLock); err != nil {
		return fmt.Errorf("lock for migration: %w", err)
	}
	defer conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrationLock)
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	if err := migrateOwn(ctx, goose.DialectPostgres, db); err != nil {
		return err
	}
	if err := inheritSigning(ctx, goose.DialectPostgres, db); err != nil {
		return err
	}
	if err := migrateRiver(ctx, riverpgxv5.New(pool), log); err != nil {
		return err
	}
	dropUnusedIndexes(ctx, conn, log)
	return nil
}

// dropUnusedIndexes drops River's GIN indexes on the arguments and metadata of
// jobs. No query uses them, and every insert of a job has to write to both.
// River creates them once, in its second migration, and its periodic rebuild of
// indexes passes over those that do not exist. It is no error if they stay: the
// next start drops them.
func dropUnusedIndexes(ctx context.Context, conn *pgxpool.Conn, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, index := range []string{"river_job_args_index", "river_job_metadata_index"} {
		// CONCURRENTLY does not make other instances wait behind a transaction
		// that this statement waits for.
		if _, err := conn.Exec(ctx, "DROP INDEX CONCURRENTLY IF EXISTS "+index); err != nil {
			log.Warn("an unused index could not be dropped; the next start tries again", "index", index, "error", err)
			return
		}
	}
}

func migrateOwn(ctx context.Context, dialect goose.Dialect, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db, files)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if present, known, err := p.GetVersions(ctx); err != nil {
		return fmt.Errorf("read the database's form: %w", err)
	} else if present > known {
		return ErrNewer
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

func migrateRiver[T any](ctx context.Context, driver riverdriver.Driver[T], log *slog.Logger) error {
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(quietHandler{log.Handler()})})
	if err != nil {
		return fmt.Errorf("read queue migrations: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate queue: %w", err)
	}
	return nil
}

// quietHandler drops what is below a warning: every step of every migration.
type quietHandler struct{ slog.Handler }

func (quietHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
