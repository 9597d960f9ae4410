package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// EraseRun erases the content of an ended run and leaves a tombstone. Erasing
// it again changes nothing.
func (s Retention) EraseRun(ctx context.Context, ws, flowID, runID string, code flow.Code) error {
	return s.write(ctx, durable, func(tx *Tx) error {
		run, err := findRun(tx.ctx, tx.Queries, ws, flowID, runID)
		if err != nil || run.Erased != "" {
			return err
		}
		if !run.State.Ended() {
			return flow.Errorf(flow.CodeRunNotEnded, "This run has not ended. Cancel it first.")
		}
		return tx.erase(ws, runID, dbconn.EncodeError(run.Error), code)
	})
}

// erase removes what a run has taken in and given out. IDs, status, times,
// error code, usage and cost stay.
func (tx *Tx) erase(ws, runID, failure string, code flow.Code) error {
	// Two concurrent erasures of the same run must not both count it.
	held, err := tx.HoldRunContent(tx.ctx, gen.HoldRunContentParams{ID: runID, WorkspaceID: ws})
	if err != nil || held == 0 {
		return err
	}
	size, err := tx.SizeRun(tx.ctx, runID)
	if err != nil {
		return fmt.Errorf("size of %s: %w", runID, err)
	}
	tx.storeMore(ws, flow.Storage{Bytes: -size - flow.StorageItem, Runs: -1})
	reason, err := dbconn.Decode[*flow.Error](failure)
	if err != nil {
		return err
	}
	if reason != nil {
		reason = &flow.Error{Code: reason.Code, Retryable: reason.Retryable}
	}
	return dbconn.FirstError(
		func() error {
			return tx.EraseRun(tx.ctx, gen.EraseRunParams{ID: runID, Erased: string(code), Error: dbconn.EncodeError(reason), Webhook: []byte{}})
		},
		func() error { return tx.DeleteSteps(tx.ctx, runID) },
		func() error { return tx.DeletePendingAttempts(tx.ctx, runID) },
		func() error { return tx.DeletePendingDeliveries(tx.ctx, runID) },
		func() error { return tx.EraseAttempts(tx.ctx, runID) },
		func() error {
			return tx.EraseDeliveries(tx.ctx, gen.EraseDeliveriesParams{RunID: runID, Erased: string(code), Sealed: []byte{}})
		},
		func() error { return tx.eraseFiles(runID) },
	)
}

// ExpireRuns erases up to limit runs whose retention is over.
func (s Retention) ExpireRuns(ctx context.Context, now time.Time, limit int) (n int, err error) {
	due := gen.ListExpiredParams{Now: dbconn.Micros(now), MaxRows: int32(limit)}
	if rows, err := s.read.ListExpired(ctx, gen.ListExpiredParams{Now: due.Now, MaxRows: 1}); err != nil || len(rows) == 0 {
		return 0, err
	}
	err = s.write(ctx, durable, func(tx *Tx) error {
		rows, err := tx.ListExpired(tx.ctx, due)
		if err != nil {
			return err
		}
		n = len(rows)
		for _, r := range rows {
			if err := tx.erase(r.WorkspaceID, r.ID, r.Error, flow.CodeRunExpired); err != nil {
				return fmt.Errorf("expire %s: %w", r.ID, err)
			}
		}
		return nil
	})
	return n, err
}

// EraseUnsaved erases up to limit ended runs that were started with save=false
// and whose deliveries have ended.
func (s Retention) EraseUnsaved(ctx context.Context, limit int) (n int, err error) {
	if rows, err := s.read.ListUnsaved(ctx, 1); err != nil || len(rows) == 0 {
		return 0, err
	}
	err = s.write(ctx, durable, func(tx *Tx) error {
		rows, err := tx.ListUnsaved(tx.ctx, int32(limit))
		if err != nil {
			return err
		}
		n = len(rows)
		for _, r := range rows {
			if err := tx.erase(r.WorkspaceID, r.ID, r.Error, flow.CodeResultNotSaved); err != nil {
				return fmt.Errorf("erase %s: %w", r.ID, err)
			}
		}
		return nil
	})
	return n, err
}

