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
	"sluice/flow/alarms"
	"sluice/flow/fairness"
	"sluice/flow/triggers"
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
		// Two concurrent erasures of the same run must not both count it.
		held, err := tx.Queries.HoldRunContent(tx.Ctx, gen.HoldRunContentParams{ID: runID, WorkspaceID: ws})
		if err != nil || held == 0 {
			return err
		}
		list, err := listEnded(tx, oneRun, string(runID), 1)
		if err != nil {
			return err
		}
		return eraseRuns(tx, list, code)
	})
}

// ListContinued returns the runs that continue a run, with ID, FlowID, State and Erased only.
func (s *Retention) ListContinued(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Run, error) {
	rows, err := s.DB.Reads.ListContinued(ctx, gen.ListContinuedParams{Continues: runID, WorkspaceID: ws})
	return dbconn.MapRows(rows, func(r gen.ListContinuedRow) flow.Run {
		return flow.Run{ID: r.ID, WorkspaceID: ws, FlowID: r.FlowID, State: flow.RunState(r.State), Erased: flow.Code(r.Erased)}
	}), err
}

// ExpireRuns erases up to limit runs that are older than the retention.
func (s *Retention) ExpireRuns(ctx context.Context, now time.Time, limit int) (int, error) {
	return s.eraseListed(ctx, expiredRuns, dbconn.Micros(now), limit, flow.CodeRunExpired)
}

// EraseUnsaved erases up to limit ended runs that were started with save=false
// and whose deliveries have ended. Those of forms must have ended by formsEnded.
func (s *Retention) EraseUnsaved(ctx context.Context, formsEnded time.Time, limit int) (int, error) {
	return s.eraseListed(ctx, unsavedRuns, dbconn.Micros(formsEnded), limit, flow.CodeResultNotSaved)
}

// DropTombstones removes up to limit erased runs that ended before olderThan.
func (s *Retention) DropTombstones(ctx context.Context, olderThan time.Time, limit int) (n int, err error) {
	return s.eachRun(ctx, core.Relaxed, "drop", limit, func(tx *core.Tx, most int) ([]endedRun, error) {
		return listEnded(tx, tombstones, dbconn.Micros(olderThan), most)
	}, dropRuns)
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

// dropIdempotency deletes idempotency keys that have expired.
func dropIdempotency(tx *core.Tx, now time.Time, limit int) (int, error) {
	n, err := tx.Queries.DropIdempotency(tx.Ctx, gen.DropIdempotencyParams{Now: dbconn.Micros(now), MaxRows: int32(limit)})
	if err != nil {
		return 0, err
	}
	old, err := tx.Queries.DropOldIdempotency(tx.Ctx, gen.DropOldIdempotencyParams{StaleBefore: dbconn.Micros(now.Add(-flow.IdempotencyLife)), MaxRows: int32(limit)})
	return int(max(n, old)), err
}

// dropEvents deletes events of triggers after triggers.EventLife.
func dropEvents(tx *core.Tx, now time.Time, limit int) (int, error) {
	rows, err := tx.Queries.DropEvents(tx.Ctx, gen.DropEventsParams{StaleBefore: dbconn.Micros(now.Add(-triggers.EventLife)), MaxRows: int32(limit)})
	for _, r := range rows {
		tx.TrackBytes(r.WorkspaceID, -r.RequestBytes)
	}
	return len(rows), err
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
		{"events of triggers", "events", dropEvents},
		{"messages of alarms", "alarm_messages", func(tx *core.Tx, now time.Time, limit int) (int, error) {
			n, err := tx.Queries.DropAlarmMessages(tx.Ctx, gen.DropAlarmMessagesParams{StaleBefore: dbconn.Micros(now.Add(-alarms.MessageLife)), MaxRows: int32(limit)})
			return int(n), err
		}},
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
