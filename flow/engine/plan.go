package engine

import (
	"slices"
	"time"

	"sluice/flow"
)

// ActionType is what the caller of a plan must do next.
type ActionType int

const (
	ActWait    ActionType = iota // wait for an event, or until Action.Until if it is set
	ActInline                    // run Action.In synchronously and call Finish
	ActStart                     // run Action.In in a goroutine and call Finish when it is done
	ActRecord                    // commit Action.Write and call Recorded; retry until it is committed
	ActAbort                     // cancel the started steps of Action.Nodes; Finish still follows for each
	ActAbandon                   // clean up after the steps in Action.Abandoned, which will not continue
	ActDrain                     // find out whether child runs are still running and call Drained
	ActSuspend                   // release the worker; there is nothing to do before Action.Until
	ActEnd                       // the run has ended and its end is recorded
	ActExpand                    // call Expand of the kind with Action.In and Action.So, and Expanded with the result
)

// Action is what the caller of a plan must do next. Which fields are set depends on Type.
type Action struct {
	Type  ActionType
	Node  int // of a step: its index in the plan
	In    *flow.In
	So    *flow.Expansion
	Write *flow.RunWrite
	Nodes []int // to abort
	Until time.Time
	// Abandoned holds failed and canceled steps that saved a state or may have started runs.
	Abandoned []Action

	def   *graphNode // of the step, because the plan may grow while the step runs
	class flow.Class
}

// Plan decides what a run does next: graph and step states in, actions out. It has no side
// effects, no clock and no concurrency, so that tests can try every order of events. The
// caller calls Next until it returns ActWait, ActSuspend or ActEnd, and reports events through
// Finish, Recorded, Save, Wake, Drained, Cancel, StopAfterTurn and Hold. It is not safe for concurrent use.
//
// A step that may run moves through the lists below: ready; announce, so that the next write records
// it as running; start, once that write is committed; and after Finish dirty, so that the next write
// records its result. The result of a step with external effects is also in settling: nothing that
// depends on it starts before it is on disk, because a crash would otherwise repeat the effect with
// another outcome. Inline steps go from inline to dirty at once: repeating them only takes time.
type Plan struct {
	g     *Graph
	run   flow.Run
	reuse *Reuse
	nodes []planNode // steps of the nodes of the graph, in the same order, and after them sub-steps
	subs  subSteps

	inline   []int // ready and inline
	ready    []int // ready, not yet announced as running
	announce []int // to be recorded as running
	start    []int // recorded as running, to be started
	running  int   // number of steps that are announced or started
	open     int   // number of nodes whose steps have not ended
	pausing  int   // number of steps that wait for a time
	held     bool  // start no more steps: the worker is shutting down

	dirty      []int // steps whose rows changed since the last write
	settling   []int // ended with an external effect; dependents wait until it is recorded
	deliveries []flow.NewDelivery
	durable    bool
	progressed bool
	stateDirty bool     // the state of the run changed since the last write
	abandoned  []Action // steps that need cleanup in an external service
	write      *flow.RunWrite
	announced  []int // announce of the pending write
	settled    []int // settling of the pending write

	stop       *flow.Error   // why no more steps start; nil while the run continues
	endAs      flow.RunState // final state of a stopped run
	aborted    bool          // the started steps were canceled, or need not be
	graceful   bool          // running steps may finish, because they are being paid for
	ended      bool
	latestTime time.Time // latest time recorded for the run
	suspend    time.Time // wake-up time of the pending write, if the run waits after it
	drain      drainState
}

// planNode is the state of one node: its step as the next write records it, and what decides
// when it may run.
type planNode struct {
	def           *graphNode
	step          flow.Step
	in            *flow.In // input of the attempt; nil unless announced or running
	class         flow.Class
	edges         []edgeState
	undecided     int // number of undecided incoming edges
	decided       bool
	dirty         bool
	active        bool       // started and not finished
	interrupted   bool       // its worker died during an attempt; see Plan.countInterrupted
	cleanedUp     bool       // abandoned, with cleanup scheduled or done
	saved         bool       // has a row, or is in the pending write
	recordedUsage flow.Usage // usage in its row or in the pending write
	parent        int        // index of the expanding step, for a sub-step
	expansion     *expansion // of an expanding step, once it has begun
}

