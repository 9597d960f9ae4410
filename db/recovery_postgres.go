package db

import (
	"context"
	"fmt"
	"slices"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
)

// recoveryLock lets one instance recover at a time.
const recoveryLock = 0x536c7572

// nothingSilent asks before a transaction is begun for it, since mostly there
// is nothing to recover. It ends the sessions of silent instances.
func nothingSilent(ctx context.Context, s *core.DB) (bool, error) {
	since := s.SilentSince()
	silent, err := silentOf(ctx, s.Vital.Reads, since)
	if err == nil && len(silent) > 0 {
		err = Recovery{s}.endSessions(ctx, silent, since)
	}
	if err != nil || len(silent) > 0 {
		return false, err
	}
	suspects, err := s.Vital.Reads.ListSuspects(ctx)
	return len(suspects) == 0, err
}

// silentOf lists the instances that are silent, and those that hold runs
// although nobody knows of them any more.
func silentOf(ctx context.Context, q *gen.Queries, since int64) ([]string, error) {
	silent, err := q.ListSilent(ctx, since)
	if err != nil {
		return nil, fmt.Errorf("list silent instances: %w", err)
	}
	orphaned, err := q.ListOrphaned(ctx)
	if err != nil {
		return nil, fmt.Errorf("list forgotten instances: %w", err)
	}
	list := append(silent, orphaned...)
	slices.Sort(list)
	return slices.Compact(list), nil
}

// afterSilence takes over from instances that have fallen silent. One that was
// only frozen finds its writes fenced when it comes back.
func (r *recovery) afterSilence(self string) error {
	if _, err := r.tx.DBTX.ExecContext(r.tx.Ctx, "SELECT pg_advisory_xact_lock($1)", int64(recoveryLock)); err != nil {
		return fmt.Errorf("lock recovery: %w", err)
	}
	// A silent instance is about to lose its work: make sure of the time.
	if err := r.tx.Store.SyncClock(r.tx.Ctx, r.tx.DBTX); err != nil {
		return err
	}
	since := r.tx.Store.SilentSince()
	silent, err := silentOf(r.tx.Ctx, r.tx.Queries, since)
	if err != nil {
		return err
	}
	for _, id := range silent {
		if id == self {
			continue
		}
		if err := r.takeOver(id, since); err != nil {
			return fmt.Errorf("take over from %s: %w", id, err)
		}
	}
	r.tx.Store.Live.Forget()
	return nil
}

// takeOver takes all work away from an instance. It deletes the instance's row
// first: an instance that comes back in the meantime is either seen here, or
// its heartbeat waits for this transaction and then finds its runs taken over.
func (r *recovery) takeOver(instance string, since int64) error {
	n, err := r.tx.DeleteSilent(r.tx.Ctx, gen.DeleteSilentParams{ID: instance, Since: since})
	if err == nil && n == 0 {
		n, err = r.tx.CountInstance(r.tx.Ctx, instance)
		if n > 0 {
			return err
		}
	}
	if err != nil {
		return err
	}
	claimed, err := r.tx.ListClaimed(r.tx.Ctx, instance)
	if err != nil {
		return err
	}
	busy := 0
	for _, run := range claimed {
		busy += int(run.Busy)
	}
	for _, run := range claimed {
		if err := r.cut(run.ID, crash{begun: true, busy: run.Busy != 0, busyN: busy}); err != nil {
			return err
		}
	}
	return r.fetched(instance)
}

// fetched takes over jobs that the dead instance had fetched, begun or not.
// Jobs that nobody has fetched are for everybody and stay.
func (r *recovery) fetched(instance string) error {
	const theirs = `state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = $1`
	runs, err := queryColumn(r.tx, `SELECT args->>'id' FROM river_job WHERE kind = 'run' AND `+theirs, instance)
	if err != nil {
		return err
	}
	deliveries, err := queryColumn(r.tx, `SELECT args->>'id' FROM river_job WHERE kind = 'delivery' AND `+theirs, instance)
	if err != nil {
		return err
	}
	if _, err := r.tx.DBTX.ExecContext(r.tx.Ctx, `DELETE FROM river_job WHERE kind IN ('run', 'delivery') AND `+theirs, instance); err != nil {
		return err
	}
	for _, id := range runs {
		if err := r.refetch(id); err != nil {
			return err
		}
	}
	return r.resend(deliveries)
}

// refetch makes a fresh job for a run whose worker died before it claimed the
// run. A run that was claimed has its job already, or another holder.
func (r *recovery) refetch(runID string) error {
	held, err := r.tx.FindHolder(r.tx.Ctx, runID)
	if dbconn.IsNoRows(err) || err == nil && (held.InstanceID != "" || r.queued(runID)) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.cut(runID, crash{})
}

// queued tells whether this transaction has made a job for the run.
func (r *recovery) queued(runID string) bool {
	for _, j := range r.tx.Batch.Jobs {
		if j.ID == runID {
			return true
		}
	}
	return false
}

func (r *recovery) resend(deliveries []string) error {
	for _, id := range deliveries {
		n, err := r.tx.ReleaseDelivery(r.tx.Ctx, gen.ReleaseDeliveryParams{ID: id, Now: r.tx.Store.NowMicros()})
		if err != nil {
			return err
		}
		r.report.Deliveries += int(n)
	}
	return nil
}
