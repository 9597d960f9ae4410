package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"sluice/flow"
	"sluice/flow/busy"
)

// Journal writes a run's progress down.
type Journal interface {
	// WriteRun is atomic. When it returns nil, the write is committed, and on
	// disk if it is Durable. ErrFenced means this worker must let go.
	WriteRun(ctx context.Context, w flow.RunWrite) error
}

// CallLimiter lets calls with credentials that have limits wait for their turn, on all
// instances together.
type CallLimiter interface {
	// TakeCall begins a call of a step, or returns how long the step waits before it asks
	// again. Calls of one credential are served in the order in which they first asked.
	// After lease the call counts as lost.
	TakeCall(ctx context.Context, ws flow.WorkspaceID, credential, runID, path string, lease time.Duration) (id string, wait time.Duration, err error)
	EndCall(ctx context.Context, id string) error
}

// Outcome is why the engine let go of a run.
type Outcome int

const (
	Ended      Outcome = iota // its end is recorded
	Suspended                 // it waits; its wake-up is recorded
	HandedBack                // the worker shuts down; what is recorded stays
)

// Engine carries a plan's decisions out.
type Engine struct {
	Journal Journal
	Secrets *flow.Resolver
	Files   flow.FileStore
	Prices  flow.PriceStore
	Budgets flow.BudgetStore // nil if there are no budgets
	Limiter CallLimiter      // nil if no credential has limits
	// RunSecrets opens the secret inputs of a run, by name.
	RunSecrets func(ctx context.Context, ws flow.WorkspaceID, runID string) (map[string]string, error)
	Fetcher    flow.Fetcher // nil if files cannot be given by URL
	Approvals  flow.Approvals
	// Children returns what lets a step of a run start child runs; nil if none can.
	Children func(run *flow.Run, in *flow.In) flow.ChildRuns
	// Drain reports whether child runs of a run still run; nil if no step can start any.
	Drain func(ctx context.Context, run *flow.Run) (running bool, err error)
	// Origin returns the origin of a step of a run, by its path; nil if nothing asks.
	Origin func(ctx context.Context, run *flow.Run, path string) (flow.Origin, error)
	// Emit is told of text that a step passes on while it works.
	Emit func(runID, path string, attempt int, text string)
	Now  func() time.Time
	// Busy records which runs work inside this process; nil records nothing.
	Busy *busy.Marks
	// Calls returns a context for a step that calls external services. before
	// is called before each request sent with it; an error stops the request.
	// working is called with whether the step processes received data or waits
	// for more. Nil leaves the context unchanged.
	Calls func(ctx context.Context, before func(context.Context) error, working func(bool)) context.Context
	// MayCall returns an error if the worker may have lost the run, so that it
	// must not call an external service; nil allows all calls.
	MayCall func(ctx context.Context, runID string, attempt int64) error
	// Report receives errors that no input caused: panics of kinds, writes
	// that had to be repeated.
	Report func(err error)
}

// Signals reach a run while it is carried out. Cancel and Hold are closed, not sent on.
type Signals struct {
	Cancel <-chan struct{} // end it as canceled
	Hold   <-chan struct{} // start nothing more and hand it back
	Wake   <-chan struct{} // not closed but sent on: look again at the steps that wait
}

// execution is one run being carried out.
type execution struct {
	*Engine
	plan    *Plan
	sig     Signals
	results chan result                // made when the first step is started, as is aborts
	saves   chan saving                // of started steps; made with results
	mark    *busy.Mark                 // of the run
	unsaved []chan<- error             // told once the next record is on disk
	aborts  map[int]context.CancelFunc // of started steps, by node
	// doubtful is a write that failed: what it holds may be on disk all the same.
	doubtful bool
}

// saving is what a step must not forget, and how it is told that this is on
// disk, or that it never will be.
type saving struct {
	node  int
	state any
	done  chan<- error
}

// result is what the goroutine of a started step sends when the step is over.
type result struct {
	node int
	out  flow.Out
	err  error
}

