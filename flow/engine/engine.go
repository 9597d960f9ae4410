package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/busy"
	"sluice/flow/inflight"
	"sluice/flow/redaction"
	"sluice/flow/worktime"
)

// Journal persists the progress of runs.
type Journal interface {
	// WriteRun commits a write atomically; a nil error guarantees that it is on disk only if
	// the write is Durable. It returns ErrFenced if another worker has claimed the run, so
	// that this worker must release it, and ErrCancelRequested as described at flow.RunWrite.
	WriteRun(ctx context.Context, w flow.RunWrite) error
}

// CallLimiter enforces the limits of credentials on calls across all instances.
type CallLimiter interface {
	// TakeCall begins a call and returns its ID, or returns how long the step must wait before
	// it tries again. Calls of one credential are served in the order of their first try.
	// A call that EndCall does not end expires after lease.
	TakeCall(ctx context.Context, ws flow.WorkspaceID, credential string, runID flow.RunID, path string, lease time.Duration) (id string, wait time.Duration, err error)
	EndCall(ctx context.Context, id string) error
}

// Outcome is the reason for which Execute returned.
type Outcome int

const (
	Ended      Outcome = iota // the run has ended, and its end is committed
	Suspended                 // the run waits without a worker; its wake-up time is committed
	HandedBack                // the worker released the run, for example to shut down; another worker can resume it
)

