package dbconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// acquireTimeout bounds the wait for a connection. A request that gets none by
// then is answered with 503, so that callers do not pile up.
const acquireTimeout = 5 * time.Second

// boundedConnector provides the connections of a pool to database/sql, bounded by slots and
// with a limited wait. Here, in one place for reads and writes, errors of an
// unreachable server become CodeUnavailable.
type boundedConnector struct {
	driver.Connector
	slots *Slots
	lost  func(error) // called for each outage
}

// NewBoundedConnector returns a connector for database/sql.
func NewBoundedConnector(pool *pgxpool.Pool, slots *Slots, onOutage func(error)) *boundedConnector {
	return &boundedConnector{stdlib.GetPoolConnector(pool), slots, onOutage}
}

// Connect takes a connection of the pool.
func (c *boundedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	limited, cancel := context.WithTimeoutCause(ctx, acquireTimeout, ErrNoConnection)
	defer cancel()
	if err := c.slots.Acquire(limited); err != nil {
		return nil, c.publicError(ctx, context.Cause(limited))
	}
	for failed := 1; ; failed++ {
		conn, err := c.Connector.Connect(limited)
		if err == nil {
			return &lentConn{Conn: conn.(*stdlib.Conn), c: c}, nil
		}
		// The server has no free connections; one of this pool may become free.
		if IsTooMany(err) && BackOff(limited, failed) {
			continue
		}
		c.slots.Release()
		if limited.Err() != nil && ctx.Err() == nil {
			err = errors.Join(ErrNoConnection, err)
		}
		return nil, c.publicError(ctx, err)
	}
}

// IsTooMany reports whether the server takes no more connections.
func IsTooMany(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "53300"
}

// publicError converts an outage, or a statement that took too long, to its public error.
// The end of the caller's context is not an outage.
func (c *boundedConnector) publicError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if !IsOutage(err) {
		if IsTimeLimit(err) {
			return StorageError(err)
		}
		return err
	}
	c.lost(err)
	return Unavailable(err)
}

// lentConn is a connection in use by database/sql.
type lentConn struct {
	*stdlib.Conn
	c *boundedConnector
}

// PgxOf returns the pgx connection from the argument that (*sql.Conn).Raw passes.
func PgxOf(conn any) *pgx.Conn { return conn.(*lentConn).Conn.Conn() }

// Close gives the connection back to the pool.
func (l *lentConn) Close() error {
	defer l.c.slots.Release()
	return l.Conn.Close()
}

// ExecContext runs a statement.
func (l *lentConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := l.Conn.ExecContext(ctx, query, args)
	return result, l.c.publicError(ctx, err)
}

// QueryContext runs a query.
func (l *lentConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	found, err := l.Conn.QueryContext(ctx, query, args)
	if err != nil {
		return nil, l.c.publicError(ctx, err)
	}
	return &lentRows{found.(*stdlib.Rows), ctx, l.c}, nil
}

// BeginTx begins a transaction.
func (l *lentConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	t, err := l.Conn.BeginTx(ctx, opts)
	return t, l.c.publicError(ctx, err)
}

// lentRows are the rows of a query on a lent connection.
type lentRows struct {
	*stdlib.Rows
	ctx context.Context
	c   *boundedConnector
}

// Next reads a row. The connection may be lost between two rows.
func (r *lentRows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if err == nil || err == io.EOF { // the end; a lost connection wraps io.EOF
		return err
	}
	return r.c.publicError(r.ctx, err)
}

// Close ends the query. The connection may be lost after the last row that was read, before
// the server reported the end.
func (r *lentRows) Close() error { return r.c.publicError(r.ctx, r.Rows.Close()) }
