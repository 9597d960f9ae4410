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

// CheckURL returns an error for a database URL that cannot work. The URL may be empty.
func CheckURL(url string) error {
	if _, err := pgxpool.ParseConfig(url); url != "" && err != nil {
		return errURL
	}
	return nil
}

// errURL is the error for an invalid URL. The error of the driver would repeat the URL and the
// password in it.
var errURL = errors.New("DATABASE_URL is not a usable postgres:// URL")

// openPostgres migrates the database and opens the pools.
func (s *DB) openPostgres(ctx context.Context) error {
	cfg, err := pgxpool.ParseConfig(s.Config.DatabaseURL)
	if err != nil {
		return errURL
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
	if err := openReplica(ctx, s); err != nil {
		return err
	}
	s.Reads = gen.New(Reader{s.Reader, s})
	s.Writer = &postgresWriter{s, s.Reader}
	s.sets = newSetWriter(s)
	s.notifier = newNotifier(s)
	return nil
}

// preparePostgres migrates the database and returns how many connections this
// instance may use. It uses a temporary pool without time limits, because
// migrations may take long and wait for those of another instance.
func (s *DB) preparePostgres(ctx context.Context, cfg *pgxpool.Config) (size dbconn.PoolSize, err error) {
	cfg = cfg.Copy()
	cfg.MaxConns, cfg.MinConns, cfg.MinIdleConns = min(cfg.MaxConns, dbconn.CommandConnections), 0, 0
	pool, err := openPool(ctx, cfg)
	if err != nil {
		return size, fmt.Errorf("open PostgreSQL: %w", err)
	}
	defer pool.Close()
	if err := dbconn.CheckServer(ctx, pool); err != nil {
		return size, err
	}
	if s.Pooler, err = dbconn.CheckPooler(ctx, pool); err != nil {
		return size, err
	}
	if err := requireTables(ctx, &s.Config, pool); err != nil {
		return size, err
	}
	if err := Schema(s.Config).Postgres(ctx, pool); err != nil {
		return size, err
	}
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	if err := s.SyncClock(ctx, db); err != nil {
		return size, err
	}
	return s.measure(ctx, db)
}

// openPool opens a pool and its first connection. If several instances start at
// once on a server with few connections, one that gets none retries until the
// others have reduced their pools, which they do with their next heartbeat.
func openPool(ctx context.Context, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(openTimeout)
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

// openTimeout bounds how long opening a store retries while PostgreSQL rejects new
// connections.
const openTimeout = 20 * time.Second

// requireTables returns ErrNoDatabase if the tables must exist but do not.
func requireTables(ctx context.Context, c *Config, pool *pgxpool.Pool) error {
	if !c.MustExist {
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
	dbconn.CloseReadOnly(cfg.ConnConfig, func() { go s.resetPools(time.Second) })
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
		cfg.MaxConns = dbconn.MaxConnections // slots can grow up to it
	}
	ordinary, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("open PostgreSQL: %w", err)
	}
	s.pool, s.Reader = ordinary, openLent(ordinary, s.slots, s.outages.Note)
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

// resetPools closes all connections, unless that was done within the given time. It is
// called when a session turns out to be read-only, because those that were opened at the
// same time are too.
func (s *DB) resetPools(unlessWithin time.Duration) {
	now, before := time.Now().UnixNano(), s.resetAt.Load()
	if now-before < int64(unlessWithin) || !s.resetAt.CompareAndSwap(before, now) {
		return
	}
	for _, p := range []pool{s.pool, s.Vital.pool} {
		if p, ok := p.(*pgxpool.Pool); ok && p != nil {
			p.Reset()
		}
	}
}

// openLent makes the connections of a pool usable through database/sql. Idle
// connections stay in the pool.
func openLent(pool *pgxpool.Pool, slots *dbconn.Slots, onOutage func(error)) *sql.DB {
	db := sql.OpenDB(dbconn.NewBoundedConnector(pool, slots, onOutage))
	db.SetMaxIdleConns(0)
	return db
}

// sessions returns the settings of database sessions.
func (s *DB) sessions() dbconn.SessionSettings {
	return dbconn.SessionSettings{Instance: s.Config.Instance, URL: s.Config.DatabaseURL}
}