// Engine executes plans: it runs steps, persists progress and reacts to signals. Its fields
// must not change once it is in use; it is then safe for concurrent use by many runs.
type Engine struct {
	Journal Journal
	Secrets *flow.Resolver
	Files   flow.FileStore
	Prices  flow.PriceStore
	Budgets flow.BudgetStore // nil if there are no budgets
	Costs   *Costs           // of earlier steps; nil remembers none
	Limiter CallLimiter      // nil if no credential has limits
	// RunSecrets decrypts the secret inputs of a run and returns them by name.
	RunSecrets func(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (map[string]string, error)
	// UsedSecrets returns the secrets that a run and the other runs of its tree may have used. more
	// reports that later calls may return more, because the tree grows. Nil returns none.
	UsedSecrets func(ctx context.Context, run *flow.Run) (secrets []string, more bool, err error)
	// Cases returns what the steps of a run of a test case need, or nil if its test no longer exists. Recordings has their results.
	Cases      func(ctx context.Context, run *flow.Run) (*flow.CaseSetting, error)
	Recordings flow.RecordingStore
	Fetcher    flow.Fetcher // nil if inputs cannot name files by URL
	Approvals  flow.Approvals
	// Children returns the interface by which a step starts child runs; nil if no step can.
	Children func(run *flow.Run, in *flow.In) flow.ChildRuns
	// Drain reports whether child runs of a run are still running; nil if no step can start
	// child runs.
	Drain func(ctx context.Context, run *flow.Run) (running bool, err error)
	// Origin returns the origin of the step at a path of a run; nil if no kind uses it.
	Origin func(ctx context.Context, run *flow.Run, path string) (flow.Origin, error)
	// Boundary returns the boundary of content from outside in requests of a node of a run; see flow.In.
	Boundary func(ctx context.Context, run *flow.Run, node string) (string, error)
	// Widened implements flow.In.Widened. A nil Widened finds nothing.
	Widened func(ctx context.Context, run *flow.Run) (map[string][]string, error)
	// Emit receives the text that a step streams while it runs. Secrets are redacted in it.
	Emit func(runID flow.RunID, path string, attempt int, text string)
	Now  func() time.Time
	// Busy records which runs execute code inside this process; nil records nothing.
	Busy *busy.Marks
	// Calls returns a context for a step that calls external services. before
	// is called before each request sent with it; an error stops the request.
	// working is called with true when the step begins to process received data and
	// with false when it waits for more. A nil Calls leaves the context unchanged.
	Calls func(ctx context.Context, before func(context.Context) error, working func(bool)) context.Context
	// MayCall returns an error if the worker may have lost the run, so that it
	// must not call an external service; nil allows all calls.
	MayCall func(ctx context.Context, runID flow.RunID, attempt int64) error
	// Traceparent returns the trace context for the requests that an attempt at a step sends, or "". Nil returns "".
	Traceparent func(run *flow.Run, path, kind string, attempt int) string
	// RunEnded receives each run whose end this engine has recorded, with all of its steps; it may be nil. It must not block,
	// nor change or keep what it receives.
	RunEnded func(run *flow.Run, steps []flow.Step)
	// Report receives errors that no input of a run caused, such as panics of kinds and
	// failed writes that are retried.
	Report func(err error)
}

// Signals reach a run during Execute. The sender closes Cancel, Stop, Hold and Ending, and sends on Wake.
type Signals struct {
	Cancel <-chan struct{} // end the run as canceled
	Stop   <-chan struct{} // end the run as canceled after the turns of its agents
	Hold   <-chan struct{} // start no more steps and release the run; includes Ending
	Ending <-chan struct{} // stop steps that compute for long, and release their runs; see stopComputing
	Wake   <-chan struct{} // check the waiting steps again
	// Memory counts what the values of the run take. The inputs and the recorded outputs are
	// counted already; nil counts nothing.
	Memory *inflight.Hold
}

// execution is the state of one Execute call. Its fields belong to the goroutine of the run;
// the goroutines of steps only send on its channels.
type execution struct {
	*Engine
	plan         *Plan
	sig          Signals
	results      chan result                // made when the first step is started, as is aborts
	saves        chan saveRequest           // of started steps; made with results
	mark         *busy.Mark                 // of the run
	pendingSaves []chan<- error             // told once the next record is on disk
	aborts       map[int]context.CancelFunc // of started steps, by node
	computing    map[int]time.Time          // when started steps that can be repeated began, by node
	stopped      map[int]bool               // started steps that stopComputing has stopped
	ending       bool                       // the process ends
	secrets      *redaction.Redactor        // knows every secret that the run has used
	loading      sync.Mutex                 // guards loaded and loadedOnce
	loaded       bool                       // secrets has all that UsedSecrets will return
	loadedOnce   bool                       // secrets has what UsedSecrets returned at some time of this execution
	// uncertain is set after a failed write, which may have been committed anyway.
	uncertain bool
	setting   *flow.CaseSetting // of a case run
	sessions  flow.Sessions     // of the steps with servers
	weigher   inflight.Weigher  // of values that count in sig.Memory
}

// saveRequest asks the goroutine of the run to persist the state of a step. done receives nil
// once the state is on disk, or an error when the worker releases the run before that.
type saveRequest struct {
	node  int
	state any
	done  chan<- error
}

// result is the outcome of a started step, sent by the goroutine of the step.
type result struct {
	node  int
	out   flow.Out
	err   error
	lease *inflight.Lease // memory of the step until its outputs are counted
}

// Execute runs a plan until the run ends, suspends or must be released. When ctx ends,
// started steps are aborted and nothing more is recorded; another worker repeats the steps
// whose results were not recorded. It returns ErrFenced if another worker has claimed the run.
func (e *Engine) Execute(ctx context.Context, p *Plan, sig Signals) (Outcome, error) {
	if ahead := p.latestTime.Sub(e.Now()); ahead > 0 && !p.latestTime.IsZero() {
		e = e.withClockAhead(ahead)
	}
	c := &execution{Engine: e, plan: p, sig: sig, mark: e.Busy.Open(string(p.run.ID)), secrets: &redaction.Redactor{}}
	defer c.mark.Close()
	c.countRecorded()
	ctx, stop := context.WithCancel(ctx)
	defer c.sessions.Close()
	defer c.drain()
	defer c.failPendingSaves()
	defer stop()
	if err := c.loadCase(ctx); err != nil {
		return HandedBack, err
	}
	for {
		if err := ctx.Err(); err != nil { // from here on, steps fail only because their contexts ended
			return HandedBack, err
		}
		c.poll()
		switch a := p.Next(e.Now()); a.Type {
		case ActInline:
			c.finish(c.run(ctx, ctx, a, c.needs(a.In)))
		case ActStart:
			c.start(ctx, a)
		case ActExpand:
			c.expand(a)
		case ActAbort:
			c.abort(a.Nodes)
		case ActRecord:
			err := c.record(ctx, a.Write)
			if errors.Is(err, flow.ErrCancelRequested) { // while the end could not be recorded
				p.CancelEnd()
				continue
			}
			if err != nil {
				return HandedBack, err
			}
			p.Recorded()
			c.resolvePendingSaves(nil)
			if a.Write.End && c.RunEnded != nil {
				c.RunEnded(a.Write.Run, stepsOf(p))
			}
		case ActAbandon:
			if err := c.record(ctx, p.Fence()); err != nil { // another worker may be using the external work
				return HandedBack, err
			}
			c.cleanup(ctx, a)
		case ActWait:
			if p.Held() {
				return HandedBack, nil
			}
			c.wait(ctx, a.Until)
		case ActDrain:
			running, err := c.childrenRun(ctx)
			if err != nil {
				return HandedBack, err
			}
			p.Drained(running, e.Now())
		case ActSuspend:
			return Suspended, nil
		case ActEnd:
			return Ended, nil
		}
	}
}

// childrenRun reports whether child runs of the run are still running. It retries during
// database outages, because the run cannot end without an answer.
func (c *execution) childrenRun(ctx context.Context) (bool, error) {
	if c.Drain == nil {
		return false, nil
	}
	return c.Drain(flow.OutlastOutages(ctx), &c.plan.run)
}

// withClockAhead returns a copy of the engine whose clock is ahead by d. It is used for a run
// that was started on a machine with a faster clock, so that no recorded end precedes its start.
func (e *Engine) withClockAhead(d time.Duration) *Engine {
	own, now := *e, e.Now
	own.Now = func() time.Time { return now().Add(d) }
	return &own
}

// poll handles a pending signal without blocking, so that a long chain of inline steps can be
// canceled.
func (c *execution) poll() {
	select {
	case <-c.sig.Cancel:
		c.cancel()
	case <-c.sig.Stop:
		c.stopLater()
	case <-c.sig.Hold:
		c.hold()
	default:
	}
}

// cancel, stopLater and hold pass a signal to the plan once. They set the channel to nil, which is never
// ready in a select, so that a closed channel does not make the loop spin.
func (c *execution) cancel()    { c.sig.Cancel = nil; c.plan.Cancel() }
func (c *execution) stopLater() { c.sig.Stop = nil; c.plan.StopAfterTurn() }
func (c *execution) hold()      { c.sig.Hold, c.ending = nil, true; c.plan.Hold() }

// wait blocks until the next event and handles it: the end of a step, a save request, the
// timer, a wake-up, a signal or the end of ctx. The loop then asks the plan again.
func (c *execution) wait(ctx context.Context, until time.Time) {
	if c.ending {
		until = c.stopComputing(until)
	}
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(until.Sub(c.Now()))
		defer t.Stop()
		timer = t.C
	}
	select {
	case r := <-c.results:
		c.aborts[r.node]()
		delete(c.aborts, r.node)
		delete(c.computing, r.node)
		if c.stopped[r.node] && r.err != nil {
			r.lease.Close()
			c.plan.Release(r.node)
			return
		}
		c.finish(r)
	case s := <-c.saves:
		c.plan.Save(s.node, s.state)
		c.pendingSaves = append(c.pendingSaves, s.done)
	case <-timer:
	case <-c.sig.Wake:
		c.plan.Wake(c.Now())
	case <-c.sig.Cancel:
		c.cancel()
	case <-c.sig.Stop:
		c.stopLater()
	case <-c.sig.Hold:
		c.hold()
	case <-c.sig.Ending:
		c.sig.Ending, c.ending = nil, true
	case <-ctx.Done():
	}
}

