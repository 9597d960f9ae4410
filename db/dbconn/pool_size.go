package dbconn

const (
	// MaxConnections is the maximum number of connections for the ordinary work of a
	// server. More do not make it faster.
	MaxConnections = 24
	// minConnections is the minimum: a transaction may read on a second
	// connection.
	minConnections = 2
	// maxReserved is the maximum number of connections reserved for operations that
	// must work while all others wait: health checks, heartbeats, recovery.
	maxReserved = 3
	// Listeners is the number of connections that wait for notifications: one of the
	// store and one of the job queue.
	Listeners = 2
	// CommandConnections is the size of the pool of a command.
	CommandConnections = 4
)

// PoolSize is the number of connections of one instance, by purpose.
type PoolSize struct{ Main, Reserved int }

// ShareOf returns the share of each live instance of the connections that PostgreSQL
// allows this role. One more share stays free for an instance that is starting and
// for commands, as long as the shares stay large enough.
func ShareOf(usable, living int) PoolSize {
	living = max(living, 1)
	share := usable / (living + 1)
	if minShare := minConnections + Listeners + 1; share < minShare {
		share = max(min(minShare, usable/living), 1)
	}
	size := PoolSize{Reserved: 1}
	switch {
	case share >= 12:
		size.Reserved = maxReserved
	case share >= 8:
		size.Reserved = 2
	}
	size.Main = min(max(share-size.Reserved-Listeners, minConnections), MaxConnections)
	return size
}

// UsableConnections selects how many connections the role may have: the smallest of
// the limits of server, database and role.
const UsableConnections = `SELECT LEAST(
	current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
		- COALESCE(current_setting('reserved_connections', true), '0')::int,
	(SELECT CASE WHEN datconnlimit < 0 THEN 1000000 ELSE datconnlimit END FROM pg_database WHERE datname = current_database()),
	(SELECT CASE WHEN rolconnlimit < 0 THEN 1000000 ELSE rolconnlimit END FROM pg_roles WHERE rolname = current_user))`
