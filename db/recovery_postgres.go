package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/fairness"
	"sluice/flow/sorting"
)

// recoveryLock is the advisory lock under which one instance recovers at a time.
const recoveryLock = 0x536c7572

// nothingSilent reports whether there is nothing to recover, which is the normal
// case and saves a transaction. It ends the sessions of silent instances.
func nothingSilent(ctx context.Context, s *core.DB) (bool, error) {
	since := s.SilentSince()
	silent, err := silentOf(ctx, s.Vital.Reads, since)
	if core.IsDamage(err) {
		return false, nil // the transaction reads around damaged pages
	}
	if err == nil && len(silent) > 0 {
		err = (&Recovery{s}).endSessions(ctx, silent, since)
	}
	if err != nil || len(silent) > 0 {
		return false, err
	}
	suspects, err := s.Vital.Reads.ListSuspects(ctx)
	if core.IsDamage(err) {
		return false, nil
	}
	return len(suspects) == 0, err
}

// silentOf returns the IDs of instances that are silent, and of those that hold
// runs but no longer have a row.
func silentOf(ctx context.Context, q *gen.Queries, since int64) ([]string, error) {
	silent, err := q.ListSilent(ctx, since)
	if err != nil {
		return nil, fmt.Errorf("list silent instances: %w", err)
	}
	orphaned, err := q.ListOrphaned(ctx)
	if err != nil {
		return nil, fmt.Errorf("list orphaned instances: %w", err)
	}
	list := append(silent, orphaned...)
	sorting.Strings(list)
	return slices.Compact(list), nil
}

// afterSilence takes over from instances without a recent heartbeat. If one was only
// frozen, its writes are fenced when it continues.
func (r *recovery) afterSilence(self string) error {
	if err := r.tx.Lock(recoveryLock); err != nil {
		return fmt.Errorf("lock recovery: %w", err)
	}
	// A silent instance is about to lose its work, so read the exact time first.
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
// first: if the instance comes back in the meantime, either its new heartbeat is
// visible here, or the heartbeat waits for this transaction and the runs are gone.
func (r *recovery) takeOver(instance string, since int64) error {
	n, err := r.tx.Queries.DeleteSilent(r.tx.Ctx, gen.DeleteSilentParams{ID: instance, Since: since})
	if err == nil && n == 0 {
		n, err = r.tx.Queries.CountInstance(r.tx.Ctx, instance)
		if n > 0 {
			return err
		}
	}
	if err != nil {
		return err
	}
	claimed, err := r.tx.Queries.ListClaimed(r.tx.Ctx, instance)
	if err != nil {
		return err
	}
	busy := 0
	for _, run := range claimed {
		busy += int(run.Busy)
	}
	idOf := func(run gen.ListClaimedRow) flow.RunID { return run.ID }
	err = core.Each(r.tx, "runs", "take back", claimed, idOf, func(run gen.ListClaimedRow) error {
		return r.takeBack(run.ID, fairness.Crash{Started: true, Busy: run.Busy != 0, BusyN: busy})
	})
	if err != nil {
		return err
	}
	return r.takeOverJobs(instance)
}

// takeOverJobs takes over jobs that the dead instance had fetched, whether or
// not it had started on them. Jobs that no instance has fetched stay in the queue.
func (r *recovery) takeOverJobs(instance string) error {
	const query = `DELETE FROM river_job WHERE kind IN ('run', 'delivery') AND state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = $1
		RETURNING kind, args->>'id'`
	rows, err := r.tx.DBTX.QueryContext(r.tx.Ctx, query, instance)
	jobs, err := dbconn.Collect(rows, err, func(rows *sql.Rows) (j flow.Job, err error) { return j, rows.Scan(&j.Kind, &j.ID) })
	if err != nil {
		return err
	}
	var runs []flow.RunID
	var deliveries []string
	for _, j := range jobs {
		if j.Kind == flow.JobRun {
			runs = append(runs, flow.RunID(j.ID))
		} else {
			deliveries = append(deliveries, j.ID)
		}
	}
	if err := core.EachID(r.tx, "runs", "requeue", runs, r.requeueUnclaimed); err != nil {
		return err
	}
	return core.EachID(r.tx, "deliveries", "release", deliveries, r.releaseDelivery)
}

// requeueUnclaimed creates a new job for a run whose worker died before it
// claimed the run. A claimed run already has its new job, or another holder.
func (r *recovery) requeueUnclaimed(runID flow.RunID) error {
	held, err := r.tx.Queries.FindHolder(r.tx.Ctx, runID)
	if dbconn.IsNoRows(err) || err == nil && (held.InstanceID != "" || r.queued(runID)) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.takeBack(runID, fairness.Crash{})
}

// queued reports whether this transaction has created a job for the run.
func (r *recovery) queued(runID flow.RunID) bool {
	return slices.ContainsFunc(r.tx.Batch.Jobs, func(j flow.Job) bool { return j.ID == string(runID) })
}

// releaseDelivery makes a delivery due again.
func (r *recovery) releaseDelivery(id string) error {
	n, err := r.tx.Queries.ReleaseDelivery(r.tx.Ctx, gen.ReleaseDeliveryParams{ID: id, Now: r.tx.Store.NowMicros()})
	r.report.Deliveries += int(n)
	return err
}

// endSessions ends the database sessions of silent instances, whose frozen
// transactions would hold locks that the takeover needs. It finds them by their
// application name; sessions of live instances, of other databases and of other
// roles are not affected. The statement checks the heartbeat again, because the
// instance may have continued.
func (s *Recovery) endSessions(ctx context.Context, silent []string, since int64) error {
	const end = `SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a
		WHERE right(a.application_name, length($1)) = $1 AND a.datname = current_database() AND a.usename = current_user
		AND a.pid <> pg_backend_pid() AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.id = $2 AND i.heartbeat_at > $3)`
	for _, id := range silent {
		if id == "" || id == s.DB.Holder() {
			continue
		}
		var ended int
		if err := s.DB.Vital.DBTX.QueryRowContext(ctx, end, dbconn.SessionSuffix(id), id, since).Scan(&ended); err != nil {
			return fmt.Errorf("end the database sessions of %s: %w", id, err)
		}
		if ended > 0 {
			s.DB.Config.Log.Warn("ended the database sessions of an instance that is silent", "instance", id, "sessions", ended)
		}
	}
	return nil
}