// edgeState is the state of one edge. An edge is decided once its source has ended. It is live
// if the source produced a value on the port; otherwise it is dead, because the source was
// skipped, failed or took another branch.
type edgeState struct {
	decided, live bool
	value         any
}

// Reuse holds the results that a rerun may reuse.
type Reuse struct {
	Steps  map[string]flow.Step // steps of the parent run, by path
	Forced map[string]bool      // nodes that run again regardless of their inputs
	from   string               // path of the first sub-step that runs again; empty for a node
}

// NewPlan returns a plan that continues a run from its recorded steps. A new run has none.
// reuse is nil unless the run is a rerun.
func NewPlan(g *Graph, run *flow.Run, steps []flow.Step, reuse *Reuse) *Plan {
	p := &Plan{g: g, run: *run, reuse: reuse, nodes: make([]planNode, len(g.nodes)), open: len(g.nodes), ended: run.State.Ended()}
	p.run.Outputs = run.Outputs.Clone()
	p.latestTime = latest(run.CreatedAt, run.StartedAt, run.WaitingSince)
	recorded := map[string]flow.Step{}
	for _, s := range steps {
		if !p.subs.add(s) {
			recorded[s.Path] = s
		}
		p.latestTime = latest(p.latestTime, s.StartedAt, s.EndedAt)
		if n := len(s.Attempts); n > 0 {
			p.latestTime = latest(p.latestTime, s.Attempts[n-1].StartedAt, s.Attempts[n-1].EndedAt)
		}
	}
	edges := make([]edgeState, g.edges)
	for i := range p.nodes {
		n := &g.nodes[i]
		p.nodes[i].def = n
		p.nodes[i].step = flow.Step{Path: n.ID, Node: n.ID, Kind: n.Kind, State: flow.StepPending, NodeHash: n.hash}
		p.nodes[i].edges, edges = edges[:len(n.in):len(n.in)], edges[len(n.in):]
		p.nodes[i].undecided = len(n.in)
		p.nodes[i].class = n.kind.Class
		if n.input != nil && len(n.input.RemoteFiles(run.Inputs.Get(n.input.Name))) > 0 {
			p.nodes[i].class = flow.Outside // the step fetches the files
		}
		if s, ok := recorded[n.ID]; ok {
			p.restore(i, s)
		}
	}
	if !run.State.Ended() && run.Error != nil { // its end was not recorded yet, or it waited for child runs
		p.Fail(run.Error)
	}
	if p.run.CancelRequested {
		p.Cancel()
	}
	for i := range p.nodes { // after all are restored, because the end of one may start another
		if p.nodes[i].step.State.Ended() {
			p.propagate(i)
		} else {
			p.decide(i)
		}
	}
	return p
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// restore loads a recorded step. A running step was interrupted, so it starts again with a new
// attempt number. A step whose failure fails the run stops the run again: the worker crashed
// before the end of the run was recorded.
func (p *Plan) restore(i int, s flow.Step) {
	n := &p.nodes[i]
	n.step, n.saved, n.recordedUsage = s, true, s.Usage
	switch {
	case s.State.Ended():
		n.decided = true
		p.open--
		if s.State == flow.StepFailed && n.def.OnError == nil {
			p.halt(s.Error, flow.RunFailed)
		}
	case n.def.kind.Expand != nil: // its sub-steps continue
	case s.State == flow.StepRunning:
		n.step.State, n.interrupted = flow.StepPending, interrupted(&s) && s.Saved == nil
	}
}

// Run returns the run with all changes of the plan, including unrecorded ones. The caller must
// not change it.
func (p *Plan) Run() *flow.Run { return &p.run }

// stepsOf returns the steps of the run, sub-steps included. Those that had ended before the plan was made are not among its nodes.
func stepsOf(p *Plan) []flow.Step {
	list := make([]flow.Step, len(p.nodes), len(p.nodes)+len(p.subs.recorded))
	placed := map[string]bool{}
	for i := range p.nodes {
		if list[i] = p.nodes[i].step; p.isSub(i) {
			placed[list[i].Path] = true
		}
	}
	for _, rows := range p.subs.recorded {
		for _, row := range rows {
			if !placed[row.Path] {
				list = append(list, row)
			}
		}
	}
	return list
}

// Cancel stops the run as canceled: running steps are aborted and no more steps start.
func (p *Plan) Cancel() {
	p.halt(flow.Errorf(flow.CodeRunCanceled, "The run was canceled."), flow.RunCanceled)
}

// Fail stops the run with an error that no step caused.
func (p *Plan) Fail(err *flow.Error) { p.halt(err, flow.RunFailed) }

// halt stops the run with a final state; the first call counts. If a budget is used up, running
// steps may finish, because they are being paid for; a later cancel still aborts them.
func (p *Plan) halt(err *flow.Error, as flow.RunState) {
	if p.stop != nil && !(p.graceful && as == flow.RunCanceled) {
		return
	}
	p.stop, p.endAs = err, as
	p.suspend = time.Time{}
	p.graceful, p.aborted = err.Code == flow.CodeBudgetExceeded, false
}

// Hold prevents more steps from starting, so that the worker can release the run once the
// running steps have finished.
func (p *Plan) Hold() { p.held = true }

// Held reports whether the run is held and no step is running. If Next returns ActWait as well,
// everything is recorded and the worker can release the run.
func (p *Plan) Held() bool { return p.held && p.running == len(p.start) && p.write == nil }

// Release forgets that a started step runs. It stays recorded as running, so that the next worker starts it
// again, as after a crash.
func (p *Plan) Release(i int) {
	p.nodes[i].in, p.nodes[i].active = nil, false
	p.running--
}

// checkDeadline fails a run that has exceeded its time limit. A waiting run has no worker and
// no deadline. A run whose steps have all ended succeeds, even if it is late.
func (p *Plan) checkDeadline(now time.Time) {
	if p.open == 0 || p.run.DeadlineAt.IsZero() || p.run.State != flow.RunRunning || now.Before(p.run.DeadlineAt) {
		return
	}
	if p.graceful { // abort the running steps now; the error remains that of the budget
		p.graceful, p.aborted = false, false
	}
	p.Fail(&flow.Error{Code: flow.CodeRunTimeout, Retryable: true, Message: "The run took longer than its time limit of " + p.run.Timeout.String() + "."})
}

// activeNodes lists the started steps that have not finished.
func (p *Plan) activeNodes() []int {
	var list []int
	for i := range p.nodes {
		if p.nodes[i].active {
			list = append(list, i)
		}
	}
	return list
}

// wakeDue enqueues paused steps whose time has come.
func (p *Plan) wakeDue(now time.Time) {
	for i := range p.nodes {
		if p.pausing == 0 {
			return
		}
		n := &p.nodes[i]
		if p.stop == nil && !n.active && !n.step.WaitUntil.IsZero() && !n.step.State.Ended() && !now.Before(n.step.WaitUntil) {
			n.step.WaitUntil = time.Time{}
			p.pausing--
			p.enqueue(i)
		}
	}
}

// nextTimer returns when Next must be called again if no event happens before, or zero for
// never: the earliest pause or the deadline.
func (p *Plan) nextTimer() time.Time {
	switch {
	case p.graceful:
		return p.run.DeadlineAt
	case p.stop != nil:
		return time.Time{}
	}
	next := p.run.DeadlineAt
	for _, i := range p.subs.limited {
		if t := p.workLimit(i); !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for i := range p.nodes {
		if p.pausing == 0 {
			break
		}
		if t := p.nodes[i].step.WaitUntil; !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

// enqueue queues a step that is ready to run, by its class. An expanding step is announced like
// one that starts.
func (p *Plan) enqueue(i int) {
	if p.nodes[i].class == flow.Inline && p.nodes[i].def.kind.Expand == nil {
		p.inline = append(p.inline, i)
	} else {
		p.ready = append(p.ready, i)
	}
}

// markDirty adds the row of a step to the next write. Marking a step twice has no effect.
func (p *Plan) markDirty(i int) {
	if !p.nodes[i].dirty {
		p.nodes[i].dirty = true
		p.dirty = append(p.dirty, i)
	}
}
