package engine

import (
	"math"
	"slices"
	"time"

	"sluice/flow"
)

// Finish reports to the plan how a step ended: with outputs, a suspension or an error. It must
// be called exactly once for each ActInline and ActStart.
func (p *Plan) Finish(i int, out flow.Out, err error, now time.Time) {
	n := &p.nodes[i]
	n.in = nil
	if n.active = false; n.class != flow.Inline {
		p.running--
	}
	used := out.Usage
	if n.step.Usage.UnpricedSteps > 0 {
		out.Usage.UnpricedSteps = 0 // a previous attempt has counted the step
	}
	n.step.Usage = n.step.Usage.Add(out.Usage)
	n.step.Untrusted = n.step.Untrusted || out.Untrusted
	chargeAttempt(&n.step, used)
	if out.Lost {
		loseAttempt(&n.step)
	}
	if out.Recorded != nil {
		replayAttempt(&n.step, out.Recorded)
	}
	p.run.Usage = p.run.Usage.Add(out.Usage)
	logAttempt(&n.step, out.Log)
	answerAttempt(&n.step, out.Answer, n.def.kind.Charge != nil && n.step.Model() != "")
	if err != nil && n.actsOnce() && out.Unanswered {
		p.failStep(i, outcomeUnknown(), now, true)
		return
	}
	if p.isLate(i) && (err != nil || out.Suspend != nil) {
		if out.Suspend != nil {
			n.step.Saved = out.Suspend.State
		}
		p.cancelSub(i, now)
		return
	}
	switch {
	case err != nil && p.stop != nil && !p.graceful:
		// The step was aborted. It is recorded as canceled with the end of the run: after a
		// crash before that, the run may continue.
		p.markDirty(i)
	case err != nil:
		p.failStep(i, flow.AsError(err), now, out.Begun || out.Usage.Billed())
	case out.Suspend != nil:
		p.addDeliveries(i, out.Deliveries)
		p.suspendStep(i, out.Suspend, now)
	default:
		p.addDeliveries(i, out.Deliveries)
		p.endStep(i, flow.StepSucceeded, out.Outputs, now)
		p.recordModel(i)
	}
}

// recordModel adds the model of a step to those of the run, up to flow.MaxRunModels.
func (p *Plan) recordModel(i int) {
	model := p.nodes[i].step.Model()
	if model == "" || p.nodes[i].def.kind.Charge == nil || slices.Contains(p.run.Models, model) || len(p.run.Models) == flow.MaxRunModels {
		return
	}
	p.run.Models = append(slices.Clip(p.run.Models), model) // a pending write shares the list
}

// addDeliveries adds the deliveries of a step to the next write. Their IDs are derived from the
// step, so that a repeated step does not send them twice.
func (p *Plan) addDeliveries(i int, deliveries []flow.NewDelivery) {
	for j, d := range deliveries {
		d.ID = flow.DeliveryID(p.run.ID, p.nodes[i].step.Path, j)
		if p.nodes[i].def.fixedURL() {
			d.Host = flow.HostOf(d.URL)
		}
		p.deliveries = append(p.deliveries, d)
	}
}

// suspendStep handles a step that waits for a time or an event. During a short wait the run
// keeps its worker; during a longer one it waits without a worker.
func (p *Plan) suspendStep(i int, s *flow.Suspension, now time.Time) {
	step, until := &p.nodes[i].step, s.Until
	if until.Before(now) {
		until = now
	}
	step.Saved = s.State
	p.durable = p.durable || s.State != nil // the state may be the ID of external work that costs money
	endAttempt(step, now, nil, true)
	state := flow.StepRunning
	if s.Event || until.Sub(now) > flow.HeldBackoff {
		state = flow.StepWaiting
	}
	p.pauseStep(i, state, until)
	if p.isSub(i) && state == flow.StepWaiting {
		waitIfAllWait(p, p.nodes[i].parent, now)
	}
}

// Wake makes all waiting steps due, because an event may have happened that one of them waits
// for. The others suspend again.
func (p *Plan) Wake(now time.Time) {
	for i := range p.nodes {
		if step := &p.nodes[i].step; step.State == flow.StepWaiting && step.Saved != nil && !step.WaitUntil.IsZero() {
			step.WaitUntil = now
		}
	}
}

// Save stores the state of a started step with the next write.
func (p *Plan) Save(i int, state any) {
	p.nodes[i].step.Saved = state
	p.durable = true
	p.markDirty(i)
}

