package engine

import (
	"math"
	"slices"
	"time"

	"sluice/flow"
)

// Finish tells how a started step ended: with an output, a suspension, or an
// error. It is called exactly once for each ActInline and ActStart.
func (p *Plan) Finish(i int, out flow.Out, err error, now time.Time) {
	n := &p.nodes[i]
	n.in = nil
	if n.active = false; n.class != flow.Inline {
		p.running--
	}
	if n.step.Usage.UnpricedSteps > 0 {
		out.Usage.UnpricedSteps = 0 // an attempt before has counted the step
	}
	n.step.Usage = n.step.Usage.Add(out.Usage)
	chargeAttempt(&n.step, out.Usage)
	p.run.Usage = p.run.Usage.Add(out.Usage)
	logAttempt(&n.step, out.Log)
	switch {
	case err != nil && p.stop != nil && !p.gentle:
		// Aborted: its row says canceled once the run's end does, so that a
		// crash in between does not leave it canceled in a run that continues.
		p.mark(i)
	case err != nil:
		p.failed(i, flow.AsError(err), now, out.Usage != flow.Usage{})
	case out.Suspend != nil:
		p.send(i, out.Deliveries)
		p.suspended(i, out.Suspend, now)
	default:
		p.send(i, out.Deliveries)
		p.end(i, flow.StepSucceeded, out.Outputs, now)
		p.answered(i)
	}
}

// answered adds the model of a step to those of the run.
func (p *Plan) answered(i int) {
	model := p.nodes[i].step.Model()
	if model == "" || p.g.nodes[i].kind.Charge == nil || slices.Contains(p.run.Models, model) || len(p.run.Models) == flow.MaxRunModels {
		return
	}
	p.run.Models = append(slices.Clip(p.run.Models), model) // rows that are being written share the list
}

// send adds the deliveries of a step to the next write.
func (p *Plan) send(i int, deliveries []flow.NewDelivery) {
	for j, d := range deliveries {
		d.ID = flow.DeliveryID(p.run.ID, p.nodes[i].step.Path, j)
		if p.g.nodes[i].fixedURL() {
			d.Host = flow.HostOf(d.URL)
		}
		p.deliveries = append(p.deliveries, d)
	}
}

// suspended handles a step that waits for a time or an event. A short wait keeps the worker;
// a longer one lets the run release it.
func (p *Plan) suspended(i int, s *flow.Suspension, now time.Time) {
	step, until := &p.nodes[i].step, s.Until
	if until.Before(now) {
		until = now
	}
	step.Saved = s.State
	p.durable = p.durable || s.State != nil // such as the ID of something that is being paid for
	endAttempt(step, now, nil, true)
	state := flow.StepRunning
	if s.Event || until.Sub(now) > flow.HeldBackoff {
		state = flow.StepWaiting
	}
	p.wait(i, state, until)
}

// Wake makes the waiting steps due, because something may have happened that one of them
// waits for. Those for which nothing happened wait again.
func (p *Plan) Wake(now time.Time) {
	for i := range p.nodes {
		if step := &p.nodes[i].step; step.State == flow.StepWaiting && step.Saved != nil && !step.WaitUntil.IsZero() {
			step.WaitUntil = now
		}
	}
}

// Save keeps what a started step must not forget.
func (p *Plan) Save(i int, state any) {
	p.nodes[i].step.Saved = state
	p.durable = true
	p.mark(i)
}

// abandon has the outside told that a step with a saved state is not gone on
// with. A step that starts other runs may have done so before it was cut, without a
// state.
func (p *Plan) abandon(i int) {
	step, kind := &p.nodes[i].step, p.g.nodes[i].kind
	if kind.Cleanup == nil || p.nodes[i].left || step.Saved == nil && !(kind.StartsRuns() && step.Attempt > 0) {
		return
	}
	p.nodes[i].left = true
	if in, err := p.resolve(i); err == nil {
		in.Attempt, in.State, in.Failures = step.Attempt, step.Saved, step.Failures
		p.abandoned = append(p.abandoned, in)
	}
	step.Saved = nil
}

// abandonOpen is abandon for all steps that a stopping run leaves behind. It
// reports whether there are any.
func (p *Plan) abandonOpen() bool {
	for i := range p.nodes {
		if !p.nodes[i].step.State.Ended() {
			p.abandon(i)
		}
	}
	return len(p.abandoned) > 0
}

// wait lets a step pause until a time.
func (p *Plan) wait(i int, state flow.StepState, until time.Time) {
	step := &p.nodes[i].step
	step.State, step.WaitUntil = state, until
	p.pausing++
	p.mark(i)
}

// failed handles an error of a step: a retry with back-off if the node allows one and the error
// is transient, else the node's error handling, else the end of the run. paid reports that the
// attempt may have cost something although it failed.
func (p *Plan) failed(i int, e *flow.Error, now time.Time, paid bool) {
	n, step := &p.g.nodes[i], &p.nodes[i].step
	e = &flow.Error{Code: e.Code, Message: e.Message, Node: n.ID, Retryable: e.Retryable, After: e.After}
	step.Error = e
	step.Failures++
	if p.stop == nil && n.Retry != nil && e.Retryable && step.Failures < n.Retry.Attempts {
		endAttempt(step, now, e, false)
		pause, state := backoff(n.Retry, step.Failures, e.After), flow.StepRetrying
		if pause > flow.HeldBackoff {
			state = flow.StepWaiting
		}
		p.wait(i, state, now.Add(pause))
		return
	}
	if p.stop == nil && !paid && isOutage(e) && p.hasAlternative(i) {
		endAttempt(step, now, e, false)
		step.Attempts[len(step.Attempts)-1].Next++
		step.Failures = 0 // the alternative has retries of its own
		p.wait(i, flow.StepRetrying, now)
		return
	}
	p.abandon(i)
	switch {
	case n.OnError == nil:
		p.halt(e, flow.RunFailed)
		p.end(i, flow.StepFailed, nil, now)
	case n.OnError.Route:
		p.end(i, flow.StepFailed, map[string]any{flow.ErrorPort: map[string]any{"code": string(e.Code), "message": e.Message, "node": e.Node}}, now)
	default:
		p.end(i, flow.StepFailed, n.OnError.Continue, now)
	}
}

