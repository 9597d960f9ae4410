package db

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"sluice/db/gen"
)

// runChannel is where instances tell each other which run was written.
const runChannel = "sluice_run"

func (s *Store) openPostgres(ctx context.Context) error {
	cfg, err := pgxpool.ParseConfig(s.cfg.DatabaseURL)
	if err != nil {
		// The error would repeat the URL and the password in it.
		return fmt.Errorf("DATABASE_URL is not a usable postgres:// URL")
	}
	if !strings.Contains(s.cfg.DatabaseURL, "pool_max_conns") {
		cfg.MaxConns = max(cfg.MaxConns, 24)
	}
	cfg.AfterConnect = tune
	if s.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	if err := s.preparePostgres(ctx); err != nil {
		s.pool.Close()
		return err
	}
	s.reader = stdlib.OpenDBFromPool(s.pool)
	if err := s.syncClock(ctx, s.reader); err != nil {
		s.pool.Close()
		return err
	}
	s.read = gen.New(s.reader)
	s.writer = &postgresWriter{s: s}
	if err := s.openSets(ctx, cfg); err != nil {
		s.pool.Close()
		return err
	}
	s.notifier = newNotifier(s.pool, func(err error) {
		s.cfg.Log.Warn("other instances were not told of runs that were written", "error", err)
	})
	s.bucket = &table{s}
	return nil
}

// preparePostgres checks that the database can be used, and migrates it.
func (s *Store) preparePostgres(ctx context.Context) error {
	if err := s.checkPooler(ctx, s.pool); err != nil {
		return err
	}
	if err := s.requirePostgres(ctx); err != nil {
		return err
	}
	return s.migratePostgres(ctx, s.pool)
}

// requirePostgres returns ErrNoDatabase if the tables must exist and do not.
func (s *Store) requirePostgres(ctx context.Context) error {
	if !s.cfg.MustExist {
		return nil
	}
	var exist bool
	if err := s.pool.QueryRow(ctx, "SELECT to_regclass('goose_db_version') IS NOT NULL").Scan(&exist); err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	if !exist {
		return ErrNoDatabase
	}
	return nil
}

// openSets opens the connections on which sets of writes are carried out.
func (s *Store) openSets(ctx context.Context, cfg *pgxpool.Config) error {
	cfg = cfg.Copy()
	cfg.MaxConns, cfg.MinConns = parallelSets, 0
	cfg.AfterConnect = tuneSets
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	s.sets = newSetWriter(s, pool)
	return nil
}

// tuneSets makes PostgreSQL plan each statement over a set once, and look up
// its rows by their keys: it cannot know how short the arrays are.
func tuneSets(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SET plan_cache_mode = force_generic_plan; SET enable_bitmapscan = off; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off")
	return err
}

// tune turns bitmap scans off. Open runs are few, but each leaves dead entries
// behind in the index they are counted by; a plain index scan marks those and
// is rid of them, a bitmap scan passes over them again and again until the next
// vacuum. Nothing here reads enough rows for a bitmap to win.
func tune(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SET enable_bitmapscan = off")
	return err
}

// Listen calls told with the ID of every run that any instance writes,
// FlowEdited with every draft that any instance changes, and Heard with what
// other instances tell, until ctx ends. On SQLite it only waits: one process
// writes there, and wakes its own waiters. Whenever it begins to hear, empty IDs
// say that anything may have been written before.
func (s *Store) Listen(ctx context.Context, told func(runID string)) error {
	for s.pool != nil && ctx.Err() == nil {
		if err := s.listen(ctx, told); ctx.Err() == nil {
			s.cfg.Log.Warn("listening for runs was interrupted", "error", err)
			pause(ctx, time.Second)
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *Store) listen(ctx context.Context, told func(string)) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	// A connection that listens must not serve others afterwards.
	own := conn.Hijack()
	defer own.Close(context.WithoutCancel(ctx))
	for _, channel := range []string{runChannel, editChannel, newsChannel} {
		if _, err := own.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return err
		}
	}
	told("")
	s.edited("", "", 0)
	for {
		n, err := own.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		switch n.Channel {
		case editChannel:
			s.heardEdited(n.Payload)
		case newsChannel:
			s.heardNews(n.Payload)
		default:
			told(n.Payload)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
