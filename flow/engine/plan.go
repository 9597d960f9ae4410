package engine

import (
	"maps"
	"slices"
	"time"

	"sluice/flow"
)

// ActionType says what the planner wants next.
type ActionType int

const (
	ActWait    ActionType = iota // for a result, or until Action.Until when that is set
	ActInline                    // run Action.In on the spot and call Finish
	ActStart                     // run Action.In on its own and call Finish when it is done
	ActRecord                    // write Action.Write and call Recorded; repeat until it is written
	ActAbort                     // stop the started steps of Action.Nodes; Finish still follows for each
	ActAbandon                   // clean up after the steps Action.Abandoned, which will not continue
	ActDrain                     // find out whether child runs of the run still run, and call Drained
	ActSuspend                   // nothing to do before Action.Until: release the worker
	ActEnd                       // the run has ended and its end is recorded
)

// Action is what the planner wants next.
type Action struct {
	Type  ActionType
	Node  int
	In    *flow.In
	Write *flow.RunWrite
	Nodes []int // to abort
	Until time.Time
	// Abandoned are steps that saved a state, or may have started runs, and have failed or
	// are canceled.
	Abandoned []*flow.In
}

// Plan decides what a run does next: graph and step states in, actions out. It
// does nothing itself, has no clock and no concurrency, so that every order of
// events can be tried. The caller asks Next until it says wait, suspend or end,
// and tells what happened through Finish, Recorded, Cancel and Release.
type Plan struct {
	g     *Graph
	run   flow.Run
	reuse *Reuse
	nodes []planNode

	inline   []int // ready and inline
	ready    []int // ready, not yet announced as running
	announce []int // to be recorded as running
	start    []int // recorded as running, to be started
	running  int   // started or about to be
	open     int   // not ended
	pausing  int   // waiting for a time to come
	held     bool  // start nothing more: the worker is shutting down

	dirty      []int // rows that changed since the last record
	settling   []int // ended with an outside effect: told to dependents once recorded
	deliveries []flow.NewDelivery
	durable    bool
	progressed bool
	stateDirty bool       // the run's own state changed since the last record
	abandoned  []*flow.In // steps with a saved state that the outside must be told of
	write      *flow.RunWrite
	announced  []int // of the write under way
	settled    []int // of the write under way

	stop    *flow.Error   // why nothing more is started
	endAs   flow.RunState // what the run becomes then
	aborted bool          // the started steps were told to stop, or need not be
	gentle  bool          // the started steps may end: they are being paid for
	ended   bool
	newest  time.Time // the newest time that is recorded of the run
	suspend time.Time // set when the write under way lets the run wait
	drain   drainState
}

// planNode is the state of one node: its step as it will be recorded, and what the planner
// needs to decide when it may run.
type planNode struct {
	step    flow.Step
	in      *flow.In // what it was started with, while it is to be started
	class   flow.Class
	edges   []edgeState
	waits   int // edges not decided yet
	decided bool
	dirty   bool
	active  bool       // started and not finished
	left    bool       // abandoned: the outside was told, or is about to be
	saved   bool       // has a row, or is in the write under way
	counted flow.Usage // what its row, or the write under way, says that it used
}

// edgeState is what is known of one edge. A decided edge is live if its source produced
// a value on the port, otherwise dead: the source was skipped, failed or took another branch.
type edgeState struct {
	decided, live bool
	value         any
}

// Reuse is what a rerun may take over from its parent.
type Reuse struct {
	Steps  map[string]flow.Step // of the parent, by path
	Forced map[string]bool      // nodes that run again whatever their inputs
}

