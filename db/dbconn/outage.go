package dbconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/flow"
)

// retryUnavailable is the retry hint for a database that cannot be reached. A restart
// takes a few seconds.
const retryUnavailable = 2 * time.Second

// ErrNoConnection is the cause when no connection became free in time.
var ErrNoConnection = errors.New("db: no connection to the database became free in time")

// ErrNoAnswer is the cause when a transaction took longer than writeTimeout.
var ErrNoAnswer = errors.New("db: the database did not answer in time")

// ErrReadOnly is the cause when the database answers but accepts no writes, such as a
// standby server.
var ErrReadOnly = errors.New("db: the database is read-only")

// IsReadOnly reports whether PostgreSQL refused a write because the session is read-only.
func IsReadOnly(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == codeReadOnly || errors.Is(err, ErrReadOnly)
}

// codeReadOnly is read_only_sql_transaction: the server is no longer the primary, or an
// administrator made the database read-only.
const codeReadOnly = "25006"

// CloseReadOnly makes connections of cfg close when the server refuses a write because
// the session is read-only, and calls found. A session keeps this state although the
// database accepts writes again, so it must not return to the pool.
func CloseReadOnly(cfg *pgx.ConnConfig, found func()) {
	keep := cfg.OnPgError
	cfg.OnPgError = func(conn *pgconn.PgConn, e *pgconn.PgError) bool {
		if e.Code == codeReadOnly {
			found()
			return false
		}
		return keep == nil || keep(conn, e)
	}
}

// IsOutage reports whether an error means that PostgreSQL cannot be reached, is
// shutting down or starting up, or rejects new connections. A statement that
// failed with an outage may have been executed.
func IsOutage(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		// Any refused connection counts, because one was accepted when the store was
		// opened.
		return connecting || isOutageCode(e.Code)
	}
	if errors.Is(err, ErrNoConnection) || errors.Is(err, ErrReadOnly) {
		return true
	}
	if errors.Is(err, context.Canceled) { // by the caller
		return false
	}
	if connecting {
		return true
	}
	if errors.Is(err, context.DeadlineExceeded) { // of the caller
		return false
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	for _, cause := range []error{driver.ErrBadConn, pgconn.ErrConnClosed, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return pgconn.SafeToRetry(err)
}

// isOutageCode reports whether a code of PostgreSQL means that a connection was ended
// or refused.
func isOutageCode(code string) bool {
	switch code {
	case "25P03", // idle_in_transaction_session_timeout: this process was frozen
		codeReadOnly,
		"53300",                            // too_many_connections
		"57P01", "57P02", "57P03", "57P05": // shutdown, crash, starting up, idle_session_timeout
		return true
	}
	return len(code) == 5 && code[:2] == "08" // connection exceptions
}

// IsTimeLimit reports whether PostgreSQL canceled a statement, and with it the
// transaction, because of lock_timeout or statement_timeout.
func IsTimeLimit(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "55P03" || e.Code == "57014")
}

// Unavailable returns the public error for an outage.
func Unavailable(cause error) error {
	if flow.IsUnavailable(cause) {
		return cause
	}
	message := "The database cannot be reached at the moment. Try again in a few seconds."
	if IsReadOnly(cause) {
		message = "The database accepts no writes at the moment. Try again in a few seconds."
	}
	return retryableError(flow.CodeUnavailable, message, retryUnavailable, cause)
}

// BackOff waits between attempts: 50 ms, then twice as long each time up to a
// second. It reports false when ctx has ended.
func BackOff(ctx context.Context, failed int) bool {
	Pause(ctx, min(50*time.Millisecond<<min(failed-1, 10), time.Second))
	return ctx.Err() == nil
}

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Outages records outages and limits how often they are logged. It is safe for
// concurrent use.
type Outages struct {
	Log    *slog.Logger
	lost   atomic.Int64 // when a connection was last lost, in µs since 1970
	logged atomic.Int64 // when that was last logged
}

// logOutagesEvery bounds how often an outage is logged, because every request fails.
const logOutagesEvery = 10 * time.Second

// Note records an outage and logs it.
func (o *Outages) Note(err error) {
	now := time.Now().UnixMicro()
	o.lost.Store(now)
	before := o.logged.Load()
	if now-before > logOutagesEvery.Microseconds() && o.logged.CompareAndSwap(before, now) {
		o.Log.Warn("the database cannot be reached, or ends connections; trying again", "error", err)
	}
}

// PublicError converts an error with StorageError and records an outage.
func (o *Outages) PublicError(err error) error {
	err = StorageError(err)
	if flow.IsUnavailable(err) {
		o.Note(err)
	}
	return err
}

// PingTimeout bounds the check of an idle connection.
const PingTimeout = 2 * time.Second

// ShouldPing reports whether to check a connection before it is used: if it was idle
// for more than a second, or since before another connection was lost, because
// usually all are lost together.
func (o *Outages) ShouldPing(_ context.Context, p pgxpool.ShouldPingParams) bool {
	idleSince := time.Now().Add(-p.IdleDuration).UnixMicro()
	return p.IdleDuration > time.Second || idleSince <= o.lost.Load()
}
