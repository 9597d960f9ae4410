package jobs

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sluice/flow"
	"sluice/flow/busy"
	"sluice/flow/engine"
	"sluice/flow/fairness"
	"sluice/flow/filelinks"
	"sluice/flow/inflight"
	"sluice/flow/triggers"
)

// Config configures a Runner. Fields without a default are required, except
// where nil is explained.
type Config struct {
	Store   Store
	Queue   *Queue
	Kinds   *flow.Registry
	Secrets *flow.Resolver
	// ProviderOf returns the provider whose credential a node uses unless it names one, or "".
	// Nil means that no node uses one.
	ProviderOf func(n *flow.Node) string
	Files      flow.FileStore
	Links      *filelinks.Signer // adds download links to webhooks that hold files
	Prices     flow.PriceStore
	// HashKey is the key of hashes over secret inputs and requests; it must be the
	// same on all instances. Default: the key of Links.
	HashKey []byte
	Fetcher flow.Fetcher // for files given by URL; nil refuses them
	// CheckURL returns an error for a URL that must not be fetched, such as one
	// with a private address. It looks nothing up. Nil accepts all.
	CheckURL func(address string) error
	HTTP     *http.Client // for webhooks: guarded by package outbound, follows no redirects
	Instance string       // identifies this process among those that share the database
	Workers  int          // number of runs executed concurrently
	Shared   bool         // other processes may work on the same database
	Log      *slog.Logger
	Now      func() time.Time // default: the store's clock
	Jitter   func() float64   // in [0,1), for the back-off of webhooks; default: random
	// Backoff returns the wait after a number of failed attempts at a delivery, or
	// false when there are no more attempts; default flow.DeliveryPause.
	Backoff func(failed int64, jitter float64) (time.Duration, bool)
	// EndpointBackoff returns the wait before the next attempt at an endpoint after a
	// number of consecutive failures; default flow.EndpointPause.
	EndpointBackoff func(failures int64) time.Duration
	// Busy records which runs are at work in this process, for the recovery after a
	// crash; by default the marks do not survive a crash.
	Busy *busy.Marks
	// Widened is flow.Engine.Widened.
	Widened func(ctx context.Context, run *flow.Run) (map[string][]string, error)
	// Calls is flow.Engine.Calls.
	Calls func(ctx context.Context, before func(context.Context) error, working func(bool)) context.Context
	// Memory bounds the memory of the runs that have a worker; nil means that it is unlimited.
	Memory *inflight.Budget
	// Ending is closed at the beginning of a shutdown, before Drain: steps that compute for longer than
	// a moment are stopped, and Drain returns their runs to the queue. Nil if only Drain says so.
	Ending <-chan struct{}
	// InstanceTimeout is the time without a heartbeat after which other processes
	// take over from this one; default 20 s. It must equal the store's.
	InstanceTimeout time.Duration
	// DeliveryTimeout is how long one attempt to deliver a webhook may take; default 15 s.
	DeliveryTimeout time.Duration
	// ReconcileInterval is the interval between comparisons of the tables with the work that
	// this process has, if the database is shared; default 3 s.
	ReconcileInterval time.Duration
	// SuspectTimeout bounds the retries of all suspects of one recovery together;
	// default 30 s.
	SuspectTimeout time.Duration
	// Follow streams the text of a run that another instance works on, until that
	// instance no longer has the run or ctx ends; nil if instances have no
	// connections to each other.
	Follow func(ctx context.Context, peer flow.Peer, runID flow.RunID, receive func(flow.PeerText)) error
	// Evaluate evaluates an expression of an input of a schedule over variables. Nil: such inputs fail.
	Evaluate func(ctx context.Context, source string, variables map[string]any) (any, error)
	// StartTest starts the test of a schedule at a planned time; claim makes it start once. Nil: such schedules start nothing.
	StartTest func(ctx context.Context, t *triggers.Trigger, o *flow.Occurrence, claim string) (flow.Started, error)
	// Mail sends messages of alarms; nil if the operator set no mail server.
	Mail Mailer
	// PublicURL is the URL of the dashboard for links in messages, or "".
	PublicURL string
	// Tracer writes traces. Default: a traceparent that came with the start of a run is only passed on.
	Tracer Tracer
	// Observe is called for each event that metrics count; it must not block.
	// Default: nothing.
	Observe func(Observation)
}

