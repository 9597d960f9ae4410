package engine

import (
	"time"

	"sluice/flow"
)

// Next returns the next action. It has no effect outside the plan, and returns ActRecord again
// until Recorded is called.
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
		p.checkStop()
		if p.stop != nil && p.dropStarts() {
			if active := p.activeNodes(); len(active) > 0 {
				return Action{Type: ActAbort, Nodes: active}
			}
		}
		if len(p.abandoned) > 0 { // after the others were aborted, because cleanup takes a while
			list := p.abandoned
			p.abandoned = nil
			return Action{Type: ActAbandon, Abandoned: list}
		}
		// Steps recorded as running start before inline steps, which could fail the run: a
		// webhook is sent once its inputs are recorded.
		if a, ok := p.nextStart(now); ok {
			return a
		}
		if a, ok := p.nextInline(now); ok {
			return a
		}
		if a, ok := p.nextExpand(now); ok {
			return a
		}
		if late := p.endLate(now); len(late) > 0 {
			return Action{Type: ActAbort, Nodes: late}
		}
		p.wakeDue(now)
		p.announceReady(now)
		if p.stop == nil && len(p.inline)+len(p.subs.due) > 0 || p.stop != nil && !p.aborted {
			continue
		}
		if p.mustRecord() {
			p.buildWrite()
			continue
		}
		if p.running == 0 && !(p.held && p.stop == nil && p.open > 0) && p.idle(now) {
			continue
		}
		if len(p.dirty) > 0 { // so that subscribers of the run see the changes immediately
			p.buildWrite()
			continue
		}
		return Action{Type: ActWait, Until: p.nextTimer()}
	}
}

// dropStarts discards announced steps that have not started, because the run stops. It reports
// whether the started steps must be aborted, which it does once.
func (p *Plan) dropStarts() (first bool) {
	p.running -= len(p.announce) + len(p.start)
	p.announce, p.start = nil, nil
	first = !p.aborted && !p.graceful
	p.aborted = true
	return first
}

// idle handles a run in which no step runs or is ready: the run ends, waits without a worker,
// or waits for a short timer. It returns false for the timer, and true if there is a new action.
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
	until, long := p.nextDue(now)
	if until.IsZero() {
		p.Fail(flow.Errorf(flow.CodeInternal, "The run cannot continue: %d steps wait for nothing.", p.open))
		return true
	}
	if !long {
		return false
	}
	waitForSubSteps(p, now)
	if p.run.State != flow.RunWaiting { // a run that was woken early is still waiting
		p.setState(flow.RunWaiting)
		p.run.WaitingSince = now
	}
	p.buildWrite()
	p.write.WakeAt, p.suspend = until, until
	return true
}

// nextDue returns when the next step is due, or zero if no step waits for a time, and whether
// only long waits remain.
func (p *Plan) nextDue(now time.Time) (until time.Time, long bool) {
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

// nextInline returns the next inline step. Inline steps run in the goroutine of the run, so a
// chain of them needs neither goroutines nor separate writes.
func (p *Plan) nextInline(now time.Time) (Action, bool) {
	for p.stop == nil && len(p.inline) > 0 {
		i := p.inline[0]
		p.inline = p.inline[1:]
		if p.nodes[i].step.State.Ended() {
			continue
		}
		in, ok := p.prepare(i, now)
		if !ok {
			continue
		}
		p.begin(i, now)
		return Action{Type: ActInline, Node: i, In: in, def: p.nodes[i].def, class: p.nodes[i].class}, true
	}
	return Action{}, false
}

// announceReady announces ready steps as running, up to flow.StepParallel at once. They start
// after the announcement is recorded.
func (p *Plan) announceReady(now time.Time) {
	for p.stop == nil && !p.held && len(p.ready) > 0 && p.running < flow.StepParallel {
		i := p.ready[0]
		p.ready = p.ready[1:]
		if p.nodes[i].step.State.Ended() { // canceled by endLate
			continue
		}
		if _, ok := p.prepare(i, now); !ok {
			continue
		}
		if p.nodes[i].def.kind.Expand != nil {
			p.beginExpansion(i, now)
			continue
		}
		p.begin(i, now)
		p.running++
		p.announce = append(p.announce, i)
		p.durable = p.durable || p.nodes[i].actsOnce() // its start is on disk before a request is sent
		p.markDirty(i)
	}
}

// actsOnce reports whether a step must not begin again; see flow.SubStep.
func (n *planNode) actsOnce() bool { return n.def.sub != nil && n.def.sub.Once }

// outcomeUnknown is the error of a step that acts once and whose result is lost.
func outcomeUnknown() *flow.Error {
	return flow.Errorf(flow.CodeOutcomeUnknown, "The call may have taken effect: it was interrupted, or no response came. It was not made again.")
}

// begin starts the next attempt of a step, and the run with its first step.
func (p *Plan) begin(i int, now time.Time) {
	s := &p.nodes[i].step
	s.State, s.Error, s.WaitUntil = flow.StepRunning, nil, time.Time{}
	p.countInterrupted(i)
	s.Attempt++
	if s.StartedAt.IsZero() {
		s.StartedAt = now
	} else {
		beginAttempt(s, now)
	}
	if p.run.State != flow.RunRunning {
		p.startRun(now)
	}
	p.continueParent(i, now)
}

// countInterrupted counts the call that a step may have made before its worker died, once: when
// the step begins again, or ends without that. Its bill is unknown; the budgets count what it had
// reserved, see flow.Step.
func (p *Plan) countInterrupted(i int) {
	n, s := p.nodes[i].def, &p.nodes[i].step
	was := p.nodes[i].interrupted
	if p.nodes[i].interrupted = false; !was || p.nodes[i].class != flow.Outside || n.kind.Charge == nil {
		return
	}
	charge, paid := n.kind.Charge(n.Config)
	if s.Interrupted = paid; !paid || charge.Free {
		return
	}
	if s.Usage.UnpricedSteps == 0 {
		s.Usage.UnpricedSteps, p.run.Usage.UnpricedSteps = 1, p.run.Usage.UnpricedSteps+1
	}
	loseAttempt(s)
}

// startRun moves the run to running. The deadline counts from the first start. The time that
// the run waited without a worker postpones it.
func (p *Plan) startRun(now time.Time) {
	if p.run.StartedAt.IsZero() {
		p.run.StartedAt = now
		p.run.DeadlineAt = now.Add(p.run.Timeout)
	}
	if !p.run.WaitingSince.IsZero() {
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

// nextStart returns the next step that is recorded as running. Only recorded steps start, so
// that after a crash it is known which external calls may have been made.
func (p *Plan) nextStart(now time.Time) (Action, bool) {
	for len(p.start) > 0 && !p.held {
		i := p.start[0]
		p.start = p.start[1:]
		if p.isLate(i) {
			p.nodes[i].in = nil
			p.running--
			p.cancelSub(i, now)
			continue
		}
		p.nodes[i].active = true
		return Action{Type: ActStart, Node: i, In: p.nodes[i].in, def: p.nodes[i].def, class: p.nodes[i].class}, true
	}
	return Action{}, false
}

// mustRecord reports whether the run cannot continue before a write. A run without remaining
// work needs none, because the write of its end includes all changes.
func (p *Plan) mustRecord() bool {
	if p.open == 0 || p.stop != nil && p.running == 0 {
		return false
	}
	return len(p.announce) > 0 || len(p.settling) > 0 || len(p.deliveries) > 0 || p.durable
}
