package jobs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivershared/baseservice"
	"github.com/riverqueue/river/rivershared/riverpilot"
	"github.com/riverqueue/river/rivertype"

	"sluice/flow"
)

// pilot is River's way to let others write its queries. Three of them are ours
// on both databases: the insert, the fetch and the completion of jobs. Each is
// one statement on the table of jobs, without the features that these jobs do
// not use, and none of them compares a time: a job is due as soon as it is
// inserted, whatever the clocks of the instances say.
//
// A completed job is deleted, because the run or the delivery records what was
// done. That also makes completion safe beside a recovery that has deleted the
// row of a job whose worker was only frozen. River's own completion then reads
// back a job that is still running, which it treats as a bug and panics.
type pilot struct {
	riverpilot.StandardPilot
	jobs   jobTable
	notify func(context.Context, []*rivertype.JobInsertResult)
}

// jobTable is River's table of jobs in one of the databases.
type jobTable interface {
	// insert adds jobs of one kind in the transaction of a caller.
	insert(ctx context.Context, tx any, kind, queue string, jobs []flow.Job) error
	// take hands up to limit jobs of a queue to a client. It sets ID, Attempt,
	// Kind and EncodedArgs.
	fetch(ctx context.Context, client, queue string, limit int) ([]*rivertype.JobRow, error)
	// remove deletes completed jobs. Those that are gone already are ignored.
	complete(ctx context.Context, ids []int64) error
}

// takeTimeout bounds a fetch, for which River sets no limit. What it took
// although the answer was lost is released by Runner.reconcile.
const fetchTimeout = 15 * time.Second

// PilotInit keeps the hook that wakes a producer.
func (p *pilot) PilotInit(a *baseservice.Archetype, params *riverpilot.PilotInitParams) {
	p.StandardPilot.PilotInit(a, params)
	p.notify = params.NotifyNonTxJobInsert
}

// wake tells the producer of a queue that jobs were committed.
func (p *pilot) wake(queue string) {
	p.notify(context.Background(), []*rivertype.JobInsertResult{{Job: &rivertype.JobRow{Queue: queue}}})
}

// insert adds the jobs of both kinds.
func (p *pilot) insert(ctx context.Context, tx any, runs, deliveries []flow.Job) error {
	for _, list := range []struct {
		kind, queue string
		jobs        []flow.Job
	}{{flow.JobRun, queueRuns, runs}, {flow.JobDelivery, queueDeliveries, deliveries}} {
		if len(list.jobs) == 0 {
			continue
		}
		if err := p.jobs.insert(ctx, tx, list.kind, list.queue, list.jobs); err != nil {
			return err
		}
	}
	return nil
}

// JobGetAvailable takes jobs.
func (p *pilot) JobGetAvailable(ctx context.Context, _ riverdriver.Executor, _ riverpilot.ProducerState, params *riverdriver.JobGetAvailableParams) ([]*rivertype.JobRow, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	jobs, err := p.jobs.fetch(ctx, params.ClientID, params.Queue, params.MaxToLock)
	if err != nil {
		return nil, fmt.Errorf("take jobs: %w", err)
	}
	now := time.Now().UTC()
	for _, j := range jobs {
		j.AttemptedAt, j.AttemptedBy, j.CreatedAt, j.ScheduledAt = &now, []string{params.ClientID}, now, now
		j.MaxAttempts, j.Metadata, j.Priority, j.Queue, j.State = 1, []byte("{}"), 1, params.Queue, rivertype.JobStateRunning
	}
	return jobs, nil
}

// JobSetStateIfRunningMany removes completed jobs and reports all of them as
// completed. Other outcomes, such as that of a job of a kind that this version
// does not know, are left to River, except jobs that it could not finalize
// because their rows were deleted meanwhile.
func (p *pilot) JobSetStateIfRunningMany(ctx context.Context, exec riverdriver.Executor, params *riverdriver.JobSetStateIfRunningManyParams) ([]*rivertype.JobRow, error) {
	if slices.ContainsFunc(params.State, func(s rivertype.JobState) bool { return s != rivertype.JobStateCompleted }) {
		jobs, err := p.StandardPilot.JobSetStateIfRunningMany(ctx, exec, params)
		return slices.DeleteFunc(jobs, func(j *rivertype.JobRow) bool { return j.State == rivertype.JobStateRunning }), err
	}
	if err := p.jobs.complete(ctx, params.ID); err != nil {
		return nil, fmt.Errorf("remove completed jobs: %w", err)
	}
	now := time.Now().UTC()
	jobs := make([]*rivertype.JobRow, len(params.ID))
	for i, id := range params.ID {
		jobs[i] = &rivertype.JobRow{ID: id, State: rivertype.JobStateCompleted, FinalizedAt: &now}
	}
	return jobs, nil
}