// isOutage reports whether an error says that what was called is not available now, and
// nothing about what was asked. An answer that broke off is not retryable, because it may
// have cost money.
func isOutage(e *flow.Error) bool {
	return e.Retryable && (e.Code == flow.CodeProviderRateLimited || e.Code == flow.CodeProviderUnavailable || e.Code == flow.CodeStepTimeout)
}

// hasAlternative reports whether the step can go on with another config.
func (p *Plan) hasAlternative(i int) bool {
	n := &p.g.nodes[i]
	if n.kind.Alternative == nil {
		return false
	}
	_, ok := n.kind.Alternative(n.Config, p.nodes[i].step.Alternative()+1)
	return ok
}

// takeAlternative replaces the config of a step that continues with an alternative.
func (n *graphNode) takeAlternative(in *flow.In, step *flow.Step) {
	alternative := step.Alternative()
	if alternative == 0 || n.kind.Alternative == nil {
		return
	}
	if config, ok := n.kind.Alternative(in.Config, alternative); ok {
		in.Config = config
		step.Input = n.shown(in)
	}
}

// backoff doubles after each failure and is not shorter than what the other
// side asked for; both up to a day, since every run must end.
func backoff(r *flow.Retry, failures int, after time.Duration) time.Duration {
	s := r.BackoffS * math.Pow(2, float64(failures-1))
	return min(max(after, time.Duration(min(s, flow.MaxBackoffS)*float64(time.Second))), flow.MaxBackoffS*time.Second)
}

// end makes a step's state final.
func (p *Plan) end(i int, state flow.StepState, outputs map[string]any, now time.Time) {
	n, step := &p.g.nodes[i], &p.nodes[i].step
	step.State, step.Outputs, step.EndedAt, step.WaitUntil, step.Saved = state, outputs, now, time.Time{}, nil
	if state == flow.StepSucceeded || state == flow.StepReused {
		step.Error = nil
	}
	closeAttempts(step)
	p.open--
	p.progressed = true
	p.mark(i)
	if v, ok := outputs["value"]; ok && n.kind.Role == flow.RoleOutput {
		p.run.Outputs[flow.NameOf(n.Node)] = v
	}
	if p.nodes[i].class == flow.Outside && state != flow.StepReused {
		p.durable = true
		p.settling = append(p.settling, i) // dependents start once this is on disk
		return
	}
	p.close(i)
}

// close tells the dependents what a step gave.
func (p *Plan) close(i int) {
	from := &p.nodes[i].step
	for _, end := range p.g.nodes[i].ends {
		n := &p.nodes[end.node]
		if n.edges[end.edge].decided {
			continue
		}
		v, live := from.Outputs[p.g.nodes[end.node].in[end.edge].fromPort]
		n.edges[end.edge] = edgeState{decided: true, live: live && from.State != flow.StepSkipped, value: v}
		n.waits--
	}
	for _, t := range p.g.nodes[i].out {
		p.decide(t)
	}
}

// decide queues a node, or skips it, once its edges allow to tell. When the
// run stops, what never began is left as it is.
func (p *Plan) decide(i int) {
	n, state := &p.g.nodes[i], &p.nodes[i]
	if p.stop != nil || state.decided || state.waits > 0 && !n.Disabled && !p.firstDecided(i) {
		return
	}
	state.decided = true
	switch {
	case n.Disabled || p.isDead(i):
		p.skip(i)
	case !state.step.WaitUntil.IsZero():
		p.pausing++ // restored in the middle of a pause
	default:
		p.enqueue(i)
	}
}

// skip ends a step that no branch needs. Its edges become dead.
func (p *Plan) skip(i int) {
	step := &p.nodes[i].step
	step.State = flow.StepSkipped
	p.open--
	p.mark(i)
	p.close(i)
}

// firstDecided reports whether the node waits for one value only, and the first
// edge that is not skipped has it although later edges are open.
func (p *Plan) firstDecided(i int) bool {
	n := &p.g.nodes[i]
	for k, e := range n.in {
		if !n.ports[e.toPort].First {
			return false
		}
		if s := p.nodes[i].edges[k]; !s.decided || s.live {
			return s.decided
		}
	}
	return false
}

// isDead reports whether a node must be skipped: none of its edges brings a
// value, or a port that needs one gets none, or all outputs that it collects
// were skipped, or one of them could not be produced.
func (p *Plan) isDead(i int) bool {
	n := &p.g.nodes[i]
	if len(n.in) == 0 {
		return false
	}
	alive, missing := false, map[string]bool{}
	for k, e := range n.in {
		s := &p.nodes[i].edges[k]
		alive = alive || s.live
		switch {
		case e.collects != "":
			if source := p.nodes[e.from].step.State; !s.live && source != flow.StepSkipped {
				return true
			}
			missing[flow.CollectedPort] = !s.live && missed(missing, flow.CollectedPort)
		case n.ports[e.toPort].Required:
			missing[e.toPort] = !s.live && missed(missing, e.toPort)
		}
	}
	for _, is := range missing {
		if is {
			return true
		}
	}
	return !alive
}

// missed reports whether no value has come to a port so far.
func missed(missing map[string]bool, port string) bool {
	is, seen := missing[port]
	return is || !seen
}