// abandon schedules the cleanup of a step that will not continue: one with a saved state, or
// one that starts child runs and may have started some before it could save a state.
func (p *Plan) abandon(i int) {
	step, kind := &p.nodes[i].step, p.nodes[i].def.kind
	if kind.Cleanup == nil || p.nodes[i].cleanedUp || step.Saved == nil && !(kind.StartsRuns() && step.Attempt > 0) {
		return
	}
	p.nodes[i].cleanedUp = true
	if in, err := p.resolve(i); err == nil {
		in.Attempt, in.State, in.Failures = step.Attempt, step.Saved, step.Failures
		p.abandoned = append(p.abandoned, Action{Node: i, In: in, def: p.nodes[i].def, class: p.nodes[i].class})
	}
	step.Saved = nil
}

// abandonOpen abandons all unfinished steps of a stopping run and reports whether any needs
// cleanup.
func (p *Plan) abandonOpen() bool {
	for i := range p.nodes {
		if !p.nodes[i].step.State.Ended() {
			p.abandon(i)
		}
	}
	return len(p.abandoned) > 0
}

// pauseStep makes a step wait until a time, in the given state.
func (p *Plan) pauseStep(i int, state flow.StepState, until time.Time) {
	step := &p.nodes[i].step
	step.State, step.WaitUntil = state, until
	p.pausing++
	p.markDirty(i)
}

// failStep handles the error of a step: a retry with back-off if the node allows one and the
// error is transient, else an alternative config during an outage, else the error handling of
// the node, else the end of the run. paid means that an answer had begun, so that the failed attempt
// cost money.
func (p *Plan) failStep(i int, e *flow.Error, now time.Time, paid bool) {
	n, step := p.nodes[i].def, &p.nodes[i].step
	e = &flow.Error{Code: e.Code, Message: e.Message, Node: n.ID, Retryable: e.Retryable, After: e.After}
	step.Error = e
	step.Failures++
	quotes := n.kind.StartsRuns() || n.kind.Expand != nil || n.kind.Untrusted != nil && n.kind.Untrusted(n.Node) // in the message
	step.Untrusted = step.Untrusted || quotes
	if p.stop == nil && n.Retry != nil && n.kind.Expand == nil && e.Retryable && step.Failures < n.Retry.Attempts {
		endAttempt(step, now, e, false)
		pause, state := backoff(n.Retry, step.Failures, e.After), flow.StepRetrying
		if pause > flow.HeldBackoff {
			state = flow.StepWaiting
		}
		p.pauseStep(i, state, now.Add(pause))
		return
	}
	if p.stop == nil && !paid && n.kind.Expand == nil && isOutage(e) && p.hasAlternative(i) {
		endAttempt(step, now, e, false)
		step.Attempts[len(step.Attempts)-1].Next++
		step.Failures = 0 // the alternative has retries of its own
		p.pauseStep(i, flow.StepRetrying, now)
		return
	}
	p.abandon(i)
	switch {
	case p.isSub(i): // the expanding step decides
		p.endStep(i, flow.StepFailed, nil, now)
	case n.OnError == nil:
		p.halt(e, flow.RunFailed)
		p.endStep(i, flow.StepFailed, nil, now)
	case n.OnError.Route:
		p.endStep(i, flow.StepFailed, map[string]any{flow.ErrorPort: map[string]any{"code": string(e.Code), "message": e.Message, "node": e.Node}}, now)
	default:
		p.endStep(i, flow.StepFailed, n.OnError.Continue, now)
	}
}

// isOutage reports whether an error means that the external service is unavailable, regardless
// of the request. An interrupted response is not retryable, because it may have cost money.
func isOutage(e *flow.Error) bool {
	return e.Retryable && (e.Code == flow.CodeProviderRateLimited || e.Code == flow.CodeProviderUnavailable || e.Code == flow.CodeStepTimeout)
}

// hasAlternative reports whether the step has another alternative config to continue with.
func (p *Plan) hasAlternative(i int) bool {
	n := p.nodes[i].def
	if n.kind.Alternative == nil {
		return false
	}
	_, ok := n.kind.Alternative(n.Config, p.nodes[i].step.Alternative()+1)
	return ok
}

// applyAlternative replaces the config of a step by the alternative that it currently uses.
func (n *graphNode) applyAlternative(in *flow.In, step *flow.Step) {
	alternative := step.Alternative()
	if alternative == 0 || n.kind.Alternative == nil {
		return
	}
	if config, ok := n.kind.Alternative(in.Config, alternative); ok {
		in.Config = config
		step.Input, _ = n.recorded(in)
	}
}

