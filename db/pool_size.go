package db

import (
	"context"
	"fmt"

	"sluice/db/gen"
)

const (
	// mostConnections is how many connections a server uses at most for its
	// ordinary work. More make nothing faster.
	mostConnections = 24
	// fewestConnections are needed: what runs in a transaction may read beside it.
	fewestConnections = 2
	// mostReserved is how many connections are kept for what must go on when all
	// others wait: health checks, heartbeats, recovery.
	mostReserved = 3
	// listeners are the connections that wait for notifications: ours and that of
	// the job queue.
	listeners = 2
	// commandConnections is the size of the pool of a command.
	commandConnections = 4
)

// poolSize is how the connections of one instance are divided.
type poolSize struct{ main, reserved int }

// shareOf divides what PostgreSQL has for this role among the living instances.
// One more share is left free for an instance that starts and for commands, as
// long as that leaves each enough.
func shareOf(usable, living int) poolSize {
	living = max(living, 1)
	share := usable / (living + 1)
	if least := fewestConnections + listeners + 1; share < least {
		share = max(min(least, usable/living), 1)
	}
	size := poolSize{reserved: 1}
	switch {
	case share >= 12:
		size.reserved = mostReserved
	case share >= 8:
		size.reserved = 2
	}
	size.main = min(max(share-size.reserved-listeners, fewestConnections), mostConnections)
	return size
}

// usableConnections is how many connections the role of this store may have on
// the server: the smallest of the limits of server, database and role.
const usableConnections = `SELECT LEAST(
	current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
		- COALESCE(current_setting('reserved_connections', true), '0')::int,
	(SELECT CASE WHEN datconnlimit < 0 THEN 1000000 ELSE datconnlimit END FROM pg_database WHERE datname = current_database()),
	(SELECT CASE WHEN rolconnlimit < 0 THEN 1000000 ELSE rolconnlimit END FROM pg_roles WHERE rolname = current_user))`

// measure finds how many connections this instance may use. The instance itself
// counts even before its first heartbeat.
func (s *core) measure(ctx context.Context, db gen.DBTX) (poolSize, error) {
	var usable int
	if err := db.QueryRowContext(ctx, usableConnections).Scan(&usable); err != nil {
		return poolSize{}, fmt.Errorf("read how many connections PostgreSQL takes: %w", err)
	}
	var others int
	const count = "SELECT count(*) FROM instances WHERE heartbeat_at > $1 AND id <> $2"
	if err := db.QueryRowContext(ctx, count, s.silentSince(), s.cfg.Instance).Scan(&others); err != nil {
		return poolSize{}, fmt.Errorf("count instances: %w", err)
	}
	return shareOf(usable, others+1), nil
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
	s.slots.resize(size.main)
	if int(s.pool.Stat().TotalConns()) <= size.main+1 {
		return
	}
	for _, conn := range s.pool.AcquireAllIdle(ctx) {
		if int(s.pool.Stat().TotalConns()) > size.main {
			_ = conn.Hijack().Close(ctx)
		} else {
			conn.Release()
		}
	}
}
