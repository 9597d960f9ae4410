package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivershared/baseservice"
	"github.com/riverqueue/river/rivershared/riverpilot"
	"github.com/riverqueue/river/rivertype"

	"sluice/flow"
)

// pilot is River's way to let others write its queries. On SQLite three of them
// cost more than the runs themselves: the insert, the fetch, and the completion
// of each job in a statement of its own, the latter two with a sync of the disk
// while everybody else waits for the one writer. Here each is one statement that
// joins a group of writes, and a completed job is removed at once: the record
// of what was done is the run, not its job.
type pilot struct {
	riverpilot.StandardPilot
	write  func(ctx context.Context, fn func(*sql.Tx) error) error
	notify func(context.Context, []*rivertype.JobInsertResult)
}

// PilotInit keeps the hook that wakes a producer.
func (p *pilot) PilotInit(a *baseservice.Archetype, params *riverpilot.PilotInitParams) {
	p.StandardPilot.PilotInit(a, params)
	p.notify = params.NotifyNonTxJobInsert
}

// wake tells the producer of a queue that jobs were committed.
func (p *pilot) wake(queue string) {
	p.notify(context.Background(), []*rivertype.JobInsertResult{{Job: &rivertype.JobRow{Queue: queue}}})
}

const insertJobs = `INSERT INTO river_job (args, kind, queue, max_attempts) SELECT jsonb(value), ?2, ?3, 1 FROM json_each(?1)`

// insert adds jobs of one kind; River's own way costs several times as much,
// for features that these jobs do not use.
func insert(ctx context.Context, tx *sql.Tx, kind, queue string, jobs []flow.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	list := make([]byte, 0, 64*len(jobs))
	for _, j := range jobs {
		list = fmt.Appendf(list, `,{"id":%q,"attempt":%d}`, j.ID, j.Attempt)
	}
	list[0] = '['
	_, err := tx.ExecContext(ctx, insertJobs, string(append(list, ']')), kind, queue)
	return err
}

// riverTime is how River writes times on SQLite.
const riverTime = "2006-01-02 15:04:05.999"

// takeJobs looks at no time: a job of ours is due when it is inserted, and one
// inserted a moment ago must not look as if it were due in the next millisecond.
const takeJobs = `
UPDATE river_job SET state = 'running', attempt = attempt + 1, attempted_at = ?1, attempted_by = jsonb_array(?2)
WHERE id IN (
	SELECT id FROM river_job
	WHERE state = 'available' AND queue = ?3
	ORDER BY priority, scheduled_at, id LIMIT ?4)
RETURNING id, attempt, kind, json(args)`

// JobGetAvailable takes jobs.
func (p *pilot) JobGetAvailable(ctx context.Context, _ riverdriver.Executor, _ riverpilot.ProducerState, params *riverdriver.JobGetAvailableParams) ([]*rivertype.JobRow, error) {
	now := time.Now().UTC()
	var jobs []*rivertype.JobRow
	err := p.write(ctx, func(tx *sql.Tx) error {
		jobs = nil // the group may be repeated
		rows, err := tx.Query(takeJobs, now.Format(riverTime), params.ClientID, params.Queue, params.MaxToLock)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			j := &rivertype.JobRow{AttemptedAt: &now, AttemptedBy: []string{params.ClientID}, CreatedAt: now, ScheduledAt: now,
				MaxAttempts: 1, Metadata: []byte("{}"), Priority: 1, Queue: params.Queue, State: rivertype.JobStateRunning}
			if err := rows.Scan(&j.ID, &j.Attempt, &j.Kind, &j.EncodedArgs); err != nil {
				return err
			}
			jobs = append(jobs, j)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("take jobs: %w", err)
	}
	return jobs, nil
}

const removeJobs = `DELETE FROM river_job WHERE id IN (SELECT value FROM json_each(?1))`

// JobSetStateIfRunningMany removes completed jobs. Whatever else may become of
// a job (a kind that this version does not know) is left to River.
func (p *pilot) JobSetStateIfRunningMany(ctx context.Context, exec riverdriver.Executor, params *riverdriver.JobSetStateIfRunningManyParams) ([]*rivertype.JobRow, error) {
	now := time.Now().UTC()
	ids := make([]byte, 0, 12*len(params.ID))
	jobs := make([]*rivertype.JobRow, len(params.ID))
	for i, id := range params.ID {
		if params.State[i] != rivertype.JobStateCompleted {
			return p.StandardPilot.JobSetStateIfRunningMany(ctx, exec, params)
		}
		ids = fmt.Appendf(ids, ",%d", id)
		jobs[i] = &rivertype.JobRow{ID: id, State: rivertype.JobStateCompleted, FinalizedAt: &now}
	}
	err := p.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec(removeJobs, "["+string(ids[1:])+"]")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("remove completed jobs: %w", err)
	}
	return jobs, nil
}
