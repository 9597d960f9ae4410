package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sluice/flow"
)

const (
	heartbeatInterval = 5 * time.Second
	// beginEvery is the interval between attempts to start on a store that
	// cannot be written to.
	startRetryInterval = time.Second
)

// abortPatience is how long steps that are told to stop may take for it, and
// how long the last writes of a shutdown may take.
const abortTimeout = 1500 * time.Millisecond

// Config is what a Runner is made of.
type Config struct {
	Store    Store
	Queue    *Queue
	Kinds    *flow.Registry
	Secrets  *flow.Resolver
	Files    flow.FileStore
	Links    *flow.FileLinks // put into webhooks that hold files
	Prices   flow.PriceStore
	HTTP     *http.Client // for webhooks: guarded, follows no redirect
	Instance string       // names this process among those that share a database
	Workers  int          // runs worked on at once
	Shared   bool         // other processes may work on the same database
	Log      *slog.Logger
	Now      func() time.Time // default: the store's
	Jitter   func() float64   // in [0,1), for webhook pauses
	// Pause is the wait after so many failed attempts at a delivery, or false when
	// there are no more; default flow.DeliveryPause.
	Pause func(failed int64, jitter float64) (time.Duration, bool)
	// Busy records which runs work in this process, for the recovery after a
	// crash; by default the marks do not survive a crash.
	Busy *flow.BusyMarks
	// Calls is flow.Engine.Calls.
	Calls func(ctx context.Context, before func(context.Context) error, working func(bool)) context.Context
	// InstanceTimeout is the silence after which other processes take over from
	// this one; default 20 s. It must be the store's.
	InstanceTimeout time.Duration
	// Reconcile is the interval between comparisons of the tables with what this
	// process has in hand, if the database is shared; default 3 s.
	Reconcile time.Duration
	// Follow passes on the text of a run that another instance works on, until that
	// instance has the run no more or ctx ends; nil where instances have no
	// connections to each other.
	Follow func(ctx context.Context, peer flow.Peer, runID string, told func(flow.PeerText)) error
	// Trial bounds the trials of all suspects together; default 30 s.
	SuspectTimeout time.Duration
	Observe        func(Observation)
	// EndpointPause is the wait before the next attempt at an endpoint after so
	// many failures in a row; default flow.EndpointPause.
	EndpointPause func(failures int64) time.Duration
}

// Observation is one thing worth counting: a run or a delivery attempt that
// ended, or a start that was refused.
type Observation struct {
	Run      *flow.Run
	Refused  flow.Code
	Delivery flow.DeliveryState
	Latency  time.Duration
}

// Runner accepts runs and makes them happen. It keeps nothing that a restart
// could not rebuild from the store.
type Runner struct {
	cfg       Config
	store     Store
	shared    bool
	ids       flow.IDs
	documents *documentCache
	broker    *broker
	engine    *flow.Engine
	log       *slog.Logger

	mu       sync.Mutex
	active   map[string]*activeRun
	sending  map[string]int // attempts in hand by delivery
	handBack map[string]int64

	draining         atomic.Bool
	drain            chan struct{}
	stopLoops        context.CancelFunc
	lifetime         context.Context // ends with Drain
	endLifetime      context.CancelFunc
	loops            sync.WaitGroup
	detached         sync.WaitGroup             // suspects on trial, and goroutines that wait for them
	recovered        bool                       // by begin, which may be repeated
	retryingSuspects bool                       // suspects are being tried; guarded by mu
	startError       atomic.Pointer[flow.Error] // why nothing can be accepted yet
	epoch            time.Time                  // by which lastBeat counts
	lastHeartbeat    atomic.Int64               // when the last heartbeat that succeeded began, as a time.Duration since born
	hasUnsaved       atomic.Bool                // a run with save: false ended since the last look
	lastSweep        time.Time                  // last search for leftover files of crashes; used only by tidy
	lastPrune        time.Time                  // last call of drop; used only by tidy
}

// activeRun is a run that a worker of this process has in its hands.
type activeRun struct {
	cancel chan struct{}
	once   sync.Once
	live   *liveRun
}

