package engine

import (
	"fmt"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// The time limit of an expanding step bounds the time in which it works: from its first start on, also while no worker
// has the run, but without the time in which all of its sub-steps wait, for example for a person. Its saved
// state holds how long it has waited, and since when it waits.

// Members of the saved state of an expanding step with a time limit, times in microseconds.
const (
	savedWaited = "waited_us"
	savedSince  = "since_us"
	savedLate   = "late" // true once the time is over, because the results of its sub-steps no longer count
)

// waitForSubSteps marks expanding steps as waiting, because all of their sub-steps wait.
func waitForSubSteps(p *Plan, now time.Time) {
	for i := range p.g.nodes {
		waitForSubs(p, i, now)
	}
}

// waitIfAllWait marks an expanding step as waiting if all of its sub-steps wait.
func waitIfAllWait(p *Plan, parent int, now time.Time) {
	if p.nodes[parent].expansion.fails {
		endQuestions(p, parent, now)
	}
	for i := len(p.g.nodes); i < len(p.nodes); i++ {
		if n := &p.nodes[i]; n.parent == parent && !n.step.State.Ended() && n.step.State != flow.StepWaiting {
			return
		}
	}
	waitForSubs(p, parent, now)
}

func waitForSubs(p *Plan, i int, now time.Time) {
	n := &p.nodes[i]
	if n.expansion == nil || n.expansion.due || n.step.State != flow.StepRunning {
		return
	}
	n.step.State = flow.StepWaiting
	if n.def.TimeoutS > 0 {
		n.step.Saved = map[string]any{savedWaited: flow.Number(waited(&n.step).Microseconds()), savedSince: flow.Number(now.UnixMicro())}
	}
	p.markDirty(i)
}

// continueParent marks the step of a sub-step that begins as running again.
func (p *Plan) continueParent(k int, now time.Time) {
	i := p.nodes[k].parent
	n := &p.nodes[i]
	if !p.isSub(k) || n.step.State != flow.StepWaiting {
		return
	}
	n.step.State = flow.StepRunning
	if since, waits := flow.Float(value.Get(n.step.Saved, savedSince)); waits {
		total := waited(&n.step) + max(0, now.Sub(time.UnixMicro(int64(since))))
		n.step.Saved = map[string]any{savedWaited: flow.Number(total.Microseconds())}
	}
	p.markDirty(i)
}

// waited returns how long an expanding step has waited before it last began to wait.
func waited(s *flow.Step) time.Duration {
	us, _ := flow.Float(value.Get(s.Saved, savedWaited))
	return time.Duration(us) * time.Microsecond
}

// workLimit returns when a step will have worked for its time limit. It is zero for a step that waits.
func (p *Plan) workLimit(i int) time.Time {
	n := &p.nodes[i]
	if p.stop != nil || n.expansion.late || n.step.State != flow.StepRunning {
		return time.Time{}
	}
	return n.step.StartedAt.Add(n.def.timeLimit() + waited(&n.step))
}

// endLate ends the sub-steps of steps that have worked for longer than their time limit. It returns those that have
// started, which must be aborted.
func (p *Plan) endLate(now time.Time) (started []int) {
	for _, i := range p.subs.limited {
		if at := p.workLimit(i); at.IsZero() || now.Before(at) {
			continue
		}
		p.nodes[i].expansion.late = true
		p.nodes[i].step.Saved = map[string]any{savedLate: true}
		p.markDirty(i)
		started = append(started, endSubs(p, i, now)...)
	}
	return started
}

// endSubs ends the sub-steps of a step that is late. It returns those that have started.
func endSubs(p *Plan, i int, now time.Time) (started []int) {
	for k := len(p.g.nodes); k < len(p.nodes); k++ {
		switch n := &p.nodes[k]; {
		case n.parent != i || n.step.State.Ended():
		case n.active:
			started = append(started, k)
		case n.in == nil: // not announced; nextStart cancels the others
			p.cancelSub(k, now)
		}
	}
	p.expandSoon(i)
	return started
}

// endQuestions ends the sub-steps of a failing step that wait for people, because the answers no longer matter.
func endQuestions(p *Plan, i int, now time.Time) {
	for k := len(p.g.nodes); k < len(p.nodes); k++ {
		if n := &p.nodes[k]; n.parent == i && n.step.State == flow.StepWaiting && n.def.kind.WaitsFor == flow.WaitsForApproval && !n.active && n.in == nil {
			p.cancelSub(k, now)
		}
	}
}

// isLate reports whether a sub-step must end, because its step has worked for longer than its time limit.
func (p *Plan) isLate(k int) bool {
	return p.stop == nil && p.isSub(k) && p.nodes[p.nodes[k].parent].expansion.late
}

// cancelSub ends a sub-step that is not active.
func (p *Plan) cancelSub(k int, now time.Time) {
	if !p.nodes[k].step.WaitUntil.IsZero() {
		p.pausing--
	}
	if p.abandon(k); p.stop == nil { // its step continues with this end
		if p.run.State != flow.RunRunning {
			p.startRun(now)
		}
		p.continueParent(k, now)
	}
	p.endStep(k, flow.StepCanceled, nil, now)
}

// failLate fails a step that was late, once its sub-steps have ended.
func failLate(p *Plan, i int, now time.Time) {
	switch n := &p.nodes[i]; {
	case n.expansion.open > 0 || n.step.State.Ended():
	case p.hasUnknown(i):
		cancelUnknown(p, i, now)
	default:
		p.failStep(i, &flow.Error{Code: flow.CodeStepTimeout, Message: fmt.Sprintf("The step worked longer than its time limit of %s. Time in which it only waits does not count.", n.def.timeLimit())}, now, false)
	}
}
