package jobs

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"sluice/flow"
	"sluice/flow/fairness"
)

// Names of the queues.
const (
	queueRuns       = "runs"
	queueDeliveries = "deliveries"
)

// runArgs and deliveryArgs are River's two kinds of jobs: River stores the flow.Job
// as JSON.
type (
	runArgs      struct{ flow.Job }
	deliveryArgs struct{ flow.Job }
)

// Kind implements river.JobArgs.
func (runArgs) Kind() string { return flow.JobRun }

// Kind implements river.JobArgs.
func (deliveryArgs) Kind() string { return flow.JobDelivery }

// Queue distributes runs and deliveries to workers. It implements db.Queue, which
// the store calls in and after its transactions.
//
// A run that this process may work on is handed to a goroutine in memory after the
// commit: its row records the holder, which is all that recovery needs. River's
// tables hold the other jobs: runs that any instance on PostgreSQL may fetch,
// because the one that admitted them has no free worker, and one job per delivery
// attempt. Those are inserted in the transaction that causes them, so they exist
// exactly if it commits.
type Queue struct {
	client client
	insert func(ctx context.Context, tx any, jobs []flow.Job) error
	wake   func(queue string)
	// startJob starts a job and returns a function that does the rest. It is called
	// before others can learn of the job.
	startJob      func(j flow.Job) func(context.Context)
	deliveriesDue chan struct{} // of capacity one; a send makes the Runner queue due deliveries

	limit   int64        // number of workers of this process; 0 on SQLite, where admission alone enforces it
	inUse   atomic.Int64 // workers that are reserved or executing a run
	mu      sync.Mutex
	phase   queuePhase     // guarded by mu
	runs    sync.WaitGroup // reserved workers, and runs that were handed to them; mu guards Add against a Wait
	runsCtx context.Context
	abort   context.CancelFunc // ends runsCtx
}

// queuePhase is how far a Queue is: only an open one reserves workers.
type queuePhase int

const (
	queueNew queuePhase = iota
	queueOpen
	queueStopped // for good
)

// client is the part of river.Client[TTx] that does not depend on TTx, the
// database's type of a transaction. Tests replace it.
type client interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	StopAndCancel(ctx context.Context) error
}

// QueueConfig configures a Queue. Exactly one of SQLite and Postgres is set.
type QueueConfig struct {
	SQLite   *sql.DB                                                 // pool of the only connection that writes
	Write    func(ctx context.Context, fn func(*sql.Tx) error) error // runs fn in the next group commit on SQLite
	Postgres *pgxpool.Pool
	Workers  int // number of runs executed concurrently
	Instance string
	Poll     time.Duration // interval at which River looks for jobs whose notification was lost; default 5 s
	Log      *slog.Logger
}

// NewQueue makes a queue that accepts jobs but does not fetch any until the Runner
// starts it.
func NewQueue(cfg QueueConfig) (*Queue, error) {
	q := &Queue{wake: func(string) {}, deliveriesDue: make(chan struct{}, 1)}
	q.runsCtx, q.abort = context.WithCancel(context.Background())
	if cfg.Postgres != nil {
		q.limit = int64(cfg.Workers)
		return q, q.usePostgres(cfg)
	}
	return q, q.useSQLite(cfg)
}

// useSQLite opens the queue on the one writer of the store: a second connection that writes
// would make both wait for locks. Inserts of this process wake the queue.
func (q *Queue) useSQLite(cfg QueueConfig) error {
	p := &pilot{jobs: sqliteJobs{cfg.Write}}
	c, err := river.NewClient(newWakeDriver(cfg.SQLite, p), q.config(cfg))
	if err != nil {
		return fmt.Errorf("open the job queue: %w", err)
	}
	q.client, q.insert, q.wake = c, p.insert, p.wake
	return nil
}

// usePostgres opens the queue on the pool of the store. Committed jobs are announced to all
// instances through PostgreSQL.
func (q *Queue) usePostgres(cfg QueueConfig) error {
	p := &pilot{jobs: postgresJobs{cfg.Postgres}}
	c, err := river.NewClient(&pilotDriver[pgx.Tx]{riverpgxv5.New(cfg.Postgres), p}, q.config(cfg))
	if err != nil {
		return fmt.Errorf("open the job queue: %w", err)
	}
	q.client, q.insert, q.wake = c, p.insert, (&announcer{pool: cfg.Postgres, log: cfg.Log}).announce
	return nil
}