// Observation is an event that metrics count: the end of a run (Run is set), the end of
// a step (Step), a rejected start (Rejected), or a finished delivery attempt (Delivery).
type Observation struct {
	Run      *flow.Run
	Step     *flow.Step
	Rejected flow.Code
	Delivery flow.DeliveryState // after the attempt
	Latency  time.Duration      // of the run from its creation, or of the attempt
}

// Runner accepts runs and executes them. It is safe for concurrent use and keeps
// nothing that a restart could not rebuild from the store.
type Runner struct {
	cfg       Config
	store     Store
	shared    bool
	ids       flow.IDs
	documents *documentCache
	tests     *testCache
	secrets   *secretFinder
	approvals approvals
	broker    *broker
	engine    *engine.Engine
	log       *slog.Logger

	ramp ramp // limits runs after an unclean end

	mu               sync.Mutex
	active           map[flow.RunID]*activeRun // runs that workers of this process have, by ID
	sending          map[string]int            // number of attempts at work, by delivery ID
	toRequeue        map[flow.RunID]int64      // attempt numbers of runs to return to the queue, by run ID
	retryingSuspects bool

	drain       chan struct{}      // closed when Drain begins; see Draining
	stopLoops   context.CancelFunc // set by Start
	loops       sync.WaitGroup
	lifetime    context.Context // ends with Drain
	endLifetime context.CancelFunc
	detached    sync.WaitGroup // runs executed outside the queue, and goroutines that wait for them

	recovered     bool                       // startWork has recovered; it may be repeated
	startError    atomic.Pointer[flow.Error] // why no run can be accepted yet
	epoch         time.Time                  // reference of lastHeartbeat, with a monotonic clock reading
	lastHeartbeat atomic.Int64               // start of the last successful heartbeat, as a time.Duration since epoch

	hasUnsaved  atomic.Bool // a run with save: false ended since the last clean-up
	lastUnsaved time.Time   // last call of EraseUnsaved; used only by eraseUnsaved
	lastSweep   time.Time   // last search for files that crashes left behind; used only by cleanUp
	lastPrune   time.Time   // last call of prune; used only by cleanUp
}

// activeRun is a run that a worker of this process has.
type activeRun struct {
	cancel   chan struct{} // closed to cancel the run
	once     sync.Once     // closes cancel
	stop     chan struct{} // closed to cancel the run after the turns of its agents
	stopOnce sync.Once
	wake     chan struct{} // sent on when child runs have ended
	live     *liveRun
}

