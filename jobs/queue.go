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
)

// Names of the queues.
const (
	queueRuns       = "runs"
	queueDeliveries = "deliveries"
)

// runArgs and deliveryArgs are what River keeps of a flow.Job.
type (
	runArgs      struct{ flow.Job }
	deliveryArgs struct{ flow.Job }
)

// Kind is the name River keeps the job under.
func (runArgs) Kind() string { return flow.JobRun }

// Kind is the name River keeps the job under.
func (deliveryArgs) Kind() string { return flow.JobDelivery }

// Queue brings runs and deliveries to workers. It is the store's queue.
//
// A run that this process may work on is handed to a goroutine in memory after
// the commit: its row says who holds it, which is all that a recovery needs.
// River's tables hold the other jobs: runs that any instance on PostgreSQL may
// take, because the one that admitted them has no free worker, and one job per
// delivery attempt. Those are inserted in the transaction that causes them.
type Queue struct {
	client client
	insert func(ctx context.Context, tx any, runs, deliveries []flow.Job) error
	wake   func(queue string)
	// work begins a job and returns the rest of it. What it does itself is done
	// before others can hear of the job.
	startJob      func(j flow.Job) func(context.Context)
	deliveriesDue chan struct{} // at most one notification that deliveries wait for slots

	limit int64        // workers of this process; 0 without a limit: admission keeps to it on SQLite
	inUse atomic.Int64 // workers that are reserved or at work
	open  atomic.Bool
	runs  sync.WaitGroup
	ctx   context.Context // of runs that were handed over in memory
	abort context.CancelFunc
}

// client is what both instantiations of River's client share.
type client interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	StopAndCancel(ctx context.Context) error
}

// QueueConfig says where River keeps its jobs. Exactly one of SQLite and
// Postgres is set.
type QueueConfig struct {
	SQLite   *sql.DB                                                 // the pool of the one writer connection
	Write    func(ctx context.Context, fn func(*sql.Tx) error) error // joins the next group of writes on SQLite
	Postgres *pgxpool.Pool
	Workers  int // runs worked on at once
	Instance string
	Poll     time.Duration // bound on how long a job can be overlooked if its notification is lost; default 5 s
	Log      *slog.Logger
}

// NewQueue makes a queue that is not started yet; jobs can be inserted.
func NewQueue(cfg QueueConfig) (*Queue, error) {
	q := &Queue{wake: func(string) {}, deliveriesDue: make(chan struct{}, 1)}
	q.ctx, q.abort = context.WithCancel(context.Background())
	if cfg.Postgres != nil {
		q.limit = int64(cfg.Workers)
		return q, q.usePostgres(cfg)
	}
	return q, q.useSQLite(cfg)
}

func (q *Queue) useSQLite(cfg QueueConfig) error {
	p := &pilot{jobs: sqliteJobs{cfg.Write}}
	c, err := river.NewClient(newWakeDriver(cfg.SQLite, p), q.config(cfg))
	if err != nil {
		return fmt.Errorf("open the job queue: %w", err)
	}
	q.client, q.insert, q.wake = c, p.insert, p.wake
	return nil
}

func (q *Queue) usePostgres(cfg QueueConfig) error {
	p := &pilot{jobs: postgresJobs{cfg.Postgres}}
	c, err := river.NewClient(&pilotDriver[pgx.Tx]{riverpgxv5.New(cfg.Postgres), p}, q.config(cfg))
	if err != nil {
		return fmt.Errorf("open the job queue: %w", err)
	}
	q.client, q.insert = c, p.insert
	return nil
}

// config turns off what River would do about time limits and stuck jobs: runs
// have limits of their own and recovery knows better who is dead.
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
			queueDeliveries: {MaxWorkers: flow.DeliverySlots},
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

func (q *Queue) runJob(ctx context.Context, kind string, j flow.Job) {
	j.Kind = kind
	if kind == flow.JobRun {
		q.inUse.Add(1)
		defer q.inUse.Add(-1)
	}
	q.startJob(j)(ctx)
}

// Take reserves a worker for a run.
func (q *Queue) Take(freed int) bool {
	if !q.open.Load() {
		return false
	}
	if n := q.inUse.Add(1); q.limit > 0 && n > q.limit+int64(freed) {
		q.inUse.Add(-1)
		return false
	}
	return true
}

// Return gives back workers that were reserved.
func (q *Queue) Return(n int) { q.inUse.Add(-int64(n)) }

// Work hands runs to the reserved workers. Runs that come while the process
// shuts down are handed back by their workers.
func (q *Queue) Work(runs []flow.Job) {
	for _, j := range runs {
		work := q.startJob(j)
		q.runs.Go(func() {
			defer q.inUse.Add(-1)
			work(q.ctx)
		})
	}
}

// start makes River fetch jobs.
func (q *Queue) start(ctx context.Context) error { return q.client.Start(ctx) }

// stop takes no more jobs and waits for those that are worked on. When ctx
// ends before they do, it aborts them and gives them until grace has passed.
func (q *Queue) stop(ctx context.Context, grace time.Duration) error {
	q.open.Store(false)
	err := errors.Join(q.client.Stop(ctx), q.wait(ctx))
	if err == nil {
		return nil
	}
	q.abort()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(q.client.StopAndCancel(late), q.wait(late))
}

// wait waits for the runs that were handed over in memory.
func (q *Queue) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		q.runs.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// InsertTx adds jobs in the caller's transaction: a *sql.Tx on SQLite, a
// pgx.Tx on PostgreSQL.
func (q *Queue) InsertTx(ctx context.Context, tx any, jobs []flow.Job) error {
	runs, deliveries := splitByKind(jobs)
	return q.insert(ctx, tx, runs, deliveries)
}

// Wake tells idle workers, after the commit, that there are jobs.
func (q *Queue) Wake(jobs []flow.Job) {
	runs, deliveries := splitByKind(jobs)
	if len(runs) > 0 {
		q.wake(queueRuns)
	}
	if len(deliveries) > 0 {
		q.wake(queueDeliveries)
	}
}

// WakeDeliveries makes the Runner assign slots for webhook attempts.
func (q *Queue) WakeDeliveries() { notify(q.deliveriesDue) }

func splitByKind(jobs []flow.Job) (runs, deliveries []flow.Job) {
	for _, j := range jobs {
		if j.Kind == flow.JobRun {
			runs = append(runs, j)
		} else {
			deliveries = append(deliveries, j)
		}
	}
	return runs, deliveries
}

// riverLog passes on what River warns of; its routine lines are noise here.
type riverLog struct{ slog.Handler }

// Enabled keeps warnings and errors.
func (h riverLog) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

// WithAttrs keeps the filter.
func (h riverLog) WithAttrs(a []slog.Attr) slog.Handler { return riverLog{h.Handler.WithAttrs(a)} }

// WithGroup keeps the filter.
func (h riverLog) WithGroup(n string) slog.Handler { return riverLog{h.Handler.WithGroup(n)} }