// config returns River's configuration. Time limits and the rescue of stuck jobs
// are turned off: runs have their own limits, and recovery knows from heartbeats
// which workers are dead.
func (q *Queue) config(cfg QueueConfig) *river.Config {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, j *river.Job[runArgs]) error {
		q.runJob(ctx, flow.JobRun, j.Args.Job)
		return nil
	}))
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, j *river.Job[deliveryArgs]) error {
		q.runJob(ctx, flow.JobDelivery, j.Args.Job)
		return nil
	}))
	return &river.Config{
		ID:      cfg.Instance,
		Logger:  slog.New(riverLog{cfg.Log.Handler()}),
		Workers: workers,
		Queues: map[string]river.QueueConfig{
			queueRuns:       {MaxWorkers: cfg.Workers},
			queueDeliveries: {MaxWorkers: fairness.DeliverySlots},
		},
		// The inserting client's cooldown throttles its notifications as well.
		FetchCooldown:               time.Millisecond,
		FetchPollInterval:           cmp.Or(cfg.Poll, 5*time.Second),
		JobTimeout:                  -1,
		RescueStuckJobsAfter:        10 * 365 * 24 * time.Hour,
		MaxAttempts:                 1,
		CompletedJobRetentionPeriod: 5 * time.Minute,
	}
}

// runJob executes a job that River fetched. Such runs count as workers in use, so
// that no more runs are handed over in memory than the limit allows.
func (q *Queue) runJob(ctx context.Context, kind string, j flow.Job) {
	j.Kind = kind
	if kind == flow.JobRun {
		q.inUse.Add(1)
		defer q.inUse.Add(-1)
	}
	q.startJob(j)(ctx)
}

// Take reserves a worker of this process for a run and reports whether one was
// free. Workers that the caller's transaction will release count as free. The caller
// must pass each reserved worker to Work or Return: stop waits for that.
func (q *Queue) Take(freed int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.phase != queueOpen {
		return false
	}
	if n := q.inUse.Add(1); q.limit > 0 && n > q.limit+int64(freed) {
		q.inUse.Add(-1)
		return false
	}
	q.runs.Add(1)
	return true
}

// Return releases workers that were reserved with Take and are not needed.
func (q *Queue) Return(n int) {
	q.inUse.Add(-int64(n))
	q.runs.Add(-n)
}

// Work hands runs to the reserved workers. If the process is shutting down, the
// workers hand the runs back.
func (q *Queue) Work(runs []flow.Job) {
	for _, j := range runs {
		execute := q.startJob(j)
		go func() {
			defer q.Return(1)
			execute(q.runsCtx)
		}()
	}
}

// accept makes Take reserve workers, unless the queue was stopped.
func (q *Queue) accept() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.phase == queueNew {
		q.phase = queueOpen
	}
}

// stop ends the fetching of jobs and waits for those at work, also for runs whose
// transaction has reserved a worker and not ended yet. If ctx ends first, it
// aborts them and waits for at most grace.
func (q *Queue) stop(ctx context.Context, grace time.Duration) error {
	q.mu.Lock()
	q.phase = queueStopped
	q.mu.Unlock()
	err := errors.Join(q.client.Stop(ctx), waitGroup(ctx, &q.runs))
	if err == nil {
		return nil
	}
	q.abort()
	graceCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(q.client.StopAndCancel(graceCtx), waitGroup(graceCtx, &q.runs))
}

// InsertTx inserts jobs in the caller's transaction: a *sql.Tx on SQLite, a pgx.Tx
// on PostgreSQL.
func (q *Queue) InsertTx(ctx context.Context, tx any, jobs []flow.Job) error {
	return q.insert(ctx, tx, jobs)
}

// Wake notifies idle workers of committed jobs.
func (q *Queue) Wake(jobs []flow.Job) {
	runs, deliveries := splitByQueue(jobs)
	if len(runs) > 0 {
		q.wake(queueRuns)
	}
	if len(deliveries) > 0 {
		q.wake(queueDeliveries)
	}
}

// WakeDeliveries makes the Runner assign free slots to due deliveries.
func (q *Queue) WakeDeliveries() { notify(q.deliveriesDue) }

// splitByQueue separates runs from deliveries, which have queues of their own so that
// neither can occupy the workers of the other.
func splitByQueue(jobs []flow.Job) (runs, deliveries []flow.Job) {
	for _, j := range jobs {
		if j.Kind == flow.JobRun {
			runs = append(runs, j)
		} else {
			deliveries = append(deliveries, j)
		}
	}
	return runs, deliveries
}

// riverLog drops River's log lines below warnings: one per job would be noise.
type riverLog struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h riverLog) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler and keeps the filter.
func (h riverLog) WithAttrs(a []slog.Attr) slog.Handler { return riverLog{h.Handler.WithAttrs(a)} }

// WithGroup implements slog.Handler and keeps the filter.
func (h riverLog) WithGroup(n string) slog.Handler { return riverLog{h.Handler.WithGroup(n)} }
