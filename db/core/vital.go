package core

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
)

// lane is a set of connections with a reader and a writer. The vital lane is for
// operations that must work while all other connections are blocked: heartbeats,
// recovery, health checks, and queries about commits in doubt. On SQLite it uses
// the ordinary connections.
type lane struct {
	pool   pool // nil on SQLite and for commands
	DBTX   *sql.DB
	Reads  *gen.Queries
	writer writer
}

// useVital uses the ordinary connections as the vital lane if there are no reserved
// ones.
func (s *DB) useVital() {
	if s.Vital.DBTX == nil {
		s.Vital = lane{DBTX: s.Reader, Reads: s.Reads, writer: s.Writer}
	}
}

// close closes the connections of the lane. It does nothing on SQLite and for commands, where
// the lane has none of its own.
func (l *lane) close() (err error) {
	if l.pool == nil {
		return nil
	}
	err = cmp.Or(l.writer.close(), l.DBTX.Close())
	l.pool.Close()
	return err
}

// WriteVital is Write on the vital lane.
func (s *DB) WriteVital(ctx context.Context, d Durability, fn func(*Tx) error) error {
	return s.repeatDamaged(ctx, func() error { return s.outages.PublicError(s.Vital.writer.write(ctx, &member{fn: fn, d: d})) })
}

// pingTimeout is how long the database may take to answer a health check.
const pingTimeout = 900 * time.Millisecond

// Ping returns an error if the database does not answer within a second, or accepts no
// writes. On SQLite it always returns nil.
func (s *DB) Ping(ctx context.Context) error {
	if !s.IsPostgres() {
		return nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, pingTimeout, dbconn.ErrNoAnswer)
	defer cancel()
	readOnly, err := s.isReadOnly(limited)
	if err == nil && readOnly { // maybe only the session: it was opened while the database was
		s.resetPools(0)
		readOnly, err = s.isReadOnly(limited)
	}
	if err == nil && readOnly {
		err = dbconn.ErrReadOnly
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return dbconn.Unavailable(fmt.Errorf("%w: %w", dbconn.ErrNoAnswer, err))
	}
	return s.outages.PublicError(err)
}

// isReadOnly reports whether a session of the vital lane may not write.
func (s *DB) isReadOnly(ctx context.Context) (readOnly bool, err error) {
	err = s.Vital.DBTX.QueryRowContext(ctx, "SELECT current_setting('transaction_read_only') = 'on'").Scan(&readOnly)
	return readOnly, err
}
