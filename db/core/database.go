package core

import (
	"context"
	"fmt"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// PublicError gives an error of the database its public code, as the methods of
// the store do. It is for statements that the job queue runs directly.
func (s *DB) PublicError(err error) error { return dbconn.StorageError(err) }

// Advise adds a hint for the operator to a startup error.
func (s *DB) Advise(err error) error { return dbconn.AdviseOpen(s.Config.DataDir, err) }

// SyncClock adjusts Clock to the database's clock. It does nothing on SQLite and
// if the configuration set a clock.
func (s *DB) SyncClock(ctx context.Context, db gen.DBTX) error {
	if s.Config.DatabaseURL == "" || !s.OwnClock {
		return nil
	}
	const query = `SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)`
	var now int64
	sent := s.Clock.Machine()
	if err := db.QueryRowContext(ctx, query).Scan(&now); err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	s.Clock.Correct(sent, s.Clock.Machine(), time.UnixMicro(now).UTC())
	return nil
}

// Now returns the time of the clock that all instances share.
func (s *DB) Now() time.Time { return s.Config.Now() }

// IDs returns the generator of identifiers, which begin with the time of Now.
func (s *DB) IDs() flow.IDs { return s.ids }

// measure returns how many connections this instance may use. It counts itself
// as an instance even before its first heartbeat.
func (s *DB) measure(ctx context.Context, db gen.DBTX) (dbconn.PoolSize, error) {
	var usable int
	if err := db.QueryRowContext(ctx, dbconn.UsableConnections).Scan(&usable); err != nil {
		return dbconn.PoolSize{}, fmt.Errorf("read the connection limit of PostgreSQL: %w", err)
	}
	var others int
	const count = "SELECT count(*) FROM instances WHERE heartbeat_at > $1 AND id <> $2"
	if err := db.QueryRowContext(ctx, count, s.SilentSince(), s.Config.Instance).Scan(&others); err != nil {
		return dbconn.PoolSize{}, fmt.Errorf("count instances: %w", err)
	}
	return dbconn.ShareOf(usable, others+1), nil
}

// ResizePool adjusts the size of the pool to the number of live instances. It
// closes connections that other instances need, and allows more when instances
// are gone. It does nothing if DATABASE_URL sets the size of the pool.
func (s *DB) ResizePool(ctx context.Context) {
	if !s.IsPostgres() || !s.sizesItself {
		return
	}
	size, err := s.measure(ctx, s.Vital.DBTX)
	if err != nil {
		return // the next heartbeat tries again
	}
	s.slots.Resize(size.Main)
	pool := Pool(s)
	if int(pool.Stat().TotalConns()) <= size.Main+1 {
		return
	}
	for _, conn := range pool.AcquireAllIdle(ctx) {
		if int(pool.Stat().TotalConns()) > size.Main {
			_ = conn.Hijack().Close(ctx)
		} else {
			conn.Release()
		}
	}
}
