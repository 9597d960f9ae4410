package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"sluice/db/dbconn"
	"sluice/db/gen"
)

func (s *DB) openPostgres(ctx context.Context) error {
	cfg, err := pgxpool.ParseConfig(s.Config.DatabaseURL)
	if err != nil {
		// The error would repeat the URL and the password in it.
		return fmt.Errorf("DATABASE_URL is not a usable postgres:// URL")
	}
	s.sizesItself = s.Config.Instance != "" && !strings.Contains(s.Config.DatabaseURL, "pool_max_conns")
	s.sessions().Bound(cfg.ConnConfig)
	s.connect = cfg.ConnConfig.Copy()
	size, err := s.preparePostgres(ctx, cfg)
	if err != nil {
		return err
	}
	if err := s.openPools(ctx, cfg, size); err != nil {
		return err
	}
	s.Reads = gen.New(Reader{s.Reader, s})
	s.Writer = &postgresWriter{s, s.Reader}
	s.sets = newSetWriter(s)
	s.notifier = newNotifier(s)
	return nil
}

// preparePostgres migrates the database and finds how many connections this
// instance may use. It works on a pool of its own without time limits: a
// migration takes as long as it takes, and waits for that of another instance.
func (s *DB) preparePostgres(ctx context.Context, cfg *pgxpool.Config) (size dbconn.PoolSize, err error) {
	cfg = cfg.Copy()
	cfg.MaxConns, cfg.MinConns, cfg.MinIdleConns = min(cfg.MaxConns, dbconn.CommandConnections), 0, 0
	pool, err := openPool(ctx, cfg)
	if err != nil {
		return size, fmt.Errorf("open PostgreSQL: %w", err)
	}
	defer pool.Close()
	if s.Pooler, err = dbconn.CheckPooler(ctx, pool); err != nil {
		return size, err
	}
	if err := s.requirePostgres(ctx, pool); err != nil {
		return size, err
	}
	if err := s.Config.Schema().Postgres(ctx, pool); err != nil {
		return size, err
	}
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	if err := s.SyncClock(ctx, db); err != nil {
		return size, err
	}
	return s.measure(ctx, db)
}

// openPool opens a pool and makes its first connection. Several instances may
// start at once on a server that takes few connections: one that finds it full
// waits until the others have made room, which takes them a heartbeat.
func openPool(ctx context.Context, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(openPatience)
	for failed := 1; ; failed++ {
		err := pool.Ping(ctx)
		if err == nil {
			return pool, nil
		}
		if !dbconn.IsTooMany(err) || time.Now().After(deadline) || !dbconn.BackOff(ctx, failed) {
			pool.Close()
			return nil, err
		}
	}
}

// openPatience is how long opening a store waits for PostgreSQL to take another
// connection.
const openPatience = 20 * time.Second

// requirePostgres returns ErrNoDatabase if the tables must exist and do not.
func (s *DB) requirePostgres(ctx context.Context, pool *pgxpool.Pool) error {
	if !s.Config.MustExist {
		return nil
	}
	var exist bool
	if err := pool.QueryRow(ctx, "SELECT to_regclass('goose_db_version') IS NOT NULL").Scan(&exist); err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	if !exist {
		return dbconn.ErrNoDatabase
	}
	return nil
}

// openPools opens the pool for ordinary work and the reserved one.
func (s *DB) openPools(ctx context.Context, cfg *pgxpool.Config, size dbconn.PoolSize) (err error) {
	cfg.AfterConnect = s.sessions().Tune(cfg.ConnConfig)
	if s.Config.Instance != "" {
		dbconn.LimitAnswers(cfg.ConnConfig)
	}
	cfg.ShouldPing, cfg.PingTimeout = s.outages.ShouldPing, dbconn.PingTimeout
	reserved := cfg.Copy()
	switch {
	case s.sizesItself:
		cfg.MaxConns = int32(size.Main)
	case s.Config.Instance == "" && !strings.Contains(s.Config.DatabaseURL, "pool_max_conns"):
		cfg.MaxConns = dbconn.CommandConnections
	}
	s.slots = dbconn.NewSlots(int(cfg.MaxConns))
	if s.sizesItself {
		cfg.MaxConns = dbconn.MostConnections // slots can grow up to it
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	s.Reader = openLent(s.pool, s.slots, s.outages.Note)
	if s.Config.Instance == "" {
		return nil
	}
	reserved.MaxConns, reserved.MinConns, reserved.MinIdleConns = int32(size.Reserved), 0, 0
	pool, err := pgxpool.NewWithConfig(ctx, reserved)
	if err != nil {
		return errors.Join(fmt.Errorf("open PostgreSQL: %w", err), s.Reader.Close())
	}
	db := openLent(pool, dbconn.NewSlots(size.Reserved), s.outages.Note)
	s.Vital = lane{pool: pool, DBTX: db, Reads: gen.New(Reader{db, s}), writer: &postgresWriter{s, db}}
	return nil
}

// openLent returns the connections of a pool for database/sql. All of them are
// kept by the pool.
func openLent(pool *pgxpool.Pool, slots *dbconn.Slots, lost func(error)) *sql.DB {
	db := sql.OpenDB(dbconn.NewLender(pool, slots, lost))
	db.SetMaxIdleConns(0)
	return db
}

func (s *DB) sessions() dbconn.SessionSettings {
	return dbconn.SessionSettings{Instance: s.Config.Instance, URL: s.Config.DatabaseURL}
}
