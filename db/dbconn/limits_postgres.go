package dbconn

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Time limits that PostgreSQL applies to the sessions of a server. A frozen
// instance, or one that the network cut off, may hold locks that all others
// wait for; these limits bound how long.
const (
	// idleInTransaction is the longest pause between two statements of a
	// transaction. Normally it is microseconds, unless this process is frozen.
	idleInTransaction = 3 * time.Second
	// LockTimeout is longer than idleInTransaction, so that a session that waits for
	// a frozen instance gets the lock once the frozen session is ended.
	LockTimeout = 5 * time.Second
	// statementTimeout is longer than any statement of a server takes.
	statementTimeout = 30 * time.Second
	// commandIdle is idleInTransaction for commands, which may be suspended in a
	// terminal for a moment. Commands have no other limits, because migrations and
	// rotations of the master key may take long.
	commandIdle = time.Minute
)

// Time limits of connections.
const (
	// ConnectTimeout bounds the attempt to connect to one host.
	ConnectTimeout = 5 * time.Second
	// peerTimeout is how long data may stay unacknowledged, and about how long an
	// idle peer may be silent, before either side closes the connection.
	peerTimeout = 10 * time.Second
	// answerTimeout is how long a server may take to answer a statement. It detects
	// networks that acknowledge data but lose it afterwards, as proxies may.
	answerTimeout = statementTimeout + 5*time.Second
)

// setting is a parameter of a PostgreSQL session.
type setting struct{ name, value string }

// SessionSettings configures the sessions of one process with PostgreSQL.
type SessionSettings struct {
	Instance string // name of the server, empty for a command
	URL      string // DATABASE_URL
}

// settings returns the parameters of a session.
func (s SessionSettings) settings() []setting {
	list := []setting{
		// Every run leaves dead entries in the partial index of open runs. A plain
		// index scan marks dead entries so that later scans skip them; a bitmap scan
		// visits them again until the next vacuum. No query here reads enough rows
		// for a bitmap scan to be faster.
		{"enable_bitmapscan", "off"},
		// PostgreSQL overestimates the rows of recursive queries a thousandfold, and
		// would spend a second compiling a query that runs for milliseconds.
		{"jit", "off"},
		{"tcp_user_timeout", milliseconds(peerTimeout)},
		{"tcp_keepalives_idle", "5"},
		{"tcp_keepalives_interval", "2"},
		{"tcp_keepalives_count", "3"},
	}
	if s.Instance == "" {
		return append(list, setting{"idle_in_transaction_session_timeout", milliseconds(commandIdle)})
	}
	return append(list,
		setting{"idle_in_transaction_session_timeout", milliseconds(idleInTransaction)},
		setting{"lock_timeout", milliseconds(LockTimeout)},
		setting{"statement_timeout", milliseconds(statementTimeout)})
}

// LockTimeLeft returns for how many milliseconds a write may still wait for a lock whose
// caller has been waiting since a time, for a connection or for other writes. short
// reports that it is less than LockTimeout. So a lock delays a caller by one time limit,
// and not by one for each thing that the write waits for.
func LockTimeLeft(since time.Time) (left int64, short bool) {
	waited := time.Since(since)
	if since.IsZero() || waited < LockTimeout/10 {
		return 0, false
	}
	return max(LockTimeout-waited, LockTimeout/10).Milliseconds(), true
}

// ShortenLockTimeout sets lock_timeout to $1 milliseconds for the rest of a transaction, unless
// the setting is shorter.
const ShortenLockTimeout = `SELECT set_config('lock_timeout', least($1::bigint, nullif(setting::bigint, 0))::text, true) FROM pg_settings WHERE name = 'lock_timeout'`

func milliseconds(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// Bound applies the time limits to connections of cfg. Settings in DATABASE_URL take
// precedence.
func (s SessionSettings) Bound(cfg *pgx.ConnConfig) {
	cfg.RuntimeParams["application_name"] = s.applicationName(cfg.RuntimeParams["application_name"])
	if s.Instance != "" && !setsConnectTimeout(s.URL) {
		cfg.ConnectTimeout = ConnectTimeout
	}
	dialer := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3},
		Control:         setUserTimeout,
		Timeout:         cfg.ConnectTimeout,
	}
	cfg.DialFunc = dialer.DialContext
}

// setsConnectTimeout reports whether the operator chose a connect timeout.
func setsConnectTimeout(databaseURL string) bool {
	return strings.Contains(databaseURL, "connect_timeout") || os.Getenv("PGCONNECT_TIMEOUT") != ""
}

// Tune returns a function that sets the parameters of a new connection. It uses
// statements instead of the startup message, because poolers refuse unknown
// parameters there.
func (s SessionSettings) Tune(cfg *pgx.ConnConfig) func(context.Context, *pgx.Conn) error {
	var sql strings.Builder
	for _, set := range s.settings() {
		_, given := cfg.RuntimeParams[set.name]
		if !given && !strings.Contains(cfg.RuntimeParams["options"], set.name) {
			fmt.Fprintf(&sql, "SET %s = '%s';", set.name, set.value)
		}
	}
	return func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql.String())
		return err
	}
}

// maxApplicationName is the size in bytes to which PostgreSQL truncates application
// names.
const maxApplicationName = 63

// applicationName names the sessions of this store in pg_stat_activity: "sluice"
// or the name that DATABASE_URL gives, and the instance.
func (s SessionSettings) applicationName(given string) string {
	name := cmp.Or(given, "sluice")
	if s.Instance == "" {
		return name
	}
	suffix := SessionSuffix(s.Instance)
	return name[:min(len(name), maxApplicationName-len(suffix))] + suffix
}

// SessionSuffix returns the end of the application name of an instance's sessions.
// It contains the end of the instance's ID, which is the unique part.
func SessionSuffix(instance string) string {
	instance = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?' // as PostgreSQL does
		}
		return r
	}, instance)
	const maxInstance = maxApplicationName - len("sluice ")
	return " " + instance[max(0, len(instance)-maxInstance):]
}
