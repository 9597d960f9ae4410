package db

import (
	"fmt"
	"slices"

	"sluice/db/dbconn"
	"sluice/flow"
)

// afterRestart takes back everything: the engine lock is ours, so whoever held
// a run or a delivery is dead. The queue's jobs are made anew rather than
// mended, which also heals a queue and rows that do not fit each other.
func (r *recovery) afterRestart(string) error {
	rows, err := r.tx.DBTX.QueryContext(r.tx.Ctx, `SELECT json_extract(args, '$.id') || '/' || json_extract(args, '$.attempt') FROM river_job WHERE state = 'running' AND kind = 'run'`)
	running, err := dbconn.Collect(rows, err, dbconn.ScanText)
	if err != nil {
		return fmt.Errorf("list running jobs: %w", err)
	}
	slices.Sort(running)
	if err := r.clearQueue(); err != nil {
		return err
	}
	busy := r.tx.Store.BusyBefore
	held, err := r.tx.ListHeld(r.tx.Ctx)
	if err != nil {
		return fmt.Errorf("list held runs: %w", err)
	}
	for _, h := range held {
		// A run that is held by an instance is a suspect on trial, which has no
		// job.
		_, had := slices.BinarySearch(running, fmt.Sprintf("%s/%d", h.ID, h.Attempt))
		c := flow.Crash{Started: had || h.InstanceID != "", Busy: busy[h.ID], BusyN: len(busy)}
		if err := r.takeBack(h.ID, c); err != nil {
			return err
		}
	}
	return r.releaseDeliveries()
}

// clearQueue removes what the queue still had to do and its leader, for whose
// absence it would wait.
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

// releaseDeliveries hands over the deliveries whose jobs are gone: the
// scheduler makes fresh jobs for whatever is due.
func (r *recovery) releaseDeliveries() error {
	n, err := r.tx.ReleaseDeliveries(r.tx.Ctx, r.tx.Store.NowMicros())
	if err != nil {
		return fmt.Errorf("release deliveries: %w", err)
	}
	r.report.Deliveries += int(n)
	return nil
}