// NewPlan continues a run from its recorded steps; a fresh run has none.
func NewPlan(g *Graph, run *flow.Run, steps []flow.Step, reuse *Reuse) *Plan {
	p := &Plan{g: g, run: *run, reuse: reuse, nodes: make([]planNode, len(g.nodes)), open: len(g.nodes), ended: run.State.Ended()}
	if p.run.Outputs = maps.Clone(run.Outputs); p.run.Outputs == nil {
		p.run.Outputs = map[string]any{}
	}
	p.newest = latest(run.CreatedAt, run.StartedAt, run.WaitingSince)
	recorded := map[string]flow.Step{}
	for _, s := range steps {
		recorded[s.Path] = s
		p.newest = latest(p.newest, s.StartedAt, s.EndedAt)
		if n := len(s.Attempts); n > 0 {
			p.newest = latest(p.newest, s.Attempts[n-1].StartedAt, s.Attempts[n-1].EndedAt)
		}
	}
	edges := make([]edgeState, g.edges)
	for i := range p.nodes {
		n := &g.nodes[i]
		p.nodes[i].step = flow.Step{Path: n.ID, Node: n.ID, Kind: n.Kind, State: flow.StepPending, NodeHash: n.hash}
		p.nodes[i].edges, edges = edges[:len(n.in):len(n.in)], edges[len(n.in):]
		p.nodes[i].waits = len(n.in)
		p.nodes[i].class = n.kind.Class
		if n.input != nil && len(n.input.RemoteFiles(run.Inputs[n.input.Name])) > 0 {
			p.nodes[i].class = flow.Outside // the step fetches the files
		}
		if s, ok := recorded[n.ID]; ok {
			p.restore(i, s)
		}
	}
	if run.State == flow.RunWaiting && run.Error != nil { // it has failed, and waited for child runs
		p.Fail(run.Error)
	}
	if p.run.CancelRequested {
		p.Cancel()
	}
	for i := range p.nodes { // all are restored now: telling one's end may start another
		if p.nodes[i].step.State.Ended() {
			p.close(i)
		} else {
			p.decide(i)
		}
	}
	return p
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// restore takes over a recorded step. One that was running was cut: it starts
// again under a new attempt number. One whose failure fails the run had
// stopped it already, although the end was not recorded any more.
func (p *Plan) restore(i int, s flow.Step) {
	n := &p.nodes[i]
	n.step, n.saved, n.counted = s, true, s.Usage
	switch {
	case s.State.Ended():
		n.decided = true
		p.open--
		if s.State == flow.StepFailed && p.g.nodes[i].OnError == nil {
			p.halt(s.Error, flow.RunFailed)
		}
	case s.State == flow.StepRunning:
		n.step.State = flow.StepPending
	}
}

// Run is the run as the plan sees it.
func (p *Plan) Run() *flow.Run { return &p.run }

// Next is the one thing to do now.
func (p *Plan) Next(now time.Time) Action {
	for {
		switch {
		case p.ended:
			return Action{Type: ActEnd}
		case p.write != nil:
			return Action{Type: ActRecord, Write: p.write}
		case !p.suspend.IsZero():
			return Action{Type: ActSuspend, Until: p.suspend}
		}
		if p.drain == drainAsking {
			return Action{Type: ActDrain}
		}
		p.checkDeadline(now)
		if p.stop != nil && p.dropStarts() {
			if active := p.activeNodes(); len(active) > 0 {
				return Action{Type: ActAbort, Nodes: active}
			}
		}
		if len(p.abandoned) > 0 { // after the others were told to stop, since this takes a while
			list := p.abandoned
			p.abandoned = nil
			return Action{Type: ActAbandon, Abandoned: list}
		}
		// What is recorded as running starts before inline work that could fail
		// the run: a webhook fires once its outputs are recorded.
		if len(p.start) > 0 && !p.held {
			return p.nextStart()
		}
		if a, ok := p.nextInline(now); ok {
			return a
		}
		p.wakeDue(now)
		p.takeReady(now)
		if p.stop == nil && len(p.inline) > 0 || p.stop != nil && !p.aborted {
			continue
		}
		if p.mustRecord() {
			p.buildWrite()
			continue
		}
		if p.running == 0 && !(p.held && p.stop == nil && p.open > 0) && p.idle(now) {
			continue
		}
		if len(p.dirty) > 0 { // watchers of the run see it at once
			p.buildWrite()
			continue
		}
		return Action{Type: ActWait, Until: p.nextTimer()}
	}
}

// dropStarts forgets, once the run stops, what was announced but not started;
// true the first time, when the started steps must be aborted.
func (p *Plan) dropStarts() (first bool) {
	p.running -= len(p.announce) + len(p.start)
	p.announce, p.start = nil, nil
	first = !p.aborted && !p.gentle
	p.aborted = true
	return first
}

// idle is reached when nothing runs and nothing is ready: the run ends, waits
// without a worker, or waits for a short timer (false).
func (p *Plan) idle(now time.Time) bool {
	if p.stop != nil && p.abandonOpen() {
		return true
	}
	if p.stop != nil || p.open == 0 {
		if p.drain == drainUnknown && p.startedRuns() {
			p.drain = drainAsking
			return true
		}
		p.buildEnd(now)
		return true
	}
	until, long := p.pause(now)
	if until.IsZero() {
		p.Fail(flow.Errorf(flow.CodeInternal, "The run cannot go on: %d steps wait for nothing.", p.open))
		return true
	}
	if !long {
		return false
	}
	if p.run.State != flow.RunWaiting { // or else it was woken before its time
		p.setState(flow.RunWaiting)
		p.run.WaitingSince = now
	}
	p.buildWrite()
	p.write.WakeAt, p.suspend = until, until
	return true
}

// pause is when the next step is due, and whether only long waits remain.
func (p *Plan) pause(now time.Time) (until time.Time, long bool) {
	long = true
	for i := range p.nodes {
		s := &p.nodes[i].step
		if s.State.Ended() || s.WaitUntil.IsZero() {
			continue
		}
		if until.IsZero() || s.WaitUntil.Before(until) {
			until = s.WaitUntil
		}
		long = long && s.State == flow.StepWaiting
	}
	return until, long
}

// nextInline returns the next inline step. Inline steps run on the goroutine of the run, so a
// chain of them costs no goroutine and no write of its own.
func (p *Plan) nextInline(now time.Time) (Action, bool) {
	for p.stop == nil && len(p.inline) > 0 {
		i := p.inline[0]
		p.inline = p.inline[1:]
		in, ok := p.prepare(i, now)
		if !ok {
			continue
		}
		p.begin(i, now)
		return Action{Type: ActInline, Node: i, In: in}, true
	}
	return Action{}, false
}

// takeReady announces ready steps as running, as many as may run at once.
func (p *Plan) takeReady(now time.Time) {
	for p.stop == nil && !p.held && len(p.ready) > 0 && p.running < flow.StepParallel {
		i := p.ready[0]
		p.ready = p.ready[1:]
		if _, ok := p.prepare(i, now); !ok {
			continue
		}
		p.begin(i, now)
		p.running++
		p.announce = append(p.announce, i)
		p.mark(i)
	}
}

// begin counts a start.
func (p *Plan) begin(i int, now time.Time) {
	s := &p.nodes[i].step
	s.State, s.Error, s.WaitUntil = flow.StepRunning, nil, time.Time{}
	s.Attempt++
	if s.StartedAt.IsZero() {
		s.StartedAt = now
	} else {
		beginAttempt(s, now)
	}
	if p.run.State != flow.RunRunning {
		p.startRun(now)
	}
}

// startRun moves the run to running. The deadline counts from the first start, and is
// postponed by the time that the run waited without a worker.
func (p *Plan) startRun(now time.Time) {
	if p.run.StartedAt.IsZero() {
		p.run.StartedAt = now
		p.run.DeadlineAt = now.Add(p.run.Timeout)
	}
	if !p.run.WaitingSince.IsZero() { // waiting does not count towards the time limit
		p.run.DeadlineAt = p.run.DeadlineAt.Add(max(0, now.Sub(p.run.WaitingSince)))
		p.run.WaitingSince = time.Time{}
	}
	p.setState(flow.RunRunning)
}

// setState changes the state of the run, to be recorded with the next write.
func (p *Plan) setState(s flow.RunState) {
	p.run.State = s
	p.stateDirty = true
}

// nextStart returns the next step whose start is on disk. Only such steps start, so that
// after a crash it is known which external calls may have been made.
func (p *Plan) nextStart() Action {
	i := p.start[0]
	p.start = p.start[1:]
	p.nodes[i].active = true
	return Action{Type: ActStart, Node: i, In: p.nodes[i].in}
}

// mustRecord reports whether something waits for a write before it can go on.
// When nothing is left to do, the write of the end takes it all.
func (p *Plan) mustRecord() bool {
	if p.open == 0 || p.stop != nil && p.running == 0 {
		return false
	}
	return len(p.announce) > 0 || len(p.settling) > 0 || len(p.deliveries) > 0 || p.durable
}

// Cancel stops the run: running steps are aborted and nothing more starts.
func (p *Plan) Cancel() {
	p.halt(flow.Errorf(flow.CodeRunCanceled, "The run was canceled."), flow.RunCanceled)
}

// Fail ends the run with an error that no step is to blame for.
func (p *Plan) Fail(err *flow.Error) { p.halt(err, flow.RunFailed) }

// halt starts nothing more and has the run end so. A budget that is used up
// does not stop what is under way; a cancel still does.
func (p *Plan) halt(err *flow.Error, as flow.RunState) {
	if p.stop != nil && !(p.gentle && as == flow.RunCanceled) {
		return
	}
	p.stop, p.endAs = err, as
	p.suspend = time.Time{}
	p.gentle, p.aborted = err.Code == flow.CodeBudgetExceeded, false
}

// Hold starts nothing more, so that the worker can hand the run back once the
// running steps have finished.
func (p *Plan) Hold() { p.held = true }

// Held reports whether the run is held and nothing of it is running. When Next
// says wait as well, everything is recorded and the run can be handed back.
func (p *Plan) Held() bool { return p.held && p.running == len(p.start) && p.write == nil }

// checkDeadline fails a run that has used up its time. A run that waits has no worker and
// no deadline; a run whose steps are all over ends normally, even if late.
func (p *Plan) checkDeadline(now time.Time) {
	if p.open == 0 || p.run.DeadlineAt.IsZero() || p.run.State != flow.RunRunning || now.Before(p.run.DeadlineAt) {
		return
	}
	if p.gentle { // the reason stays
		p.gentle, p.aborted = false, false
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

// wakeDue makes steps ready again whose pause is over.
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

// nextTimer is when Next should be asked again although nothing happened.
func (p *Plan) nextTimer() time.Time {
	switch {
	case p.gentle:
		return p.run.DeadlineAt
	case p.stop != nil:
		return time.Time{}
	}
	next := p.run.DeadlineAt
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

// enqueue makes a step ready to run.
func (p *Plan) enqueue(i int) {
	if p.nodes[i].class == flow.Inline {
		p.inline = append(p.inline, i)
	} else {
		p.ready = append(p.ready, i)
	}
}

// mark notes that the row of a step has changed, so that the next write has it.
func (p *Plan) mark(i int) {
	if !p.nodes[i].dirty {
		p.nodes[i].dirty = true
		p.dirty = append(p.dirty, i)
	}
}
