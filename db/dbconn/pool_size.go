package dbconn

const (
	// MostConnections is how many connections a server uses at most for its
	// ordinary work. More make nothing faster.
	MostConnections = 24
	// fewestConnections are needed: what runs in a transaction may read beside it.
	fewestConnections = 2
	// mostReserved is how many connections are kept for what must go on when all
	// others wait: health checks, heartbeats, recovery.
	mostReserved = 3
	// Listeners are the connections that wait for notifications: ours and that of
	// the job queue.
	Listeners = 2
	// CommandConnections is the size of the pool of a command.
	CommandConnections = 4
)

// PoolSize is how the connections of one instance are divided.
type PoolSize struct{ Main, Reserved int }

// ShareOf divides what PostgreSQL has for this role among the living instances.
// One more share is left free for an instance that starts and for commands, as
// long as that leaves each enough.
func ShareOf(usable, living int) PoolSize {
	living = max(living, 1)
	share := usable / (living + 1)
	if least := fewestConnections + Listeners + 1; share < least {
		share = max(min(least, usable/living), 1)
	}
	size := PoolSize{Reserved: 1}
	switch {
	case share >= 12:
		size.Reserved = mostReserved
	case share >= 8:
		size.Reserved = 2
	}
	size.Main = min(max(share-size.Reserved-Listeners, fewestConnections), MostConnections)
	return size
}

// UsableConnections is how many connections the role of this store may have on
// the server: the smallest of the limits of server, database and role.
const UsableConnections = `SELECT LEAST(
	current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
		- COALESCE(current_setting('reserved_connections', true), '0')::int,
	(SELECT CASE WHEN datconnlimit < 0 THEN 1000000 ELSE datconnlimit END FROM pg_database WHERE datname = current_database()),
	(SELECT CASE WHEN rolconnlimit < 0 THEN 1000000 ELSE rolconnlimit END FROM pg_roles WHERE rolname = current_user))`
