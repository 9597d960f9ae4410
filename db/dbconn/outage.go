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

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/flow"
)

// retryUnavailable is when it is worth to come back to a database that cannot
// be reached: a restart takes a few seconds.
const retryUnavailable = 2 * time.Second

// ErrNoConnection is the cause when no connection became free in time.
var ErrNoConnection = errors.New("db: no connection to the database became free in time")

// ErrNoAnswer is the cause when a transaction took longer than writeTimeout.
var ErrNoAnswer = errors.New("db: the database did not answer in time")

// IsOutage reports whether an error says nothing about a statement, but that
// PostgreSQL cannot be reached, shuts down, starts up, or takes no more
// connections. A statement that failed that way may have been carried out.
func IsOutage(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		// Whatever the reason to refuse a connection: one was accepted when the store
		// was opened, so it will be again.
		return connecting || isOutageCode(e.Code)
	}
	if errors.Is(err, ErrNoConnection) {
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
	for _, cause := range []error{driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET} {
		if errors.Is(err, cause) {
			return true
		}
	}
	// pgconn has no other name for a statement on a connection that is closed.
	return pgconn.SafeToRetry(err)
}

// isOutageCode reports whether a code of PostgreSQL ends the connection, or
// refuses to open one.
func isOutageCode(code string) bool {
	switch code {
	case "25P03", // idle_in_transaction_session_timeout: this process stood still
		"25006",                            // read-only, as a server is that is no longer the primary one
		"53300",                            // too_many_connections
		"57P01", "57P02", "57P03", "57P05": // shutdown, crash, starting up, idle_session_timeout
		return true
	}
	return len(code) == 5 && code[:2] == "08" // connection exceptions
}

// IsTimeLimit reports whether PostgreSQL gave up a statement, and with it the
// transaction, because of lock_timeout or statement_timeout.
func IsTimeLimit(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "55P03" || e.Code == "57014")
}

// Unavailable is the public error for an outage.
func Unavailable(cause error) error {
	if flow.IsUnavailable(cause) {
		return cause
	}
	return named(flow.CodeUnavailable, "The database cannot be reached at the moment. Try again in a few seconds.", retryUnavailable, cause)
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

// Outages remembers the last outage.
type Outages struct {
	Log    *slog.Logger
	lost   atomic.Int64 // when a connection was last lost, in µs since 1970
	logged atomic.Int64 // when that was last logged
}

// logOutagesEvery bounds how often an outage is logged: each request finds it.
const logOutagesEvery = 10 * time.Second

// Note takes note of an error that says that the database cannot be
// reached, and logs it.
func (o *Outages) Note(err error) {
	now := time.Now().UnixMicro()
	o.lost.Store(now)
	before := o.logged.Load()
	if now-before > logOutagesEvery.Microseconds() && o.logged.CompareAndSwap(before, now) {
		o.Log.Warn("the database cannot be reached, or ends connections; trying again", "error", err)
	}
}

// Named gives an error of the database its public name.
func (o *Outages) Named(err error) error {
	err = StorageError(err)
	if flow.IsUnavailable(err) {
		o.Note(err)
	}
	return err
}

// PingTimeout bounds how long an idle connection may take to show that it still
// works.
const PingTimeout = 2 * time.Second

// ShouldPing reports whether a connection is to be tried before it is used: if
// it was idle for a while, or since before another one was lost, since mostly
// all are lost at once.
func (o *Outages) ShouldPing(_ context.Context, p pgxpool.ShouldPingParams) bool {
	idleSince := time.Now().Add(-p.IdleDuration).UnixMicro()
	return p.IdleDuration > time.Second || idleSince <= o.lost.Load()
}