// New makes a Runner; Start sets it to work.
func New(cfg Config) *Runner {
	if cfg.Now == nil {
		cfg.Now = cfg.Store.Now
	}
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	if cfg.Pause == nil {
		cfg.Pause = flow.DeliveryPause
	}
	if cfg.EndpointPause == nil {
		cfg.EndpointPause = flow.EndpointPause
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Observation) {}
	}
	if cfg.Busy == nil {
		cfg.Busy = flow.NewBusyMarks(make([]byte, flow.BusyRegionSize(2*cfg.Workers)))
	}
	cfg.InstanceTimeout = cmp.Or(cfg.InstanceTimeout, 20*time.Second)
	cfg.Reconcile = cmp.Or(cfg.Reconcile, reconcileInterval)
	cfg.SuspectTimeout = cmp.Or(cfg.SuspectTimeout, suspectTimeout)
	r := &Runner{
		cfg: cfg, store: cfg.Store, shared: cfg.Shared, log: cfg.Log,
		documents: newDocumentCache(cfg.Store, cfg.Kinds), broker: newBroker(),
		active: map[string]*activeRun{}, sending: map[string]int{}, handBack: map[string]int64{}, drain: make(chan struct{}), epoch: time.Now(),
	}
	r.lifetime, r.endLifetime = context.WithCancel(context.Background())
	if cfg.Follow != nil {
		r.broker.runMirror = r.runMirror
	}
	r.ids = flow.IDs{Now: cfg.Now, Random: flow.NewIDs().Random}
	r.engine = &flow.Engine{Journal: r, Secrets: cfg.Secrets, Files: cfg.Files, Prices: cfg.Prices, Budgets: cfg.Store, Busy: cfg.Busy, Calls: cfg.Calls, Emit: r.broker.emit, Now: r.now, Report: func(err error) { r.log.Error("run", "error", err) }}
	if cfg.Shared {
		r.engine.MayCall = r.checkRunHeld
	}
	r.hasUnsaved.Store(true)
	cfg.Queue.startJob = r.startJob
	return r
}

// now is the clock at the precision of the store, so that what is told from
// memory equals what is read back.
func (r *Runner) now() time.Time { return r.cfg.Now().UTC().Truncate(time.Microsecond) }

// Start recovers the work of dead workers and starts workers and timers. If the
// store is full or locked, Start returns anyway and no runs are accepted;
// recovery is retried until the store can be written to.
func (r *Runner) Start(ctx context.Context) error {
	ctx, r.stopLoops = context.WithCancel(context.WithoutCancel(ctx))
	if r.shared { // before anything that takes time: a silent instance counts as dead
		r.loop(ctx, heartbeatInterval, r.heartbeat)
	}
	switch err := r.startWork(ctx); {
	case err == nil:
	case isTransient(err):
		r.rejectRuns(err)
		r.loops.Go(func() { r.retryStart(ctx) })
	default:
		r.stopLoops()
		r.loops.Wait()
		return err
	}
	return nil
}

// begin recovers and starts the workers. It can be retried after an error.
func (r *Runner) startWork(ctx context.Context) error {
	if err := r.heartbeat(ctx); err != nil {
		return fmt.Errorf("announce this instance: %w", err)
	}
	r.cfg.Queue.open.Store(true)
	if !r.recovered {
		if err := r.recoverWork(ctx); err != nil {
			return err
		}
		r.recovered = true
	}
	if err := r.cfg.Queue.start(ctx); err != nil {
		return fmt.Errorf("start the job queue: %w", r.store.NameError(err))
	}
	r.startPollers(ctx,
		&poller{poll: r.queueDueRuns, minInterval: pollInterval, wake: make(chan struct{}, 1)},
		&poller{poll: r.queueDueDeliveries, minInterval: pollInterval, wake: r.cfg.Queue.deliveriesDue},
		&poller{poll: r.cleanUp, minInterval: cleanUpInterval, wake: make(chan struct{}, 1)})
	if r.shared {
		r.loop(ctx, recoverInterval, r.recoverWork)
		r.loop(ctx, r.cfg.Reconcile, r.reconcile())
		r.loop(ctx, saveBusyInterval, r.saveBusy())
		r.loop(ctx, time.Second, r.pollCancels)
		r.loops.Go(func() { r.listen(ctx) })
	}
	return nil
}

// beginLater retries begin until it succeeds or the Runner stops.
func (r *Runner) retryStart(ctx context.Context) {
	for {
		select {
		case <-time.After(startRetryInterval):
		case <-r.drain:
			return
		}
		err := r.startWork(ctx)
		if err == nil {
			r.startError.Store(nil)
			r.log.Info("the store can be written to again: runs are accepted")
			return
		}
		if ctx.Err() == nil {
			r.rejectRuns(err)
		}
	}
}

