package db

import (
	"context"
	"database/sql"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// holdsQuery compares runs, deliveries and the queue's jobs with each other,
// for the instance $1 at the time $2. Each of the three tables is read once, and
// of each only what is in progress.
const holdsQuery = `
WITH held AS MATERIALIZED (
	SELECT id, attempt, instance_id, cancel_requested = 1 OR state = 'running' AND deadline_at > 0 AND deadline_at <= $2 AS late
	FROM runs WHERE place = 2 AND place > 0
), sent AS MATERIALIZED (
	SELECT id, fence FROM deliveries WHERE place = 2 AND place > 0 AND ended_at = 0 AND due_at = 0
), jobs AS MATERIALIZED (
	SELECT j.id, j.kind, j.args->>'id' AS subject, CAST(j.args->>'attempt' AS BIGINT) AS attempt,
		CASE WHEN j.state = 'running' THEN j.attempted_by[array_upper(j.attempted_by, 1)] END AS client
	FROM river_job j WHERE j.kind IN ('run', 'delivery') AND j.finalized_at IS NULL
)
SELECT 'run', id, attempt, 0, 0 FROM held WHERE instance_id = $1
UNION ALL SELECT kind, subject, attempt, id, 0 FROM jobs WHERE client = $1
UNION ALL SELECT kind, subject, attempt, id, 1 FROM jobs WHERE client IS NOT NULL AND client <> $1
	AND NOT EXISTS (SELECT FROM instances i WHERE i.id = client)
UNION ALL SELECT 'run', id, attempt, 0, 1 FROM held WHERE instance_id = ''
	AND NOT EXISTS (SELECT FROM jobs j WHERE j.kind = 'run' AND j.subject = held.id AND j.attempt = held.attempt)
UNION ALL SELECT 'delivery', id, fence, 0, 1 FROM sent
	WHERE NOT EXISTS (SELECT FROM jobs j WHERE j.kind = 'delivery' AND j.subject = sent.id AND j.attempt = sent.fence)
UNION ALL SELECT 'run', id, attempt, 0, 2 FROM held WHERE late`

// ListHolds returns the runs and deliveries that the instance holds according to
// the tables, those that no instance holds, and the runs that should have ended.
// A run may be listed several times. On SQLite, where one process holds
// everything, it returns nothing.
func (s *Recovery) ListHolds(ctx context.Context, instance string) (list []flow.Hold, err error) {
	if !s.DB.IsPostgres() {
		return nil, nil
	}
	rows, err := s.DB.Reader.QueryContext(ctx, holdsQuery, instance, s.DB.NowMicros())
	list, err = dbconn.Collect(rows, err, func(rows *sql.Rows) (h flow.Hold, err error) {
		return h, rows.Scan(&h.Kind, &h.ID, &h.Attempt, &h.Row, &h.By)
	})
	if err != nil {
		return nil, fmt.Errorf("list holds: %w", err)
	}
	return list, nil
}

// ReleaseHolds returns runs and deliveries without a worker to the queue. It counts
// no crash. Every run gets a new attempt number, which fences a worker that holds
// it after all. Those that have changed in the meantime are skipped.
func (s *Recovery) ReleaseHolds(ctx context.Context, instance string, list []flow.Hold) error {
	err := s.DB.WriteRows(ctx, core.Durable, "runs", func(tx *core.Tx) error {
		for _, h := range list {
			table := "runs"
			if h.Kind == flow.JobDelivery {
				table = "deliveries"
			}
			if err := core.EachID(tx, table, "release", []string{h.ID}, func(string) error { return release(tx, instance, h) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("release holds: %w", err)
	}
	return nil
}

// release deletes the job of a hold and returns its run or delivery to the queue.
func release(tx *core.Tx, instance string, h flow.Hold) error {
	if h.Row > 0 {
		// A job of another live instance must not be deleted.
		const remove = `DELETE FROM river_job WHERE id = $1 AND state = 'running' AND (attempted_by[array_upper(attempted_by, 1)] = $2
			OR NOT EXISTS (SELECT FROM instances i WHERE i.id = attempted_by[array_upper(attempted_by, 1)]))`
		if _, err := tx.DBTX.ExecContext(tx.Ctx, remove, h.Row, instance); err != nil {
			return err
		}
	}
	if h.Kind == flow.JobDelivery {
		tx.Batch.Deliveries = true
		return tx.Queries.ReturnDelivery(tx.Ctx, gen.ReturnDeliveryParams{ID: h.ID, Fence: h.Attempt, Now: tx.Store.NowMicros()})
	}
	return requeueRun(tx, flow.RunID(h.ID), h.Attempt)
}

// TakeOverRun assigns a run to this instance, whichever instance holds it, and returns
// the new attempt number. It returns ErrFenced if the run has changed.
func (s *Recovery) TakeOverRun(ctx context.Context, runID flow.RunID, attempt int64) (next int64, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		next, err = tx.Queries.TakeRun(tx.Ctx, gen.TakeRunParams{ID: runID, Attempt: attempt, InstanceID: s.DB.Holder()})
		if dbconn.IsNoRows(err) {
			err = dbconn.ErrFenced
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("take %s: %w", runID, err)
	}
	return next, nil
}
