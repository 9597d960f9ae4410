package engine

import (
	"time"

	"sluice/flow"
)

// buildWrite collects all changes into one write. Each change gets the next sequence number of
// the run; a replay after a crash assigns the same numbers.
func (p *Plan) buildWrite() {
	w := &flow.RunWrite{Deliveries: p.deliveries, Progressed: p.progressed}
	w.Durable = p.durable || len(p.deliveries) > 0
	w.Busy = p.busy()
	if p.stateDirty && !p.run.State.Ended() {
		p.run.Seq++
		p.run.RunSeq = p.run.Seq
	}
	w.Steps = make([]flow.Step, 0, len(p.dirty))
	for _, i := range p.dirty {
		w.Steps = append(w.Steps, p.row(i))
	}
	if p.run.State.Ended() {
		p.run.Seq++
		p.run.RunSeq = p.run.Seq
	}
	p.run.Progress = flow.Progress{Done: len(p.g.nodes) - p.open, Total: len(p.g.nodes)}
	p.run.Writes++
	run := p.run
	run.Outputs = p.run.Outputs.Clone()
	w.Run = &run
	p.write, p.announced, p.settled = w, p.announce, p.settling
	p.dirty, p.announce, p.settling, p.deliveries = nil, nil, nil, nil
	p.durable, p.progressed, p.stateDirty = false, false, false
}

// busy reports whether the run executes code inside the process after the write: a step
// computes, or dependents of a recorded step are about to run.
func (p *Plan) busy() bool {
	if p.run.State.Ended() || p.run.State == flow.RunWaiting {
		return false
	}
	if p.running == 0 {
		return len(p.settling) > 0
	}
	for i := range p.nodes {
		if p.nodes[i].class == flow.Compute && p.nodes[i].in != nil {
			return true
		}
	}
	return false
}

// Fence returns a write that changes nothing but the error of a run that is about to fail. If it
// succeeds, this worker still owns the run and may do something that cannot be undone. After a crash
// the next worker finds the error and does not continue a run whose child runs were stopped.
func (p *Plan) Fence() *flow.RunWrite {
	if p.run.State == flow.RunWaiting { // a write in this state would release the worker
		p.setState(flow.RunRunning)
	}
	if p.stop != nil && p.endAs == flow.RunFailed {
		p.run.Error = p.stop
	}
	p.run.Writes++
	run := p.run
	run.Outputs = p.run.Outputs.Clone()
	return &flow.RunWrite{Run: &run}
}

// row returns a step for the next write, with the next sequence numbers of the run. Spent is
// the usage since the previous row of the step, so that no usage is counted twice.
func (p *Plan) row(i int) flow.Step {
	n := &p.nodes[i]
	n.dirty, n.saved = false, true
	n.step.Spent = n.step.Usage.Sub(n.recordedUsage)
	n.recordedUsage = n.step.Usage
	n.step.Bulky, n.step.InBudget = n.def.kind.StartsRuns(), n.def.sub != nil && n.def.sub.Budget > 0
	p.run.Seq++
	n.step.Seq = p.run.Seq
	if _, ok := n.step.Outputs["value"]; ok && n.def.kind.Role == flow.RoleOutput && n.step.State.Ended() {
		p.run.Seq++
		n.step.OutputSeq = p.run.Seq
	}
	row := n.step
	n.step.Interrupted = false
	return row
}

// Recorded reports to the plan that the write of the last ActRecord is committed.
func (p *Plan) Recorded() {
	end := p.write.End
	p.write = nil
	p.start = append(p.start, p.announced...)
	settled := p.settled
	p.announced, p.settled = nil, nil
	for _, i := range settled {
		p.propagate(i)
	}
	p.ended = end
}

// buildEnd sets the final state of the run and builds its last write. Steps that began and did
// not end are canceled; steps that never began have no row.
func (p *Plan) buildEnd(now time.Time) {
	state := flow.RunSucceeded
	if p.stop != nil {
		state = p.endAs
		p.cancelOpen(now)
	} else if p.run.State != flow.RunRunning {
		p.startRun(now)
	}
	if p.run.Error = nil; state == flow.RunFailed {
		p.run.Error = p.stop
	}
	p.setState(state)
	p.run.EndedAt = now
	p.buildWrite()
	p.write.End, p.write.Durable = true, true
}

// CancelEnd turns the pending end of the run into a cancellation, which was requested before the
// end could be recorded. What its steps did stays recorded.
func (p *Plan) CancelEnd() {
	p.run.State, p.run.Error = flow.RunCanceled, nil
	p.write.Run.State, p.write.Run.Error = flow.RunCanceled, nil
}

// cancelOpen marks the steps that began and did not end as canceled.
func (p *Plan) cancelOpen(now time.Time) {
	for i := range p.nodes {
		n := &p.nodes[i]
		if (n.saved || n.step.State != flow.StepPending) && !n.step.State.Ended() {
			p.countInterrupted(i)
			n.step.State, n.step.EndedAt, n.step.WaitUntil, n.step.Saved = flow.StepCanceled, now, time.Time{}, nil
			closeAttempts(&n.step)
			if !p.isSub(i) {
				p.open--
			}
			p.markDirty(i)
		}
	}
}