// block refuses starts until begin has succeeded.
func (r *Runner) rejectRuns(err error) {
	if r.startError.Swap(flow.AsError(err)) == nil {
		r.log.Error("runs are not accepted yet; trying again every second", "error", err)
	}
}

// isPassing reports whether an error can go away without a restart.
func isTransient(err error) bool {
	e, ok := errors.AsType[*flow.Error](err)
	return ok && (e.Code == flow.CodeStorageFull || e.Code == flow.CodeOverloaded || e.Code == flow.CodeUnavailable)
}

// heartbeat tells the other processes that this one is alive. lastBeat is the
// time before the call, because the database records a later time.
func (r *Runner) heartbeat(ctx context.Context) error {
	begun := time.Since(r.epoch)
	err := r.store.Heartbeat(ctx, r.cfg.Instance, r.cfg.Workers)
	if err == nil {
		r.lastHeartbeat.Store(int64(begun))
	}
	return err
}

// stillHolds returns an error if another process may have taken over the run,
// because this one was frozen. It must then make no external calls for the run.
func (r *Runner) checkRunHeld(ctx context.Context, runID string, attempt int64) error {
	return r.checkHeld(ctx, "confirming "+runID, func() error { return r.store.HoldRun(ctx, runID, attempt) })
}

// confirm checks in the store that this process still holds something, if the
// last heartbeat is so old that another process may have taken over. It sends a
// heartbeat first, which prevents later takeovers. Times are from the monotonic
// clock.
func (r *Runner) checkHeld(ctx context.Context, what string, find func() error) error {
	if !r.shared || time.Since(r.epoch)-time.Duration(r.lastHeartbeat.Load()) < r.cfg.InstanceTimeout {
		return nil
	}
	return r.retry(ctx, what, func() error {
		if err := r.heartbeat(ctx); err != nil {
			return err
		}
		return find()
	})
}

// loop calls f again and again until the Runner stops.
func (r *Runner) loop(ctx context.Context, every time.Duration, f func(context.Context) error) {
	r.loops.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if err := f(ctx); err != nil && ctx.Err() == nil {
				r.log.Error("background work", "error", err)
			}
		}
	})
}

// Draining tells whether Drain has begun.
func (r *Runner) Draining() bool { return r.draining.Load() }

// refusal returns why no run can be accepted now, or nil.
func (r *Runner) checkAccepting() error {
	if !r.Accepts() {
		return drainingError()
	}
	if blocked := r.startError.Load(); blocked != nil {
		return blocked
	}
	return nil
}

// Accepts tells whether runs may be started here. Of several instances the
// others work on what one that shuts down still accepts, since a proxy takes
// seconds to see that it does; alone it would keep callers waiting.
func (r *Runner) Accepts() bool { return r.shared || !r.Draining() }

// Drain lets running steps finish, hands the rest of their runs back to the
// queue and stops. Steps that ctx does not leave time for are aborted; they
// run again elsewhere.
func (r *Runner) Drain(ctx context.Context) error {
	r.mu.Lock() // no trial begins after this
	again := r.draining.Swap(true)
	r.mu.Unlock()
	if again {
		return nil
	}
	close(r.drain)
	err := r.cfg.Queue.stop(ctx, abortTimeout)
	r.waitDetached(ctx)
	r.stopLoops()
	r.endLifetime()
	r.loops.Wait()
	done, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	r.waitDetached(done) // those that were aborted
	if e := r.store.HandBack(done, r.runsToHandBack()); e != nil {
		err = errors.Join(err, fmt.Errorf("hand runs back: %w", e))
	}
	if e := r.store.LeaveInstance(done, r.cfg.Instance); e != nil {
		err = errors.Join(err, fmt.Errorf("leave: %w", e))
	}
	return err
}

func (r *Runner) runsToHandBack() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.handBack)
}

// listen hears of runs that other processes wrote.
func (r *Runner) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.store.Listen(ctx, func(runID string) {
			if runID == "" {
				r.broker.notifyAll()
			} else {
				r.broker.notify(runID)
			}
		})
		if err != nil && ctx.Err() == nil {
			r.log.Warn("listening for runs of other instances was interrupted", "error", err)
			sleep(ctx, time.Second)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