// moment is how long a step may compute once the process ends.
const moment = time.Second

// stopComputing stops the steps that have computed for longer than a moment, because the process ends: they
// might need more time than it has, and the next process can repeat them. Other steps of the run may finish. It
// returns when to look again, until at the latest.
func (c *execution) stopComputing(until time.Time) time.Time {
	now := c.Now()
	for i, start := range c.computing {
		switch due := start.Add(moment); {
		case c.stopped[i]:
		case !now.Before(due):
			c.plan.Hold()
			c.stopped[i] = true
			c.aborts[i]()
		case until.IsZero() || due.Before(until):
			until = due
		}
	}
	return until
}

// finish counts the memory of a result and passes it to the plan.
func (c *execution) finish(r result) {
	c.count(&r)
	c.plan.Finish(r.node, r.out, r.err, c.Now())
}

// start runs a step in its own goroutine. The result channel is buffered for the maximum
// number of running steps, so that no goroutine blocks after the loop has ended.
func (c *execution) start(ctx context.Context, a Action) {
	if c.results == nil {
		c.results, c.aborts = make(chan result, flow.StepParallel), map[int]context.CancelFunc{}
		c.computing, c.stopped = map[int]time.Time{}, map[int]bool{}
		c.saves = make(chan saveRequest)
	}
	whole, abort := context.WithCancel(ctx)
	limited, stop := worktime.WithLimit(whole, a.def.timeLimit())
	c.aborts[a.Node] = func() { stop(); abort() }
	if a.class == flow.Compute || a.def.kind.Repeatable {
		c.computing[a.Node] = c.Now()
	}
	needs := c.needs(a.In)
	go func() { c.results <- c.run(whole, limited, a, needs) }()
}

// abort cancels the contexts of started steps. Their results still arrive.
func (c *execution) abort(nodes []int) {
	for _, i := range nodes {
		c.aborts[i]()
	}
}

// drain waits for started steps, so that no step is still running when the worker releases
// the run.
func (c *execution) drain() {
	for range c.aborts {
		r := <-c.results
		r.lease.Close()
	}
}

// record persists a write. Transient errors (a full disk, a busy database) are retried with
// back-off until ctx ends, because paid results must not be lost; a permanent error is
// returned after flow.PermanentTries tries. ErrFenced and ErrCancelRequested are returned at
// once.
func (c *execution) record(ctx context.Context, w *flow.RunWrite) error {
	if c.sig.Memory != nil {
		done, err := c.awaitTurn(ctx, w)
		if err != nil {
			return err
		}
		defer done()
	}
	permanent := 0
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := c.Journal.WriteRun(ctx, *w)
		if err == nil {
			c.uncertain = false
		}
		if flow.IsPermanent(err) {
			permanent++
		}
		if err == nil || errors.Is(err, flow.ErrFenced) || errors.Is(err, flow.ErrCancelRequested) || permanent == flow.PermanentTries {
			return err
		}
		c.uncertain = true
		c.Report(fmt.Errorf("record progress of %s, trying again: %w", w.Run.ID, err))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
