package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// subSteps are the sub-steps of a plan; see flow.SubStep. Those that have ended before the plan
// was made need no place in Plan.nodes: their results are enough.
type subSteps struct {
	recorded map[string]map[string]flow.Step // rows found in the store, by node ID and name
	unknown  int                             // rows that have not ended, of sub-steps that no expansion has named yet
	due      []int                           // expanding steps whose next sub-steps are to be decided
	limited  []int                           // expanding steps with a time limit
	total    int
	full     bool // more were wanted than a run may have
}

// expansion is the state of an expanding step that has begun.
type expansion struct {
	in    *flow.In
	so    *flow.Expansion
	named map[string]bool // sub-steps in Plan.nodes
	open  int             // those of them that have not reported their end
	due   bool            // is in subSteps.due
	asked bool            // Expand was called
	fails bool            // Expand has returned an error, so that the answers to questions do not matter any more
	late  bool            // has worked for longer than its time limit, and ends with its open sub-steps
}

// isSub reports whether a step is a sub-step.
func (p *Plan) isSub(i int) bool { return i >= len(p.g.nodes) }

// add keeps the row of a sub-step until its expansion names it. It returns false for the row of a
// node.
func (s *subSteps) add(row flow.Step) bool {
	node, name, is := strings.Cut(row.Path, flow.SubSeparator)
	if !is {
		return false
	}
	if s.recorded == nil {
		s.recorded = map[string]map[string]flow.Step{}
	}
	if s.recorded[node] == nil {
		s.recorded[node] = map[string]flow.Step{}
	}
	s.recorded[node][name] = row
	s.total++
	if !row.State.Ended() {
		s.unknown++
	}
	return true
}

// beginExpansion starts an expanding step, or continues it with its recorded sub-steps.
func (p *Plan) beginExpansion(i int, now time.Time) {
	n := &p.nodes[i]
	if n.step.Attempt == 0 {
		p.begin(i, now)
		p.markDirty(i)
	}
	n.in.Attempt = n.step.Attempt
	p.openExpansion(i, n.in)
	n.in = nil
	p.expandSoon(i)
}

func (p *Plan) openExpansion(i int, in *flow.In) {
	e := &expansion{in: in, so: &flow.Expansion{Done: map[string]*flow.SubResult{}}, named: map[string]bool{}}
	for name, row := range p.subs.recorded[p.nodes[i].step.Path] {
		if row.State.Ended() {
			e.so.Done[name] = subResult(&row)
		}
	}
	p.nodes[i].expansion = e
	if p.nodes[i].def.TimeoutS > 0 {
		e.late = value.Get(p.nodes[i].step.Saved, savedLate) == true
		p.subs.limited = append(p.subs.limited, i)
	}
}

func subResult(s *flow.Step) *flow.SubResult {
	r := &flow.SubResult{State: s.State, Input: s.Input, Outputs: s.Outputs, Usage: s.Usage, Untrusted: s.Untrusted}
	if s.State == flow.StepFailed {
		r.Error = s.Error
	}
	return r
}

func (p *Plan) expandSoon(i int) {
	if e := p.nodes[i].expansion; !e.due {
		e.due = true
		p.subs.due = append(p.subs.due, i)
	}
}

// nextExpand returns the next step whose sub-steps are to be decided. While the run stops, these
// are the steps that have recorded sub-steps to cancel.
func (p *Plan) nextExpand(now time.Time) (Action, bool) {
	if p.stop != nil {
		p.subs.due = nil
		if p.subs.unknown == 0 {
			return Action{}, false
		}
		p.findUnknown(now)
	}
	for len(p.subs.due) > 0 {
		i := p.subs.due[0]
		p.subs.due = p.subs.due[1:]
		n := &p.nodes[i]
		if n.expansion.due = false; n.expansion.late && n.expansion.asked && p.stop == nil {
			failLate(p, i, now)
			continue
		}
		return Action{Type: ActExpand, Node: i, In: n.expansion.in, So: n.expansion.so, def: n.def, class: n.class}, true
	}
	return Action{}, false
}

// findUnknown queues a step whose recorded sub-steps are not in the plan yet, although the run
// stops: what they started must be canceled.
func (p *Plan) findUnknown(now time.Time) {
	for i := range p.g.nodes {
		n := &p.nodes[i]
		if !p.hasUnknown(i) {
			continue
		}
		if n.expansion == nil {
			in, err := p.resolve(i)
			if err != nil || n.def.kind.Expand == nil {
				p.addUnknown(i, now)
				continue
			}
			in.Attempt = n.step.Attempt
			p.openExpansion(i, in)
		}
		n.expansion.due = false // the queue was emptied
		p.expandSoon(i)
		return
	}
}

