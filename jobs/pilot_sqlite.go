package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/riverqueue/river/rivertype"

	"sluice/flow"
)

// sqliteJobs implements jobTable on SQLite. River's own statements would cost more
// than the runs themselves there: each would be synced to disk while all others wait
// for the only writer. These join a group commit instead.
type sqliteJobs struct {
	// write runs fn in the next group commit. It may call fn again if the group fails.
	write func(ctx context.Context, fn func(*sql.Tx) error) error
}

// insertJobsSQLite inserts any number of jobs with one statement. max_attempts is 1,
// because the state of a run or delivery decides about retries, and not the queue.
const insertJobsSQLite = `INSERT INTO river_job (args, kind, queue, max_attempts) SELECT jsonb(value), ?2, ?3, 1 FROM json_each(?1)`

// insert adds jobs of one kind in the caller's transaction. IDs contain only letters,
// digits and underscores, so %q quotes them as JSON does.
func (sqliteJobs) insert(ctx context.Context, tx any, kind, queue string, jobs []flow.Job) error {
	list := make([]byte, 0, 64*len(jobs))
	for _, j := range jobs {
		list = fmt.Appendf(list, `,{"id":%q,"attempt":%d}`, j.ID, j.Attempt)
	}
	list[0] = '['
	_, err := tx.(*sql.Tx).ExecContext(ctx, insertJobsSQLite, string(append(list, ']')), kind, queue)
	return err
}

// riverTimeLayout is the format of River's times on SQLite.
const riverTimeLayout = "2006-01-02 15:04:05.999"

// fetchJobsSQLite takes jobs in the order of their priority. SQLite has one writer, so
// no row needs to be locked.
const fetchJobsSQLite = `
UPDATE river_job SET state = 'running', attempt = attempt + 1, attempted_at = ?1, attempted_by = jsonb_array(?2)
WHERE id IN (
	SELECT id FROM river_job
	WHERE state = 'available' AND queue = ?3
	ORDER BY priority, scheduled_at, id LIMIT ?4)
RETURNING id, attempt, kind, json(args)`

// fetch takes up to limit available jobs of a queue and marks them as running for a client.
func (t sqliteJobs) fetch(ctx context.Context, client, queue string, limit int) (jobs []*rivertype.JobRow, err error) {
	err = t.write(ctx, func(tx *sql.Tx) error {
		jobs = nil // of an earlier call
		rows, err := tx.Query(fetchJobsSQLite, time.Now().UTC().Format(riverTimeLayout), client, queue, limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			j := &rivertype.JobRow{}
			if err := rows.Scan(&j.ID, &j.Attempt, &j.Kind, &j.EncodedArgs); err != nil {
				return err
			}
			jobs = append(jobs, j)
		}
		return rows.Err()
	})
	return jobs, err
}

// completeJobsSQLite deletes any number of jobs with one statement.
const completeJobsSQLite = `DELETE FROM river_job WHERE id IN (SELECT value FROM json_each(?1))`

// complete deletes finished jobs. ids must not be empty.
func (t sqliteJobs) complete(ctx context.Context, ids []int64) error {
	list := make([]byte, 0, 12*len(ids))
	for _, id := range ids {
		list = fmt.Appendf(list, ",%d", id)
	}
	return t.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec(completeJobsSQLite, "["+string(list[1:])+"]")
		return err
	})
}
