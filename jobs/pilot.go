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

// pilot replaces three of River's queries on both databases: the insert, the fetch
// and the completion of jobs. (Pilot is River's name for its extension point.) Each
// is one plain statement without the features that these jobs do not use. None of
// them compares times: a job is due as soon as it is inserted, whatever the clocks of
// the instances say.
//
// A completed job is deleted, because the run or the delivery records what was done.
// That also keeps completion safe when a recovery has deleted the row of a job whose
// worker was only frozen. River's own completion would then read back a job that is
// still running, treat that as a bug and panic.
type pilot struct {
	riverpilot.StandardPilot
	jobs   jobTable
	notify func(context.Context, []*rivertype.JobInsertResult) // River's hook that wakes a producer
}

// jobTable is River's table of jobs in one of the databases.
type jobTable interface {
	// insert adds jobs of one kind in the caller's transaction.
	insert(ctx context.Context, tx any, kind, queue string, jobs []flow.Job) error
	// fetch locks up to limit jobs of a queue for a client. It sets ID, Attempt, Kind
	// and EncodedArgs.
	fetch(ctx context.Context, client, queue string, limit int) ([]*rivertype.JobRow, error)
	// complete deletes completed jobs and ignores those that are already deleted.
	complete(ctx context.Context, ids []int64) error
}

// fetchTimeout bounds a fetch, for which River sets no limit. Jobs that were fetched
// although the response was lost are released by the reconciler.
const fetchTimeout = 15 * time.Second

// PilotInit implements riverpilot.Pilot. It keeps the hook that wakes a producer.
func (p *pilot) PilotInit(a *baseservice.Archetype, params *riverpilot.PilotInitParams) {
	p.StandardPilot.PilotInit(a, params)
	p.notify = params.NotifyNonTxJobInsert
}

// wake notifies the producer of a queue of committed jobs.
func (p *pilot) wake(queue string) {
	p.notify(context.Background(), []*rivertype.JobInsertResult{{Job: &rivertype.JobRow{Queue: queue}}})
}

// insert adds jobs of both kinds in the caller's transaction.
func (p *pilot) insert(ctx context.Context, tx any, jobs []flow.Job) error {
	runs, deliveries := splitByQueue(jobs)
	if len(runs) > 0 {
		if err := p.jobs.insert(ctx, tx, flow.JobRun, queueRuns, runs); err != nil {
			return err
		}
	}
	if len(deliveries) == 0 {
		return nil
	}
	return p.jobs.insert(ctx, tx, flow.JobDelivery, queueDeliveries, deliveries)
}

// JobGetAvailable implements riverpilot.Pilot: it fetches jobs. The fields that no
// query reads are set to constants.
func (p *pilot) JobGetAvailable(ctx context.Context, _ riverdriver.Executor, _ riverpilot.ProducerState, params *riverdriver.JobGetAvailableParams) (*riverdriver.JobGetAvailableResult, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	jobs, err := p.jobs.fetch(ctx, params.ClientID, params.Queue, params.MaxToLock)
	if err != nil {
		return nil, fmt.Errorf("fetch jobs: %w", err)
	}
	now := time.Now().UTC()
	for _, j := range jobs {
		j.AttemptedAt, j.AttemptedBy, j.CreatedAt, j.ScheduledAt = &now, []string{params.ClientID}, now, now
		j.MaxAttempts, j.Metadata, j.Priority, j.Queue, j.State = 1, []byte("{}"), 1, params.Queue, rivertype.JobStateRunning
	}
	return &riverdriver.JobGetAvailableResult{Jobs: jobs}, nil
}

// JobSetStateIfRunningMany implements riverpilot.Pilot. It deletes completed jobs and
// reports all of them as completed. Other outcomes, such as that of a job of a kind
// that this version does not know, are left to River. Jobs whose rows were deleted
// meanwhile are removed from River's result: it would panic on them.
func (p *pilot) JobSetStateIfRunningMany(ctx context.Context, exec riverdriver.Executor, params *riverdriver.JobSetStateIfRunningManyParams) ([]*rivertype.JobRow, error) {
	if slices.ContainsFunc(params.State, func(s rivertype.JobState) bool { return s != rivertype.JobStateCompleted }) {
		jobs, err := p.StandardPilot.JobSetStateIfRunningMany(ctx, exec, params)
		return slices.DeleteFunc(jobs, func(j *rivertype.JobRow) bool { return j.State == rivertype.JobStateRunning }), err
	}
	if err := p.jobs.complete(ctx, params.ID); err != nil {
		return nil, fmt.Errorf("delete completed jobs: %w", err)
	}
	now := time.Now().UTC()
	jobs := make([]*rivertype.JobRow, len(params.ID))
	for i, id := range params.ID {
		jobs[i] = &rivertype.JobRow{ID: id, State: rivertype.JobStateCompleted, FinalizedAt: &now}
	}
	return jobs, nil
}
