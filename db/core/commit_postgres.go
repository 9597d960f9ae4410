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

// inDoubtTimeout is how long a write tries to find out whether its transaction
// was committed. By then idle_in_transaction_session_timeout has ended a
// transaction that PostgreSQL still had open.
const inDoubtTimeout = 10 * time.Second

// errInDoubt is returned if it is unknown whether a transaction was committed.
// The write must not be repeated.
var errInDoubt = errors.New("db: the answer to the commit was lost")

// selectTransaction returns the ID of the current transaction, or NULL if it has
// written nothing.
const selectTransaction = "SELECT pg_current_xact_id_if_assigned()::text"

// commit commits a transaction. If the answer is lost, it queries the status of
// the transaction by its ID. nil means that the transaction is committed, and any
// error except errInDoubt that it is not. An empty ID stands for a transaction
// that has written nothing. The context limited bounds the commit itself, and
// ctx, the caller's, bounds the queries.
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

// outcome queries the status of a transaction until the server answers.
func (s *DB) outcome(ctx context.Context, id string) (committed, known bool) {
	patient := ctx
	if !flow.OutlastsOutages(ctx) {
		var cancel context.CancelFunc
		patient, cancel = context.WithTimeout(context.WithoutCancel(ctx), inDoubtTimeout)
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

// publicOutage converts an outage during a commit to CodeUnavailable.
func (s *DB) publicOutage(err error) error {
	if err == nil || !dbconn.IsOutage(err) {
		return err
	}
	s.outages.Note(err)
	return dbconn.Unavailable(err)
}