// Execute carries a run until it ends, suspends or must be handed back. When ctx
// ends, started steps are aborted and nothing more is recorded: what was not
// recorded runs again elsewhere.
func (e *Engine) Execute(ctx context.Context, p *Plan, sig Signals) (Outcome, error) {
	if ahead := p.newest.Sub(e.Now()); ahead > 0 && !p.newest.IsZero() {
		e = e.ahead(ahead)
	}
	c := &execution{Engine: e, plan: p, sig: sig, mark: e.Busy.Open(p.run.ID)}
	defer c.mark.Close()
	ctx, stop := context.WithCancel(ctx)
	defer c.drain()
	defer c.failPendingSaves()
	defer stop()
	for {
		if err := ctx.Err(); err != nil { // what steps say from here on is about their ctx
			return HandedBack, err
		}
		c.poll()
		switch a := p.Next(e.Now()); a.Type {
		case ActInline:
			out, err := c.run(ctx, a)
			p.Finish(a.Node, out, err, e.Now())
		case ActStart:
			c.start(ctx, a)
		case ActAbort:
			c.abort(a.Nodes)
		case ActRecord:
			if err := c.record(ctx, a.Write); err != nil {
				return HandedBack, err
			}
			p.Recorded()
			c.resolvePendingSaves(nil)
		case ActAbandon:
			if err := c.record(ctx, p.Fence()); err != nil { // another worker may follow what would be given up
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

// childrenRun reports whether child runs of the run still run. It outlasts outages of the
// database: without an answer, the run cannot end.
func (c *execution) childrenRun(ctx context.Context) (bool, error) {
	if c.Drain == nil {
		return false, nil
	}
	return c.Drain(flow.OutlastOutages(ctx), &c.plan.run)
}

// ahead returns an engine whose clock is not behind the times recorded in a
// run, so that a run that a machine with a faster clock began does not end
// before it began.
func (e *Engine) ahead(d time.Duration) *Engine {
	own, now := *e, e.Now
	own.Now = func() time.Time { return now().Add(d) }
	return &own
}

// poll hears signals without waiting, so that a long chain of inline steps can
// be canceled.
func (c *execution) poll() {
	select {
	case <-c.sig.Cancel:
		c.cancel()
	case <-c.sig.Hold:
		c.hold()
	default:
	}
}

// cancel and hold pass a signal to the plan once: a nil channel never becomes ready in a
// select, so a closed channel does not make the loop spin.
func (c *execution) cancel() { c.sig.Cancel = nil; c.plan.Cancel() }
func (c *execution) hold()   { c.sig.Hold = nil; c.plan.Hold() }

// wait blocks until something happens that the plan may have to react to: a step ends or
// saves, a timer or a wake-up, a signal, or the end of the context. It handles exactly one event,
// and the loop then asks the plan again.
func (c *execution) wait(ctx context.Context, until time.Time) {
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(until.Sub(c.Now()))
		defer t.Stop()
		timer = t.C
	}
	select {
	case r := <-c.results:
		c.finish(r)
	case s := <-c.saves:
		c.plan.Save(s.node, s.state)
		c.unsaved = append(c.unsaved, s.done)
	case <-timer:
	case <-c.sig.Wake:
		c.plan.Wake(c.Now())
	case <-c.sig.Cancel:
		c.cancel()
	case <-c.sig.Hold:
		c.hold()
	case <-ctx.Done():
	}
}

// finish tells the plan the outcome of a started step and releases its context.
func (c *execution) finish(r result) {
	c.aborts[r.node]()
	delete(c.aborts, r.node)
	c.plan.Finish(r.node, r.out, r.err, c.Now())
}

// start runs a step on a goroutine of its own. The result channel has room for as many
// results as steps may run, so that no goroutine blocks after the loop has ended.
func (c *execution) start(ctx context.Context, a Action) {
	if c.results == nil {
		c.results, c.aborts = make(chan result, flow.StepParallel), map[int]context.CancelFunc{}
		c.saves = make(chan saving)
	}
	ctx, c.aborts[a.Node] = context.WithTimeout(ctx, c.plan.TimeLimit(a.Node))
	go func() {
		out, err := c.run(ctx, a)
		c.results <- result{a.Node, out, err}
	}()
}

// abort cancels the contexts of started steps. Their results still arrive.
func (c *execution) abort(nodes []int) {
	for _, i := range nodes {
		c.aborts[i]()
	}
}

// drain waits for started steps, so that nothing of a run continues after its
// worker let go of it.
func (c *execution) drain() {
	for range c.aborts {
		<-c.results
	}
}

// record retries a write that failed for a transient reason (a full disk, a
// busy database): paid results must not be lost. A permanent error is returned
// after a few tries.
func (c *execution) record(ctx context.Context, w *flow.RunWrite) error {
	permanent := 0
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := c.Journal.WriteRun(ctx, *w)
		if err == nil {
			c.doubtful = false
		}
		if flow.IsPermanent(err) {
			permanent++
		}
		if err == nil || errors.Is(err, flow.ErrFenced) || permanent == flow.PermanentTries {
			return err
		}
		c.doubtful = true
		c.Report(fmt.Errorf("record progress of %s, trying again: %w", w.Run.ID, err))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run does one node's job. A panic is the kind's bug and fails the step alone.
// What the step reads of the store, such as credentials, budgets and files, is
// read again until it succeeds: the run was accepted, so an outage of the
// database must not fail it.
func (c *execution) run(ctx context.Context, a Action) (out flow.Out, err error) {
	n := &c.plan.g.nodes[a.Node]
	defer func() {
		if r := recover(); r != nil {
			c.Report(fmt.Errorf("kind %s panicked at %s: %v\n%s", n.Kind, a.In.Key, r, debug.Stack()))
			err = flow.Errorf(flow.CodeInternal, "The node kind %s has a fault. The log has the details.", n.Kind)
		}
	}()
	ctx, done := c.track(flow.OutlastOutages(ctx), a.Node)
	defer done()
	secrets, spoken := c.bindCapabilities(ctx, a)
	defer c.limitCalls(ctx, a)()
	if err = c.checkBudget(ctx, n, a.In); err == nil {
		err = c.fetchArrived(ctx, n, a.In)
	}
	if err == nil {
		out, err = n.kind.Run(ctx, a.In)
	}
	if delay, ok := errors.AsType[*flow.DelayError](err); ok && ctx.Err() == nil {
		out, err = flow.Out{Suspend: &flow.Suspension{Until: c.Now().Add(delay.Wait)}}, nil
	}
	if err == nil {
		err = outputValues(&out)
	}
	if err == nil {
		err = n.deliveriesMayName(out.Deliveries)
	}
	if err == nil {
		spoken()
		return redactOut(out, secrets), nil
	}
	out, err = redactOut(out, secrets), redactError(err, secrets)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return out, &flow.Error{Code: flow.CodeStepTimeout, Retryable: true, Message: fmt.Sprintf("The step took longer than its time limit of %s.", c.plan.TimeLimit(a.Node))}
	}
	if flow.AsError(err).Code == flow.CodeInternal && ctx.Err() == nil {
		c.Report(fmt.Errorf("step %s: %w", a.In.Key, err))
	}
	return out, err
}

// track marks the run busy while a step works in this process: an inline or
// compute step throughout, an outside step once a response arrives. A step that
// waits for a response cannot crash the process.
func (c *execution) track(ctx context.Context, node int) (_ context.Context, done func()) {
	if c.plan.nodes[node].class != flow.Outside {
		c.mark.Enter()
		return ctx, c.mark.Leave
	}
	if c.Calls == nil {
		return ctx, func() {}
	}
	a := &activity{mark: c.mark}
	return c.Calls(ctx, c.mayCall, a.set), a.end
}

// mayCall is asked before each request that leaves the process: a worker that may have lost
// the run must not call a paid service a second time.
func (c *execution) mayCall(ctx context.Context) error {
	if c.MayCall == nil {
		return nil
	}
	return c.MayCall(ctx, c.plan.run.ID, c.plan.run.Attempt)
}

// TimeLimit is how long a step of the node may take.
func (p *Plan) TimeLimit(i int) time.Duration {
	n := &p.g.nodes[i]
	switch {
	case n.TimeoutS > 0:
		return time.Duration(n.TimeoutS * float64(time.Second))
	case n.kind.Timeout > 0:
		return n.kind.Timeout
	}
	return flow.StepTimeout
}