// DropTombstones removes up to limit erased runs that ended before olderThan.
func (s Retention) DropTombstones(ctx context.Context, olderThan time.Time, limit int) (n int, err error) {
	err = s.write(ctx, relaxed, func(tx *Tx) error {
		ids, err := tx.ListTombstones(tx.ctx, gen.ListTombstonesParams{OlderThan: dbconn.Micros(olderThan), MaxRows: int32(limit)})
		if err != nil {
			return err
		}
		n = len(ids)
		for _, id := range ids {
			if err := tx.drop(id); err != nil {
				return fmt.Errorf("drop %s: %w", id, err)
			}
		}
		return nil
	})
	return n, err
}

func (tx *Tx) drop(runID string) error {
	return dbconn.FirstError(
		func() error { return tx.DeleteAttemptsOfRun(tx.ctx, runID) },
		func() error { return tx.DeleteDeliveriesOfRun(tx.ctx, runID) },
		func() error { return tx.DeleteRun(tx.ctx, runID) },
	)
}

// testLife is how long tests of webhooks are kept, which belong to no run.
const testLife = 30 * 24 * time.Hour

func (tx *Tx) dropTests(now time.Time, limit int) (int, error) {
	ids, err := tx.ListStaleTests(tx.ctx, gen.ListStaleTestsParams{StaleBefore: dbconn.Micros(now.Add(-testLife)), MaxRows: int32(limit)})
	for _, id := range ids {
		err = dbconn.FirstError(
			func() error { return tx.DeleteAttempts(tx.ctx, id) },
			func() error {
				d, err := tx.DeleteDelivery(tx.ctx, id)
				if dbconn.IsNoRows(err) {
					return nil
				}
				tx.storeBytes(d.WorkspaceID, -d.Bytes)
				return err
			},
		)
		if err != nil {
			return 0, err
		}
	}
	return len(ids), err
}

// DropStale removes up to limit idempotency keys older than a day, as many
// edits and tests of webhooks older than a month, the hours of flows that nobody looks at any more,
// and the sessions, invitations and failed tries to sign in that are over.
func (s Retention) DropStale(ctx context.Context, now time.Time, limit int) (n int, err error) {
	err = s.write(ctx, relaxed, func(tx *Tx) error {
		stale := gen.DropIdempotencyParams{StaleBefore: dbconn.Micros(now.Add(-idempotencyLife)), MaxRows: int32(limit)}
		dropped, err := tx.DropIdempotency(tx.ctx, stale)
		if err != nil {
			return fmt.Errorf("drop idempotency keys: %w", err)
		}
		edits, err := tx.DropEdits(tx.ctx, gen.DropEditsParams{StaleBefore: dbconn.Micros(now.Add(-editLife)), MaxRows: int32(limit)})
		if err != nil {
			return fmt.Errorf("drop edits: %w", err)
		}
		tests, err := tx.dropTests(now, limit)
		if err != nil {
			return fmt.Errorf("drop tests of webhooks: %w", err)
		}
		for _, e := range edits {
			tx.storeBytes(e.WorkspaceID, -e.Bytes)
		}
		audit, err := tx.pruneAudit(now, limit)
		if err != nil {
			return fmt.Errorf("prune audit logs: %w", err)
		}
		n = max(int(dropped), len(edits), tests, audit)
		if err := tx.DropFlowHours(tx.ctx, hourOf(now.Add(-hoursLife))); err != nil {
			return fmt.Errorf("drop hours of flows: %w", err)
		}
		return tx.dropAccess(now)
	})
	return n, err
}

// dropAccess removes what once let people in, or kept them waiting.
func (tx *Tx) dropAccess(now time.Time) error {
	if _, err := tx.DropSessions(tx.ctx, dbconn.Micros(now)); err != nil {
		return fmt.Errorf("drop sessions: %w", err)
	}
	if _, err := tx.DropInvites(tx.ctx, dbconn.Micros(now)); err != nil {
		return fmt.Errorf("drop invites: %w", err)
	}
	_, err := tx.DropThrottles(tx.ctx, dbconn.Micros(now.Add(-flow.TriesForgotten)))
	return err
}
