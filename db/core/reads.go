package core

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// readAttempts is how often a read is tried if its connection is lost. Another
// connection may work, for example after an administrator ended a session.
const readAttempts = 3

// Reader runs queries and repeats those that fail because of an outage: a few
// times if the connection was lost, and until the database is back if the context
// is one of flow.OutlastOutages.
type Reader struct {
	gen.DBTX
	s *DB
}

// ReaderOf returns the reader of a database.
func ReaderOf(s *DB) Reader {
	if s.IsPostgres() {
		return Reader{s.Reader, s}
	}
	return Reader{dbconn.SQLiteParams{DB: s.Reader}, s}
}

// QueryContext runs a query.
func (r Reader) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	if around := pagesOf(ctx); around != nil {
		return around.QueryContext(ctx, query, args...)
	}
	if replica := replicaOf(ctx); replica != nil {
		return replica.QueryContext(ctx, query, args...)
	}
	for failed := 1; ; failed++ {
		rows, err = r.DBTX.QueryContext(ctx, query, args...)
		if !r.s.retriesRead(ctx, failed, err) {
			return rows, err
		}
	}
}

// QueryRowContext runs a query for one row.
func (r Reader) QueryRowContext(ctx context.Context, query string, args ...any) (row *sql.Row) {
	if around := pagesOf(ctx); around != nil {
		return around.QueryRowContext(ctx, query, args...)
	}
	if replica := replicaOf(ctx); replica != nil {
		return replica.QueryRowContext(ctx, query, args...)
	}
	for failed := 1; ; failed++ {
		row = r.DBTX.QueryRowContext(ctx, query, args...)
		if !r.s.retriesRead(ctx, failed, row.Err()) {
			return row
		}
	}
}

// retriesRead reports whether a read is to be repeated, after a pause.
func (s *DB) retriesRead(ctx context.Context, failed int, err error) bool {
	switch {
	case err == nil || ctx.Err() != nil:
		return false
	case flow.OutlastsOutages(ctx) && isTransient(err):
		return dbconn.BackOff(ctx, failed)
	}
	return failed < readAttempts && lostConnection(err)
}

// RetryRead calls f and repeats it like a single read. It is for reads that consist
// of several statements or rows.
func (s *DB) RetryRead(ctx context.Context, f func() error) error {
	for failed := 1; ; failed++ {
		err := f()
		if !s.retriesRead(ctx, failed, err) {
			return err
		}
	}
}

// isTransient reports whether an error is caused by the current state of the
// database, such as an outage or a full disk, and not by the statement.
func isTransient(err error) bool {
	e, ok := errors.AsType[*flow.Error](dbconn.StorageError(err))
	return ok && e.Retryable && (e.Code == flow.CodeUnavailable || e.Code == flow.CodeOverloaded || e.Code == flow.CodeStorageFull)
}

// lostConnection reports whether an established connection was lost, as opposed
// to a failure to connect.
func lostConnection(err error) bool {
	if _, none := errors.AsType[*pgconn.ConnectError](err); none || errors.Is(err, dbconn.ErrNoConnection) {
		return false
	}
	return dbconn.IsOutage(err)
}
