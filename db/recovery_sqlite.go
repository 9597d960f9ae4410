package db

import (
	"fmt"
	"slices"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/fairness"
	"sluice/flow/sorting"
)

// afterRestart takes back all runs and deliveries: this process has the engine lock,
// so every previous holder is dead. It creates all jobs again, which also repairs
// jobs that do not match the rows.
func (r *recovery) afterRestart(string) error {
	rows, err := r.tx.DBTX.QueryContext(r.tx.Ctx, `SELECT json_extract(args, '$.id') || '/' || json_extract(args, '$.attempt') FROM river_job WHERE state = 'running' AND kind = 'run'`)
	running, err := dbconn.Collect(rows, err, dbconn.ScanText)
	if err != nil {
		return fmt.Errorf("list running jobs: %w", err)
	}
	sorting.Strings(running)
	if err := r.clearQueue(); err != nil {
		return err
	}
	busy := r.tx.Store.BusyBefore
	held, err := r.tx.Queries.ListHeld(r.tx.Ctx)
	if err != nil {
		return fmt.Errorf("list held runs: %w", err)
	}
	idOf := func(h gen.ListHeldRow) flow.RunID { return h.ID }
	err = core.Each(r.tx, "runs", "take back", held, idOf, func(h gen.ListHeldRow) error {
		// A run that is held by an instance is a suspect on trial, which has no job.
		_, had := slices.BinarySearch(running, fmt.Sprintf("%s/%d", h.ID, h.Attempt))
		return r.takeBack(h.ID, fairness.Crash{Started: had || h.InstanceID != "", Busy: busy[h.ID], BusyN: len(busy)})
	})
	if err != nil {
		return err
	}
	return r.releaseDeliveries()
}

// clearQueue removes all unfinished jobs of runs and deliveries, and the leader of
// the queue, whose lease would otherwise have to expire first.
func (r *recovery) clearQueue() error {
	for _, stmt := range []string{
		`DELETE FROM river_job WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled') AND kind IN ('run', 'delivery')`,
		`DELETE FROM river_leader`,
	} {
		if _, err := r.tx.DBTX.ExecContext(r.tx.Ctx, stmt); err != nil {
			return fmt.Errorf("clear the queue: %w", err)
		}
	}
	return nil
}

// releaseDeliveries makes deliveries without a job due again. The scheduler creates
// new jobs for them.
func (r *recovery) releaseDeliveries() error {
	n, err := r.tx.Queries.ReleaseDeliveries(r.tx.Ctx, r.tx.Store.NowMicros())
	if err != nil {
		return fmt.Errorf("release deliveries: %w", err)
	}
	r.report.Deliveries += int(n)
	return nil
}