// hasUnknown reports whether a step has recorded sub-steps that have not ended and are not in the
// plan.
func (p *Plan) hasUnknown(i int) bool {
	for name, row := range p.subs.recorded[p.nodes[i].step.Path] {
		if e := p.nodes[i].expansion; !row.State.Ended() && (e == nil || !e.named[name]) {
			return true
		}
	}
	return false
}

// addUnknown adds the rows of sub-steps whose kind cannot be found out any more, so that their
// end is recorded.
func (p *Plan) addUnknown(i int, now time.Time) {
	if p.nodes[i].expansion == nil {
		p.openExpansion(i, nil)
	}
	for name, row := range p.subs.recorded[p.nodes[i].step.Path] {
		if !row.State.Ended() && !p.nodes[i].expansion.named[name] {
			p.addSub(i, &flow.SubStep{Name: name, Kind: &flow.Kind{Name: row.Kind}}, now)
		}
	}
}

// Expanded reports to the plan what an expanding step does next.
func (p *Plan) Expanded(i int, next flow.Next, err error, now time.Time) {
	paused := false
	for k := range next.Steps {
		if p.pausesBefore(i, &next.Steps[k]) {
			paused = true
			continue
		}
		p.addSub(i, &next.Steps[k], now)
	}
	if p.stop != nil {
		p.addUnknown(i, now)
		return
	}
	e := p.nodes[i].expansion
	if e.asked = true; e.late { // another worker found that, and did not record the end
		endSubs(p, i, now)
		return
	}
	e.fails = err != nil
	if paused { // checkStop cancels the run, after the turns of other steps
		return
	}
	if err == nil && p.subs.full {
		err = flow.Errorf(flow.CodeOutputTooLarge, "The run has more than %d steps inside of nodes.", flow.MaxSubSteps)
	}
	switch {
	case p.nodes[i].expansion.open > 0: // Expand is called again after each end
		waitIfAllWait(p, i, now)
	case p.hasUnknown(i): // another version of the kind named them
		cancelUnknown(p, i, now)
	case err != nil:
		p.failStep(i, flow.AsError(err), now, false)
	case next.Outputs != nil:
		p.nodes[i].step.Untrusted = p.nodes[i].step.Untrusted || next.Untrusted
		p.endStep(i, flow.StepSucceeded, next.Outputs, now)
	default:
		p.failStep(i, flow.Errorf(flow.CodeInternal, "The step cannot continue: it waits for nothing."), now, false)
	}
}

// cancelUnknown ends recorded sub-steps that no expansion names any more.
func cancelUnknown(p *Plan, i int, now time.Time) {
	from := len(p.nodes)
	p.addUnknown(i, now)
	for k := from; k < len(p.nodes); k++ {
		p.endStep(k, flow.StepCanceled, nil, now)
	}
}

// addSub adds a sub-step to the plan unless it is there or has ended. A recorded one continues; a
// run that stops gets no others.
func (p *Plan) addSub(i int, sub *flow.SubStep, now time.Time) {
	parent := &p.nodes[i]
	e, rows := parent.expansion, p.subs.recorded[parent.step.Path]
	row, isRecorded := rows[sub.Name]
	if e.named[sub.Name] || e.so.Done[sub.Name] != nil || p.stop != nil && !isRecorded {
		return
	}
	if !isRecorded && p.subs.total == flow.MaxSubSteps {
		p.subs.full = true
		return
	}
	def := parent.def.subNode(sub)
	n := planNode{def: def, class: def.kind.Class, decided: true, parent: i, step: flow.Step{
		Path: parent.step.Path + flow.SubSeparator + sub.Name, Node: cmp.Or(sub.Tool, parent.def.ID), Kind: def.Kind, State: flow.StepPending, NodeHash: def.hash,
	}}
	e.named[sub.Name] = true
	e.open++
	k := len(p.nodes)
	p.nodes = append(p.nodes, n)
	if isRecorded {
		p.subs.unknown--
		p.restore(k, row)
		if p.nodes[k].actsOnce() && row.State == flow.StepRunning && interrupted(&row) {
			p.loseOutcome(k, now)
		}
	} else {
		p.subs.total++
	}
	switch s := &p.nodes[k].step; {
	case p.stop != nil || def.kind.Run == nil || s.State.Ended():
	case !s.WaitUntil.IsZero():
		p.pausing++
	default:
		p.enqueue(k)
	}
}

