package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// NameError gives an error of the database its public code, as the methods of
// the store do. It is for statements that the job queue makes on its own.
func (s *core) NameError(err error) error { return dbconn.StorageError(err) }

// Advise adds to a startup error what the operator can do about it.
func (s *core) Advise(err error) error { return dbconn.AdviseOpen(s.cfg.DataDir, err) }

// syncClock reads the database's clock, unless the store was given a clock,
// which then is everybody's.
func (s *core) syncClock(ctx context.Context, db gen.DBTX) error {
	if s.cfg.DatabaseURL == "" || !s.ownClock {
		return nil
	}
	const query = `SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)`
	var now int64
	asked := s.clock.Machine()
	if err := db.QueryRowContext(ctx, query).Scan(&now); err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	s.clock.Correct(asked, s.clock.Machine(), time.UnixMicro(now).UTC())
	return nil
}

// Now returns the time that all instances share.
func (s *core) Now() time.Time { return s.cfg.Now() }

// IDs makes identifiers that begin with Now.
func (s *core) IDs() flow.IDs { return s.ids }

// measure finds how many connections this instance may use. The instance itself
// counts even before its first heartbeat.
func (s *core) measure(ctx context.Context, db gen.DBTX) (dbconn.PoolSize, error) {
	var usable int
	if err := db.QueryRowContext(ctx, dbconn.UsableConnections).Scan(&usable); err != nil {
		return dbconn.PoolSize{}, fmt.Errorf("read how many connections PostgreSQL takes: %w", err)
	}
	var others int
	const count = "SELECT count(*) FROM instances WHERE heartbeat_at > $1 AND id <> $2"
	if err := db.QueryRowContext(ctx, count, s.silentSince(), s.cfg.Instance).Scan(&others); err != nil {
		return dbconn.PoolSize{}, fmt.Errorf("count instances: %w", err)
	}
	return dbconn.ShareOf(usable, others+1), nil
}

// resizePool gives up connections that other instances need by now, or takes
// those of instances that are gone. It does nothing if DATABASE_URL sets the
// size of the pool.
func (s *core) resizePool(ctx context.Context) {
	if s.pool == nil || !s.sizesItself {
		return
	}
	size, err := s.measure(ctx, s.vital.db)
	if err != nil {
		return // the next heartbeat tries again
	}
	s.slots.Resize(size.Main)
	if int(s.pool.Stat().TotalConns()) <= size.Main+1 {
		return
	}
	for _, conn := range s.pool.AcquireAllIdle(ctx) {
		if int(s.pool.Stat().TotalConns()) > size.Main {
			_ = conn.Hijack().Close(ctx)
		} else {
			conn.Release()
		}
	}
}
