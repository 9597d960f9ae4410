package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/fairness"
)

// EraseRun erases the content of an ended run and leaves a tombstone. Erasing
// it again changes nothing.
func (s *Retention) EraseRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID, code flow.Code) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		run, err := core.FindRun(tx.Ctx, tx.Queries, ws, flowID, runID)
		if err != nil || run.Erased != "" {
			return err
		}
		if !run.State.Ended() {
			return flow.Errorf(flow.CodeRunNotEnded, "This run has not ended. Cancel it first.")
		}
		return eraseContent(tx, ws, runID, dbconn.EncodeError(run.Error), code)
	})
}

// eraseContent removes the inputs, outputs, steps and messages of a run. IDs, state, times,
// error code, usage and cost stay.
func eraseContent(tx *core.Tx, ws flow.WorkspaceID, runID flow.RunID, failure string, code flow.Code) error {
	// Two concurrent erasures of the same run must not both count it.
	held, err := tx.Queries.HoldRunContent(tx.Ctx, gen.HoldRunContentParams{ID: runID, WorkspaceID: ws})
	if err != nil || held == 0 {
		return err
	}
	size, err := tx.Queries.SizeRun(tx.Ctx, runID)
	if err != nil {
		return fmt.Errorf("size of %s: %w", runID, err)
	}
	tx.TrackStorage(ws, flow.Storage{Bytes: -size - flow.StorageItem, Runs: -1})
	reason, err := dbconn.Decode[*flow.Error](failure)
	if err != nil { // it is erased now
		reason = flow.Errorf(flow.CodeInternal, "")
	}
	if reason != nil {
		reason = &flow.Error{Code: reason.Code, Retryable: reason.Retryable}
	}
	return dbconn.FirstError(
		func() error {
			return tx.Queries.EraseRun(tx.Ctx, gen.EraseRunParams{ID: runID, Erased: string(code), Error: dbconn.EncodeError(reason), Webhook: []byte{}, Secrets: []byte{}})
		},
		func() error { return tx.Queries.DeleteSteps(tx.Ctx, runID) },
		func() error { return tx.Queries.DeleteStepPartsOfRun(tx.Ctx, runID) },
		func() error { return tx.Queries.DeleteApprovals(tx.Ctx, runID) },
		func() error { return tx.Queries.DeleteChildItemsOfRun(tx.Ctx, runID) },
		func() error {
			return tx.Queries.ExpireChildren(tx.Ctx, gen.ExpireChildrenParams{CallerRunID: runID, Now: tx.Store.NowMicros()})
		},
		func() error { return tx.Queries.DeletePendingAttempts(tx.Ctx, runID) },
		func() error { return tx.Queries.DeletePendingDeliveries(tx.Ctx, runID) },
		func() error { return tx.Queries.EraseAttempts(tx.Ctx, runID) },
		func() error {
			return tx.Queries.EraseDeliveries(tx.Ctx, gen.EraseDeliveriesParams{RunID: runID, Erased: string(code), Sealed: []byte{}})
		},
		func() error { return eraseFiles(tx, runID) },
	)
}

// ExpireRuns erases up to limit runs that are older than the retention.
func (s *Retention) ExpireRuns(ctx context.Context, now time.Time, limit int) (n int, err error) {
	return s.eraseListed(ctx, limit, flow.CodeRunExpired, func(ctx context.Context, q *gen.Queries, most int32) ([]gen.ListUnsavedRow, error) {
		rows, err := q.ListExpired(ctx, gen.ListExpiredParams{Now: dbconn.Micros(now), MaxRows: most})
		return dbconn.MapRows(rows, func(r gen.ListExpiredRow) gen.ListUnsavedRow { return gen.ListUnsavedRow(r) }), err
	})
}

// EraseUnsaved erases up to limit ended runs that were started with save=false
// and whose deliveries have ended. Those of forms must have ended by formsEnded.
func (s *Retention) EraseUnsaved(ctx context.Context, formsEnded time.Time, limit int) (n int, err error) {
	return s.eraseListed(ctx, limit, flow.CodeResultNotSaved, func(ctx context.Context, q *gen.Queries, most int32) ([]gen.ListUnsavedRow, error) {
		return q.ListUnsaved(ctx, gen.ListUnsavedParams{FormsEnded: dbconn.Micros(formsEnded), MaxRows: most})
	})
}

// eraseListed erases the first runs of a list. It begins no transaction if the list
// is empty.
func (s *Retention) eraseListed(ctx context.Context, limit int, code flow.Code, list func(context.Context, *gen.Queries, int32) ([]gen.ListUnsavedRow, error)) (n int, err error) {
	if rows, err := list(ctx, s.DB.Reads, 1); err != nil && !core.IsDamage(err) || err == nil && len(rows) == 0 {
		return 0, err
	}
	err = s.DB.WriteRows(ctx, core.Durable, "runs", func(tx *core.Tx) error {
		rows, err := list(tx.Ctx, tx.Queries, int32(limit))
		if err != nil {
			return err
		}
		n = len(rows)
		idOf := func(r gen.ListUnsavedRow) flow.RunID { return r.ID }
		return core.Each(tx, "runs", "erase", rows, idOf, func(r gen.ListUnsavedRow) error {
			return eraseContent(tx, r.WorkspaceID, r.ID, r.Error, code)
		})
	})
	return n, err
}

// DropTombstones removes up to limit erased runs that ended before olderThan.
func (s *Retention) DropTombstones(ctx context.Context, olderThan time.Time, limit int) (n int, err error) {
	err = s.DB.WriteRows(ctx, core.Relaxed, "runs", func(tx *core.Tx) error {
		ids, err := tx.Queries.ListTombstones(tx.Ctx, gen.ListTombstonesParams{OlderThan: dbconn.Micros(olderThan), MaxRows: int32(limit)})
		if err != nil {
			return err
		}
		n = len(ids)
		return core.EachID(tx, "runs", "drop", ids, func(id flow.RunID) error { return dropRun(tx, id) })
	})
	return n, err
}

