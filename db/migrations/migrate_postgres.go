package migrations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"sluice/db/dbconn"
)

// migrationLock is the advisory lock under which one instance migrates while the
// others wait. Version 0.1.0 used a different lock and waited for it in a statement,
// whose snapshot would have blocked a concurrent index build.
const migrationLock = 0x536c7573

// Migrations lock tables that other instances use. A migration that waits for
// its lock makes every later statement on the table wait behind it, so it gives
// up soon and tries again after a pause, until one try finds the table free.
const (
	migrationLockTimeout = "500ms"
	migrationPause       = time.Second // between tries; half of it is random
	migrationPatience    = 10 * time.Minute
)

// Postgres migrates the database of a pool if its schema is not current.
func (s Schema) Postgres(ctx context.Context, other *pgxpool.Pool) error {
	if current, err := s.isMigrated(ctx, other); err != nil || current {
		return err
	}
	pool, err := migrationPool(ctx, other.Config())
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	defer pool.Close()
	lock, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	defer lock.Release()
	if err := s.lockMigration(ctx, lock); err != nil {
		return fmt.Errorf("lock for migration: %w", err)
	}
	defer lock.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrationLock)
	return s.migrateLocked(ctx, pool)
}

// migrateLocked migrates over a pool with migration settings.
func (s Schema) migrateLocked(ctx context.Context, pool *pgxpool.Pool) error {
	m, q, err := s.migrationsOver(pool)
	if err != nil {
		return err
	}
	defer m.db.Close()
	if err := errors.Join(m.refuseNewer(ctx), q.refuseNewer(ctx)); err != nil {
		return err
	}
	if err := m.up(ctx, func(next *goose.Source) error { return s.applyPatiently(ctx, m, next) }); err != nil {
		return err
	}
	if err := m.finish(ctx, q); err != nil {
		return err
	}
	s.dropUnusedIndexes(ctx, pool)
	return nil
}

// unusedIndexes are River's GIN indexes on the arguments and metadata of jobs. No
// query uses them, and every insert of a job has to write to both. River creates
// them once, in its second migration, and its periodic rebuild of indexes passes
// over those that do not exist.
var unusedIndexes = []string{"river_job_args_index", "river_job_metadata_index"}

// dropUnusedIndexes drops unusedIndexes. A failure is not an error, because the next
// start tries again.
func (s Schema) dropUnusedIndexes(ctx context.Context, pool *pgxpool.Pool) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, index := range unusedIndexes {
		// CONCURRENTLY does not make other instances wait behind a transaction
		// that this statement waits for.
		if _, err := pool.Exec(ctx, "DROP INDEX CONCURRENTLY IF EXISTS "+index); err != nil {
			s.Log.Warn("an unused index could not be dropped; the next start tries again", "index", index, "error", err)
			return
		}
	}
}

// migrationsOver prepares both migrations over a pool.
func (s Schema) migrationsOver(pool *pgxpool.Pool) (*migration, queueMigration, error) {
	m, err := NewMigration(goose.DialectPostgres, stdlib.OpenDBFromPool(pool), s)
	if err != nil {
		return nil, nil, err
	}
	q, err := newQueueMigration(riverpgxv5.New(pool), s)
	return m, q, err
}

// isMigrated reports whether there is nothing to migrate. It takes no lock, so
// that commands start while another instance builds an index.
func (s Schema) isMigrated(ctx context.Context, pool *pgxpool.Pool) (bool, error) {
	var exist bool
	if err := pool.QueryRow(ctx, "SELECT to_regclass('goose_db_version') IS NOT NULL").Scan(&exist); err != nil || !exist {
		return false, err
	}
	m, q, err := s.migrationsOver(pool)
	if err != nil {
		return false, err
	}
	defer m.db.Close()
	if err := errors.Join(m.refuseNewer(ctx), q.refuseNewer(ctx)); err != nil {
		return false, err
	}
	if pending, err := m.HasPending(ctx); err != nil || pending {
		return false, err
	}
	if current, err := q.isCurrent(ctx); err != nil || !current {
		return false, err
	}
	const done = `SELECT EXISTS (SELECT 1 FROM meta WHERE name = $1) AND NOT EXISTS (SELECT 1 FROM unnest($2::text[]) AS i(name) WHERE to_regclass(i.name) IS NOT NULL)`
	err = pool.QueryRow(ctx, done, signingInherited, unusedIndexes).Scan(&exist)
	return exist, err
}

// migrationPool connects without the time limits of other connections, since a
// large table takes as long as it takes. One connection holds the lock, the
// other migrates. It takes over cfg.
func migrationPool(ctx context.Context, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	cfg.MinConns, cfg.MinIdleConns, cfg.MaxConns = 0, 0, 2
	cfg.PrepareConn, cfg.AfterRelease, cfg.ShouldPing = nil, nil, nil
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `SELECT set_config(name, '0', false) FROM pg_settings
			WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout')`)
		return err
	}
	return pgxpool.NewWithConfig(ctx, cfg)
}

// lockMigration polls for the lock. Waiting in one statement would hold a snapshot,
// which an index build of the instance with the lock waits for.
func (s Schema) lockMigration(ctx context.Context, conn *pgxpool.Conn) error {
	for logged := false; ; logged = true {
		var got bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", migrationLock).Scan(&got); err != nil || got {
			return err
		}
		if !logged {
			s.Log.Info("another instance is migrating the database; waiting for it")
		}
		if dbconn.Pause(ctx, 200*time.Millisecond); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// applyPatiently applies one migration and tries again while other sessions
// hold its tables.
func (s Schema) applyPatiently(ctx context.Context, m *migration, next *goose.Source) error {
	limit, err := m.lockTimeout(next)
	if err != nil {
		return err
	}
	for begun := time.Now(); ; {
		if _, err := m.db.ExecContext(ctx, "SELECT set_config('lock_timeout', $1, false)", limit); err != nil {
			return err
		}
		err := m.apply(ctx, next)
		if !isLockTimeout(err) {
			return err
		}
		if time.Since(begun) > migrationPatience {
			return fmt.Errorf("other sessions have held its tables for %s; end long transactions such as pg_dump and start again: %w", migrationPatience, err)
		}
		s.Log.Warn("the migration waits for other sessions to release a table; a long transaction such as pg_dump keeps it", "version", next.Version)
		if dbconn.Pause(ctx, migrationPause/2+rand.N(migrationPause)); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// lockTimeout returns how long a migration may wait for a lock. A concurrent index
// build waits for all older transactions without blocking others, and would leave an
// invalid index if it timed out, so it has no limit.
func (m *migration) lockTimeout(next *goose.Source) (string, error) {
	text, err := fs.ReadFile(m.files, next.Path)
	if strings.Contains(string(text), "+goose NO TRANSACTION") {
		return "0", err
	}
	return migrationLockTimeout, err
}

// isLockTimeout reports whether a statement waited too long for a lock. It is then
// repeated, so that a long query of another instance delays the migration instead of
// the other way round.
func isLockTimeout(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "55P03"
}