// backoff returns the pause before the next attempt. It doubles after each failure and is at
// least as long as the service asked for, up to a day, because every run must end.
func backoff(r *flow.Retry, failures int, after time.Duration) time.Duration {
	s := r.BackoffS * math.Pow(2, float64(failures-1))
	return min(max(after, time.Duration(min(s, flow.MaxBackoffS)*float64(time.Second))), flow.MaxBackoffS*time.Second)
}

// endStep sets the final state of a step.
func (p *Plan) endStep(i int, state flow.StepState, outputs map[string]any, now time.Time) {
	n, step := p.nodes[i].def, &p.nodes[i].step
	p.countInterrupted(i)
	step.State, step.Outputs, step.EndedAt, step.WaitUntil, step.Saved = state, outputs, now, time.Time{}, nil
	if state == flow.StepSucceeded || state == flow.StepReused {
		step.Error = nil
	}
	closeAttempts(step)
	if !p.isSub(i) {
		p.open--
	}
	p.progressed = true
	p.markDirty(i)
	if v, ok := outputs["value"]; ok && n.kind.Role == flow.RoleOutput {
		p.setOutput(flow.NameOf(n.Node), v)
		if step.Untrusted {
			p.run.Untrusted |= flow.UntrustedOutputs
		}
	}
	if p.nodes[i].class == flow.Outside && state != flow.StepReused {
		p.durable = true
		p.settling = append(p.settling, i) // dependents start once the step is on disk
		return
	}
	p.propagate(i)
}

// setOutput adds an output of the run, in the order in which the document declares the outputs.
func (p *Plan) setOutput(name string, v any) {
	outputs := &flow.Object{}
	for _, declared := range p.g.outputs {
		if declared == name {
			outputs.Set(name, v)
		} else if other, ok := p.run.Outputs.Lookup(declared); ok {
			outputs.Set(declared, other)
		}
	}
	p.run.Outputs = outputs
}

// propagate decides the outgoing edges of an ended step and lets its dependents react.
func (p *Plan) propagate(i int) {
	if p.isSub(i) {
		p.reportSub(i)
		return
	}
	from := &p.nodes[i].step
	for _, end := range p.g.nodes[i].ends {
		n := &p.nodes[end.node]
		if n.edges[end.edge].decided {
			continue
		}
		v, live := from.Outputs[p.g.nodes[end.node].in[end.edge].fromPort]
		n.edges[end.edge] = edgeState{decided: true, live: live && from.State != flow.StepSkipped, value: v}
		n.undecided--
	}
	for _, t := range p.g.nodes[i].out {
		p.decide(t)
	}
}

// decide enqueues or skips a node once its edges determine which. It does nothing if the run
// stops.
func (p *Plan) decide(i int) {
	n, state := &p.g.nodes[i], &p.nodes[i]
	if p.stop != nil || state.decided || state.undecided > 0 && !n.Disabled && !p.firstDecided(i) {
		return
	}
	state.decided = true
	switch {
	case n.Disabled || p.isDead(i):
		p.skipStep(i)
	case !state.step.WaitUntil.IsZero():
		p.pausing++ // restored during a pause
	default:
		p.enqueue(i)
	}
}

// skipStep ends a step that no live branch leads to. Its edges become dead.
func (p *Plan) skipStep(i int) {
	step := &p.nodes[i].step
	step.State = flow.StepSkipped
	p.open--
	p.markDirty(i)
	p.propagate(i)
}

// firstDecided reports whether all ports of the node take only the first live edge, and that
// edge is known although later edges are undecided.
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

// isDead reports whether a node must be skipped: it has no live edge, a required port has none,
// all outputs that it collects were skipped, or one of them could not be produced.
func (p *Plan) isDead(i int) bool {
	n := &p.g.nodes[i]
	if len(n.in) == 0 {
		return false
	}
	alive, missing := !slices.ContainsFunc(n.in, func(e graphEdge) bool { return e.tool == 0 }), map[string]bool{}
	for k, e := range n.in {
		s := &p.nodes[i].edges[k]
		if e.tool > 0 { // without the value, the step lacks a tool
			continue
		}
		alive = alive || s.live
		switch {
		case e.collects != "":
			if source := p.nodes[e.from].step.State; !s.live && source != flow.StepSkipped {
				return true
			}
			missing[flow.CollectedPort] = !s.live && noneLive(missing, flow.CollectedPort)
		case n.ports[e.toPort].Required:
			missing[e.toPort] = !s.live && noneLive(missing, e.toPort)
		}
	}
	for _, is := range missing {
		if is {
			return true
		}
	}
	return !alive
}

// noneLive reports whether none of the edges seen so far is live for a port.
func noneLive(missing map[string]bool, port string) bool {
	is, seen := missing[port]
	return is || !seen
}