// dropRun deletes a run with all rows that belong to it, once its content was erased long ago.
func dropRun(tx *core.Tx, runID flow.RunID) error {
	return dbconn.FirstError(
		func() error { return tx.Queries.DeleteAttemptsOfRun(tx.Ctx, runID) },
		func() error { return tx.Queries.DeleteDeliveriesOfRun(tx.Ctx, runID) },
		func() error { return tx.Queries.DeleteChildren(tx.Ctx, runID) },
		func() error { return tx.Queries.DeleteRun(tx.Ctx, runID) },
	)
}

// dropTests deletes test deliveries after flow.WebhookTestLife; no run owns them.
func dropTests(tx *core.Tx, now time.Time, limit int) (int, error) {
	ids, err := tx.Queries.ListStaleTests(tx.Ctx, gen.ListStaleTestsParams{StaleBefore: dbconn.Micros(now.Add(-flow.WebhookTestLife)), MaxRows: int32(limit)})
	if err != nil {
		return 0, err
	}
	return len(ids), core.EachID(tx, "deliveries", "drop", ids, func(id string) error {
		return dbconn.FirstError(
			func() error { return tx.Queries.DeleteAttempts(tx.Ctx, id) },
			func() error {
				d, err := tx.Queries.DeleteDelivery(tx.Ctx, id)
				if dbconn.IsNoRows(err) {
					return nil
				}
				tx.TrackBytes(d.WorkspaceID, -d.Bytes)
				return err
			},
		)
	})
}

// dropEdits deletes entries of the logs of edits after flow.EditLife.
func dropEdits(tx *core.Tx, now time.Time, limit int) (int, error) {
	edits, err := tx.Queries.DropEdits(tx.Ctx, gen.DropEditsParams{StaleBefore: dbconn.Micros(now.Add(-flow.EditLife)), MaxRows: int32(limit)})
	for _, e := range edits {
		tx.TrackBytes(e.WorkspaceID, -e.Bytes)
	}
	return len(edits), err
}

// dropIdempotency deletes idempotency keys after flow.IdempotencyLife.
func dropIdempotency(tx *core.Tx, now time.Time, limit int) (int, error) {
	n, err := tx.Queries.DropIdempotency(tx.Ctx, gen.DropIdempotencyParams{StaleBefore: dbconn.Micros(now.Add(-flow.IdempotencyLife)), MaxRows: int32(limit)})
	return int(n), err
}

// DropStale removes up to limit each of idempotency keys, edits and webhook tests
// past the ages in package flow, and old entries of audit logs. It also removes
// old hourly statistics and expired sessions, invitations and failed sign-ins, and marks of
// damaged rows. Each has its own transaction, so that one that fails does not stop the others.
func (s *Retention) DropStale(ctx context.Context, now time.Time, limit int) (n int, err error) {
	all := func(drop func(tx *core.Tx) error) func(*core.Tx, time.Time, int) (int, error) {
		return func(tx *core.Tx, _ time.Time, _ int) (int, error) { return 0, drop(tx) }
	}
	var errs []error
	for _, stale := range []struct {
		what, table string
		drop        func(tx *core.Tx, now time.Time, limit int) (int, error)
	}{
		{"idempotency keys", "idempotency", dropIdempotency},
		{"edits", "edits", dropEdits},
		{"tests of webhooks", "deliveries", dropTests},
		{"entries of audit logs", "audit", pruneAudit},
		{"hours of flows", "flow_hours", all(func(tx *core.Tx) error {
			return tx.Queries.DropFlowHours(tx.Ctx, core.HourOf(now.Add(-flow.FlowHoursLife)))
		})},
		{"the cost of child runs", "spent_below", all(func(tx *core.Tx) error { return tx.Queries.DropSpentBelow(tx.Ctx, core.DayOf(now.AddDate(0, 0, -2))) })},
		{"the estimates of lost calls", "lost_spending", all(func(tx *core.Tx) error { return tx.Queries.DropLostSpending(tx.Ctx, core.DayOf(now.AddDate(0, 0, -2))) })},
		{"uses of former slugs", "alias_uses", all(func(tx *core.Tx) error {
			return tx.Queries.DropAliasUses(tx.Ctx, core.DayOf(now.Add(-flow.CallerPeriod)))
		})},
		{"sessions and links", "sessions", all(func(tx *core.Tx) error { return dropAccess(tx, now) })},
		{"marks of damaged rows", "damaged_rows", all(func(tx *core.Tx) error { return tx.DropDamageMarks(now) })},
	} {
		dropped := 0
		err := s.DB.WriteRows(ctx, core.Relaxed, stale.table, func(tx *core.Tx) error {
			var err error
			dropped, err = stale.drop(tx, now, limit)
			return err
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("drop %s: %w", stale.what, err))
		}
		n = max(n, dropped)
	}
	return n, errors.Join(errs...)
}

// dropAccess removes expired sessions, links and counts of failed sign-ins.
func dropAccess(tx *core.Tx, now time.Time) error {
	if _, err := tx.Queries.DropSessions(tx.Ctx, dbconn.Micros(now)); err != nil {
		return fmt.Errorf("drop sessions: %w", err)
	}
	if _, err := tx.Queries.DropInvites(tx.Ctx, dbconn.Micros(now)); err != nil {
		return fmt.Errorf("drop invites: %w", err)
	}
	_, err := tx.Queries.DropThrottles(tx.Ctx, dbconn.Micros(now.Add(-fairness.TriesForgotten)))
	return err
}