// loseOutcome ends a step that acts once and was interrupted.
func (p *Plan) loseOutcome(k int, now time.Time) {
	p.nodes[k].interrupted = false
	err := outcomeUnknown()
	err.Node = p.nodes[k].def.ID
	p.nodes[k].step.Error = err
	p.endStep(k, flow.StepFailed, nil, now)
}

// subNode returns the node of a sub-step. It has the edges of its node, which decide whether it may
// use a secret input, but no state of edges.
func (n *graphNode) subNode(sub *flow.SubStep) *graphNode {
	if tool := n.tool(sub.Tool); tool != nil {
		own, node := *tool, *tool.Node
		node.ID, node.Config, node.OnError = n.ID, sub.Config, nil
		if own.Node, own.sub = &node, sub; sub.Once {
			node.Retry = nil
		}
		return &own
	}
	return &graphNode{
		Node: &flow.Node{ID: n.ID, Kind: sub.Kind.Name, Config: sub.Config, Retry: sub.Retry, TimeoutS: sub.TimeoutS},
		kind: sub.Kind, hash: flow.Hash(flow.EncodeJSON(sub.Kind.Name)), secrets: slices.Concat(n.secrets, sub.Credentials), in: n.in, sub: sub,
	}
}

// reportSub passes the end of a sub-step to the step that it belongs to.
func (p *Plan) reportSub(k int) {
	n := &p.nodes[k]
	_, name, _ := strings.Cut(n.step.Path, flow.SubSeparator)
	e := p.nodes[n.parent].expansion
	e.so.Done[name] = subResult(&n.step)
	e.open--
	p.expandSoon(n.parent)
}

// forces reports whether a rerun executes the step at a path of a node again whatever its input.
func (r *Reuse) forces(node, path string) bool {
	inside, begins := strings.CutPrefix(r.from, node+flow.SubSeparator)
	if !begins {
		return r.Forced[node]
	}
	name, isSub := strings.CutPrefix(path, node+flow.SubSeparator)
	return r.Forced[node] || !isSub || flow.CompareSubSteps(name, inside) >= 0
}

// reuseFailure ends a sub-step like that of the parent run, which failed, if later sub-steps there
// built on the failure. It reports whether it did.
func (p *Plan) reuseFailure(i int, old *flow.Step, now time.Time) bool {
	step := &p.nodes[i].step
	if old.State != flow.StepFailed || !p.reuse.isSettled(step.Path) {
		return false
	}
	step.Error, step.Untrusted = old.Error, step.Untrusted || old.Untrusted
	p.endStep(i, flow.StepFailed, nil, now)
	return true
}

// isSettled reports whether the run has a sub-step that came after everything that the first part
// of a name stands for, such as a later turn of an agent.
func (r *Reuse) isSettled(path string) bool {
	node, name, _ := strings.Cut(path, flow.SubSeparator)
	group, _, _ := strings.Cut(name, flow.SubSeparator)
	for other := range r.Steps {
		n, later, isSub := strings.Cut(other, flow.SubSeparator)
		later, _, _ = strings.Cut(later, flow.SubSeparator)
		if isSub && n == node && flow.CompareSubSteps(later, group) > 0 {
			return true
		}
	}
	return false
}

// StopAfterTurn cancels the run once its expanding steps have ended the group of sub-steps that they
// are at, such as the turn of an agent with its calls. A run without such steps at work is canceled
// at once.
func (p *Plan) StopAfterTurn() { p.run.StopRequested = true }

// pausesBefore reports whether a sub-step begins a group that must not begin any more.
func (p *Plan) pausesBefore(i int, sub *flow.SubStep) bool {
	if !p.run.StopRequested || flow.IsSubStep(sub.Name) {
		return false
	}
	path := p.nodes[i].step.Path
	_, isRecorded := p.subs.recorded[path][sub.Name]
	return !isRecorded && !p.nodes[i].expansion.named[sub.Name]
}

// checkStop cancels a run that is to stop, once no expanding step is inside of a group.
func (p *Plan) checkStop() {
	if !p.run.StopRequested || p.stop != nil || p.open == 0 {
		return
	}
	for i := range p.g.nodes {
		n := &p.nodes[i]
		if n.def.kind.Expand == nil || n.step.State.Ended() || n.step.Attempt == 0 {
			continue
		}
		if e := n.expansion; e == nil || e.due || e.open > 0 {
			return
		}
	}
	p.Cancel()
}
