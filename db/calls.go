package db

import (
	"context"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// Calls with a credential that has limits are rows of credential_calls. A call starts or
// is queued in a transaction that first locks the row of the credential, so limits hold
// across all instances. Times come from the store's clock.

// Bounds of the time after which a waiting call tries again. In between it depends on
// the position in the queue and on the duration of calls in the last minute.
const (
	minCallWait = 200 * time.Millisecond
	maxCallWait = 10 * time.Minute
)

// callWindow is the minute that calls are counted in.
const callWindow = time.Minute

// TakeCall implements engine.CallLimiter.
func (s *Credentials) TakeCall(ctx context.Context, ws flow.WorkspaceID, credential string, runID flow.RunID, path string, lease time.Duration) (id string, wait time.Duration, err error) {
	ticket := string(runID) + ":" + path + ":" + credential
	err = s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		id, wait = "", 0
		limits, err := tx.Queries.LockCalls(tx.Ctx, gen.LockCallsParams{WorkspaceID: ws, Credential: credential})
		if err != nil {
			return dbconn.NotFoundErr(err, "credential")
		}
		now := s.DB.NowMicros()
		since := now - callWindow.Microseconds()
		if err := tx.Queries.ForgetCalls(tx.Ctx, gen.ForgetCallsParams{WorkspaceID: ws, Credential: credential, Since: since, Now: now}); err != nil {
			return err
		}
		if err := tx.Queries.EndCallsOfStep(tx.Ctx, gen.EndCallsOfStepParams{WorkspaceID: ws, Credential: credential, RunID: runID, Path: path, Now: now}); err != nil {
			return err
		}
		queued, err := tx.Queries.FindQueuedCall(tx.Ctx, ticket)
		if dbconn.IsNoRows(err) {
			queued, err = now, nil
		}
		if err != nil {
			return err
		}
		count, err := tx.Queries.CountCalls(tx.Ctx, gen.CountCallsParams{
			WorkspaceID: ws, Credential: credential, ID: ticket, QueuedAt: queued, Now: now, Since: since, Soon: now + time.Second.Microseconds(),
		})
		if err != nil {
			return err
		}
		if wait = callWait(flow.CallLimits{AtOnce: limits.MaxCalls, PerMinute: limits.CallsPerMinute}, count, now); wait > 0 {
			if err := tx.Queries.UnreserveStep(tx.Ctx, gen.UnreserveStepParams{RunID: runID, Path: path}); err != nil {
				return err
			}
			return tx.Queries.QueueCall(tx.Ctx, gen.QueueCallParams{ID: ticket, WorkspaceID: ws, Credential: credential, RunID: runID, Path: path,
				QueuedAt: queued, DueAt: now + wait.Microseconds()})
		}
		if err := tx.Queries.DropCall(tx.Ctx, ticket); err != nil {
			return err
		}
		id = s.DB.IDs().New(flow.PrefixCredential)
		return tx.Queries.StartCall(tx.Ctx, gen.StartCallParams{ID: id, WorkspaceID: ws, Credential: credential, RunID: runID, Path: path,
			Now: now, DueAt: now + lease.Microseconds()})
	})
	return id, wait, err
}

// callWait returns zero if a call may begin, or how long to wait before it tries again.
// Calls that were queued earlier and are due go first.
func callWait(l flow.CallLimits, n gen.CountCallsRow, now int64) time.Duration {
	var wait time.Duration
	if l.AtOnce > 0 && n.Running+n.AheadNow >= l.AtOnce {
		average := time.Second
		if n.Ended > 0 {
			average = core.DurationOf(n.Took / n.Ended)
		}
		wait = max(minCallWait, average*time.Duration(n.Ahead+1)*7/10/time.Duration(l.AtOnce)) // early rather than late: a slot must not stay free
	}
	if l.PerMinute > 0 && n.Recent+n.AheadNow >= l.PerMinute {
		next := callWindow / time.Duration(l.PerMinute) * time.Duration(n.Ahead)
		if n.Recent >= l.PerMinute {
			next += callWindow - core.DurationOf(now-n.Oldest)
		}
		wait = max(wait, minCallWait, next)
	}
	return min(wait, maxCallWait)
}

// EndCall implements engine.CallLimiter.
func (s *Credentials) EndCall(ctx context.Context, id string) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		return tx.Queries.EndCall(tx.Ctx, gen.EndCallParams{ID: id, Now: s.DB.NowMicros()})
	})
}

// SetCredentialLimits sets the limits of the calls with a credential.
func (s *Credentials) SetCredentialLimits(ctx context.Context, ws flow.WorkspaceID, name string, l flow.CallLimits) error {
	return s.DB.Update(ctx, "credential", func(tx *core.Tx) (int64, error) {
		return tx.Queries.SetCredentialLimits(tx.Ctx, gen.SetCredentialLimitsParams{WorkspaceID: ws, Name: name, MaxCalls: l.AtOnce, CallsPerMinute: l.PerMinute, Now: s.DB.NowMicros()})
	})
}
