package jobs

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivertype"

	"sluice/flow"
)

// postgresJobs implements jobTable on PostgreSQL. Its times are the database's, which
// all instances share.
type postgresJobs struct{ pool *pgxpool.Pool }

// insertJobsPostgres does not notify producers: see announcer.
const insertJobsPostgres = `
INSERT INTO river_job (args, kind, queue, max_attempts)
SELECT jsonb_build_object('id', j.id, 'attempt', j.attempt), $3, $4, 1
FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS j(id, attempt, position) ORDER BY j.position`

// insert adds jobs of one kind in the caller's transaction, so that a job exists if and
// only if its run or delivery was stored.
func (postgresJobs) insert(ctx context.Context, tx any, kind, queue string, jobs []flow.Job) error {
	ids, attempts := make([]string, len(jobs)), make([]int64, len(jobs))
	for i, j := range jobs {
		ids[i], attempts[i] = j.ID, j.Attempt
	}
	_, err := tx.(pgx.Tx).Exec(ctx, insertJobsPostgres, ids, attempts, kind, queue)
	return err
}

// fetchJobsPostgres locks the jobs in a statement of its own: PostgreSQL may evaluate
// a subquery with LIMIT again for each row, and so lock more jobs than the limit.
const fetchJobsPostgres = `
WITH free AS (
	SELECT id FROM river_job
	WHERE state = 'available' AND queue = $2
	ORDER BY priority, scheduled_at, id LIMIT $3
	FOR UPDATE SKIP LOCKED)
UPDATE river_job AS j SET state = 'running', attempt = j.attempt + 1, attempted_at = now(), attempted_by = ARRAY[$1::text]
FROM free WHERE j.id = free.id
RETURNING j.id, j.attempt, j.kind, j.args::text`

// fetch takes up to limit available jobs of a queue and marks them as running for a client,
// so that no other instance gets them.
func (t postgresJobs) fetch(ctx context.Context, client, queue string, limit int) ([]*rivertype.JobRow, error) {
	rows, err := t.pool.Query(ctx, fetchJobsPostgres, client, queue, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*rivertype.JobRow, error) {
		j := &rivertype.JobRow{}
		var args string
		err := row.Scan(&j.ID, &j.Attempt, &j.Kind, &args)
		j.EncodedArgs = []byte(args)
		return j, err
	})
}

// completeJobsPostgres deletes only jobs that were fetched. IDs are never reused, so a
// late completion cannot delete another job.
const completeJobsPostgres = `DELETE FROM river_job WHERE id = ANY($1) AND state = 'running'`

// complete deletes finished jobs. Their history is not needed: runs and deliveries record
// their own attempts.
func (t postgresJobs) complete(ctx context.Context, ids []int64) error {
	if _, err := t.pool.Exec(ctx, completeJobsPostgres, ids); err != nil {
		return fmt.Errorf("delete %d jobs: %w", len(ids), err)
	}
	return nil
}