// New makes a Runner. It works only after Start.
func New(cfg Config) *Runner {
	cfg = withDefaults(cfg)
	r := &Runner{
		cfg: cfg, store: cfg.Store, shared: cfg.Shared, log: cfg.Log,
		ids:       flow.IDs{Now: cfg.Now, Random: flow.NewIDs().Random},
		documents: newDocumentCache(cfg.Store, cfg.Kinds, cfg.ProviderOf),
		tests:     newTestCache(cfg.Store),
		broker:    newBroker(),
		active:    map[flow.RunID]*activeRun{}, sending: map[string]int{}, toRequeue: map[flow.RunID]int64{},
		drain: make(chan struct{}), epoch: time.Now(),
	}
	r.lifetime, r.endLifetime = context.WithCancel(context.Background())
	if cfg.Follow != nil {
		r.broker.runMirror = r.runMirror
	}
	r.approvals = approvals{cfg.Store, cfg.Links, cfg.HashKey}
	r.secrets = &secretFinder{cfg.Store, r.documents, cfg.Secrets, r.tests}
	r.engine = &engine.Engine{
		Journal: r, Secrets: cfg.Secrets, Files: cfg.Files, Prices: cfg.Prices, Budgets: rowBudgets{cfg.Store}, Costs: engine.NewCosts(), Limiter: cfg.Store, Fetcher: cfg.Fetcher, RunSecrets: cfg.Store.RunSecrets, UsedSecrets: r.secrets.ofRun, Approvals: r.approvals,
		Busy: cfg.Busy, Calls: suspectRetrier{r}.calls(), Emit: r.broker.emit, Now: r.now,
		Cases: r.tests.setting, Recordings: cfg.Store,
		Children: r.childRunsOf, Drain: r.drainChildren, Origin: r.originOf, Boundary: boundaryOf(r), Widened: r.widenedOf,
		Report: func(err error) { r.log.Error("engine error", "error", err) },
	}
	if r.engine.Traceparent = cfg.Tracer.Traceparent; cfg.Tracer != (passOn{}) {
		r.engine.RunEnded = cfg.Tracer.RunEnded
	}
	if cfg.Shared {
		r.engine.MayCall = r.checkRunHeld
	}
	r.hasUnsaved.Store(true) // a previous process may have left some
	cfg.Queue.startJob = r.startJob
	return r
}

// withDefaults returns cfg with its unset fields filled. The key of hashes defaults to that
// of Links, and Busy to marks that no other process sees.
func withDefaults(cfg Config) Config {
	if cfg.HashKey == nil && cfg.Links != nil {
		cfg.HashKey = cfg.Links.Key
	}
	if cfg.Now == nil {
		cfg.Now = cfg.Store.Now
	}
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	if cfg.Backoff == nil {
		cfg.Backoff = flow.DeliveryPause
	}
	if cfg.EndpointBackoff == nil {
		cfg.EndpointBackoff = fairness.EndpointPause
	}
	if cfg.Tracer == nil {
		cfg.Tracer = passOn{}
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Observation) {}
	}
	if cfg.Evaluate == nil {
		cfg.Evaluate = func(context.Context, string, map[string]any) (any, error) {
			return nil, flow.Errorf(flow.CodeExpressionFailed, "This server evaluates no expressions.")
		}
	}
	if cfg.Busy == nil {
		cfg.Busy = busy.NewMarks(make([]byte, busy.RegionSize(2*cfg.Workers)))
	}
	cfg.InstanceTimeout = cmp.Or(cfg.InstanceTimeout, 20*time.Second)
	cfg.DeliveryTimeout = cmp.Or(cfg.DeliveryTimeout, deliveryTimeout)
	cfg.ReconcileInterval = cmp.Or(cfg.ReconcileInterval, reconcileInterval)
	cfg.SuspectTimeout = cmp.Or(cfg.SuspectTimeout, suspectTimeout)
	return cfg
}

// now returns the time at the precision of the store, microseconds, so that a
// value returned from memory equals the one read back.
func (r *Runner) now() time.Time { return r.cfg.Now().UTC().Truncate(time.Microsecond) }

// Draining reports whether Drain has begun.
func (r *Runner) Draining() bool {
	select {
	case <-r.drain:
		return true
	default:
		return false
	}
}

// Busy returns how many workers of this process have a run.
func (r *Runner) Busy() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.active)
}

// Accepts reports whether runs may be started here. An instance that shuts down
// continues to accept runs if others can work on them, because a proxy takes
// seconds to stop sending requests; a single instance would keep callers waiting
// until its restart.
func (r *Runner) Accepts() bool { return r.shared || !r.Draining() }

// checkAccepting returns why no run can be accepted now, or nil.
func (r *Runner) checkAccepting() error {
	if !r.Accepts() {
		return &flow.Error{Code: flow.CodeDraining, Message: "This instance is shutting down. Try again in a moment.", Retryable: true, After: time.Second}
	}
	if err := r.startError.Load(); err != nil {
		return err
	}
	return nil
}
