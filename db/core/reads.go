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

// readAttempts is how often a read is tried whose connection is lost: another
// connection may well work, as when an administrator ends sessions.
const readAttempts = 3

// Reader is the connections that only read. A read that failed because of an
// outage is repeated: a few times if its connection was lost, and until the
// database is back with a context of flow.OutlastOutages.
type Reader struct {
	gen.DBTX
	s *DB
}

// ReaderOf returns the reading connections of a database.
func ReaderOf(s *DB) Reader {
	if s.pool != nil {
		return Reader{s.Reader, s}
	}
	return Reader{dbconn.SQLiteParams{DB: s.Reader}, s}
}

// QueryContext runs a query.
func (r Reader) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	for failed := 1; ; failed++ {
		rows, err = r.DBTX.QueryContext(ctx, query, args...)
		if !r.s.readsAgain(ctx, failed, err) {
			return rows, err
		}
	}
}

// QueryRowContext runs a query for one row.
func (r Reader) QueryRowContext(ctx context.Context, query string, args ...any) (row *sql.Row) {
	for failed := 1; ; failed++ {
		row = r.DBTX.QueryRowContext(ctx, query, args...)
		if !r.s.readsAgain(ctx, failed, row.Err()) {
			return row
		}
	}
}

// readsAgain reports whether a read is to be repeated, after a pause.
func (s *DB) readsAgain(ctx context.Context, failed int, err error) bool {
	switch {
	case err == nil || ctx.Err() != nil:
		return false
	case flow.OutlastsOutages(ctx) && isPassing(err):
		return dbconn.BackOff(ctx, failed)
	}
	return failed < readAttempts && lostConnection(err)
}

// Again repeats f like a single read. It is for reads of several statements or
// rows.
func (s *DB) Again(ctx context.Context, f func() error) error {
	for failed := 1; ; failed++ {
		err := f()
		if !s.readsAgain(ctx, failed, err) {
			return err
		}
	}
}

// isPassing reports whether an error is about the present state of the
// database, such as an outage or a full disk, and not about a statement.
func isPassing(err error) bool {
	e, ok := errors.AsType[*flow.Error](dbconn.StorageError(err))
	return ok && e.Retryable && (e.Code == flow.CodeUnavailable || e.Code == flow.CodeOverloaded || e.Code == flow.CodeStorageFull)
}

// lostConnection reports whether an established connection was lost, rather
// than none to be had.
func lostConnection(err error) bool {
	if _, none := errors.AsType[*pgconn.ConnectError](err); none || errors.Is(err, dbconn.ErrNoConnection) {
		return false
	}
	return dbconn.IsOutage(err)
}
