package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db/dbconn"
	"sluice/flow"
)

// doubtPatience is how long a write waits to learn whether its transaction was
// committed. A transaction that PostgreSQL still has open by then has long been
// ended by idleInTransaction.
const doubtPatience = 10 * time.Second

// errInDoubt is for a transaction of which nobody knows whether it was
// committed. It must not be repeated.
var errInDoubt = errors.New("db: the answer to the commit was lost")

// selectTransaction returns the ID of the present transaction, NULL if it has
// written nothing.
const selectTransaction = "SELECT pg_current_xact_id_if_assigned()::text"

// commit commits a transaction. If the answer is lost, it asks the server by the
// ID of the transaction what became of it: nil means that it is committed, any
// error but errInDoubt that nothing of it is. An empty ID is that of a
// transaction that has written nothing. The commit itself ends with limited, and
// asking with ctx, that of the caller.
func (s *DB) commit(ctx, limited context.Context, t pgx.Tx, id string) error {
	err := t.Commit(limited)
	if err == nil || !dbconn.IsOutage(err) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s.outages.Note(err)
	if id == "" {
		return nil
	}
	committed, known := s.outcome(ctx, id)
	switch {
	case !known:
		return fmt.Errorf("%w (%w)", dbconn.Unavailable(err), errInDoubt)
	case !committed:
		return dbconn.Unavailable(err)
	}
	return nil
}

// outcome asks, until the server answers, whether a transaction was committed.
func (s *DB) outcome(ctx context.Context, id string) (committed, known bool) {
	patient := ctx
	if !flow.OutlastsOutages(ctx) {
		var cancel context.CancelFunc
		patient, cancel = context.WithTimeout(context.WithoutCancel(ctx), doubtPatience)
		defer cancel()
	}
	for failed := 1; ; failed++ {
		var status *string
		err := s.Vital.DBTX.QueryRowContext(patient, "SELECT pg_xact_status($1::text::xid8)", id).Scan(&status)
		switch {
		case err == nil && status == nil: // so old that the server has forgotten it
			return false, false
		case err == nil && *status != "in progress":
			return *status == "committed", true
		}
		if !dbconn.BackOff(patient, failed) {
			return false, false
		}
	}
}

// outageOf gives an error of a commit its public name.
func (s *DB) outageOf(err error) error {
	if err == nil || !dbconn.IsOutage(err) {
		return err
	}
	s.outages.Note(err)
	return dbconn.Unavailable(err)
}
