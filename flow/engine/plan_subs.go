package engine

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
)

// subSeparator separates the path of an expanding step from the name of a sub-step. Node IDs do
// not contain it.
const subSeparator = "."

// subSteps are the sub-steps of a plan; see flow.SubStep. Those that have ended before the plan
// was made need no place in Plan.nodes: their results are enough.
type subSteps struct {
	recorded map[string]map[string]flow.Step // rows found in the store, by node ID and name
	unknown  int                             // rows that have not ended, of sub-steps that no expansion has named yet
	due      []int                           // expanding steps whose next sub-steps are to be decided
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
}

// isSub reports whether a step is a sub-step.
func (p *Plan) isSub(i int) bool { return i >= len(p.g.nodes) }

// add keeps the row of a sub-step until its expansion names it. It returns false for the row of a
// node.
func (s *subSteps) add(row flow.Step) bool {
	node, name, is := strings.Cut(row.Path, subSeparator)
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
}

func subResult(s *flow.Step) *flow.SubResult {
	r := &flow.SubResult{State: s.State, Input: s.Input, Outputs: s.Outputs, Usage: s.Usage}
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
func (p *Plan) nextExpand() (Action, bool) {
	if p.stop != nil {
		p.subs.due = nil
		if p.subs.unknown == 0 {
			return Action{}, false
		}
		p.findUnknown()
	}
	if len(p.subs.due) == 0 {
		return Action{}, false
	}
	i := p.subs.due[0]
	p.subs.due = p.subs.due[1:]
	n := &p.nodes[i]
	n.expansion.due = false
	return Action{Type: ActExpand, Node: i, In: n.expansion.in, So: n.expansion.so, def: n.def, class: n.class}, true
}

// findUnknown queues a step whose recorded sub-steps are not in the plan yet, although the run
// stops: what they started must be canceled.
func (p *Plan) findUnknown() {
	for i := range p.g.nodes {
		n := &p.nodes[i]
		if !p.hasUnknown(i) {
			continue
		}
		if n.expansion == nil {
			in, err := p.resolve(i)
			if err != nil || n.def.kind.Expand == nil {
				p.addUnknown(i)
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
func (p *Plan) addUnknown(i int) {
	if p.nodes[i].expansion == nil {
		p.openExpansion(i, nil)
	}
	for name, row := range p.subs.recorded[p.nodes[i].step.Path] {
		if !row.State.Ended() && !p.nodes[i].expansion.named[name] {
			p.addSub(i, &flow.SubStep{Name: name, Kind: &flow.Kind{Name: row.Kind}})
		}
	}
}

// Expanded reports to the plan what an expanding step does next.
func (p *Plan) Expanded(i int, next flow.Next, err error, now time.Time) {
	for k := range next.Steps {
		p.addSub(i, &next.Steps[k])
	}
	if p.stop != nil {
		p.addUnknown(i)
		return
	}
	if err == nil && p.subs.full {
		err = flow.Errorf(flow.CodeOutputTooLarge, "The run has more than %d steps inside of nodes.", flow.MaxSubSteps)
	}
	switch {
	case p.nodes[i].expansion.open > 0: // Expand is called again after each end
	case p.hasUnknown(i): // another version of the kind named them
		from := len(p.nodes)
		p.addUnknown(i)
		for k := from; k < len(p.nodes); k++ {
			p.endStep(k, flow.StepCanceled, nil, now)
		}
	case err != nil:
		p.failStep(i, flow.AsError(err), now, false)
	case next.Outputs != nil:
		p.endStep(i, flow.StepSucceeded, next.Outputs, now)
	default:
		p.failStep(i, flow.Errorf(flow.CodeInternal, "The step cannot continue: it waits for nothing."), now, false)
	}
}

// addSub adds a sub-step to the plan unless it is there or has ended. A recorded one continues; a
// run that stops gets no others.
func (p *Plan) addSub(i int, sub *flow.SubStep) {
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
	def := &graphNode{
		Node: &flow.Node{ID: parent.def.ID, Kind: sub.Kind.Name, Config: sub.Config, Retry: sub.Retry, TimeoutS: sub.TimeoutS},
		kind: sub.Kind, hash: flow.Hash(flow.EncodeJSON(sub.Kind.Name)), secrets: sub.Credentials, sub: sub,
	}
	n := planNode{def: def, class: sub.Kind.Class, decided: true, parent: i, step: flow.Step{
		Path: parent.step.Path + subSeparator + sub.Name, Node: parent.def.ID, Kind: sub.Kind.Name, State: flow.StepPending, NodeHash: def.hash,
	}}
	e.named[sub.Name] = true
	e.open++
	k := len(p.nodes)
	p.nodes = append(p.nodes, n)
	if isRecorded {
		p.subs.unknown--
		p.restore(k, row)
	} else {
		p.subs.total++
	}
	switch s := &p.nodes[k].step; {
	case p.stop != nil || sub.Kind.Run == nil:
	case !s.WaitUntil.IsZero():
		p.pausing++
	default:
		p.enqueue(k)
	}
}

// reportSub passes the end of a sub-step to the step that it belongs to.
func (p *Plan) reportSub(k int) {
	n := &p.nodes[k]
	_, name, _ := strings.Cut(n.step.Path, subSeparator)
	e := p.nodes[n.parent].expansion
	e.so.Done[name] = subResult(&n.step)
	e.open--
	p.expandSoon(n.parent)
}

// waitForSubSteps marks expanding steps as waiting, because all of their sub-steps wait.
func (p *Plan) waitForSubSteps() {
	for i := range p.g.nodes {
		if n := &p.nodes[i]; n.expansion != nil && n.step.State == flow.StepRunning {
			n.step.State = flow.StepWaiting
			p.markDirty(i)
		}
	}
}

// continueParent marks the step of a sub-step that begins as running again.
func (p *Plan) continueParent(k int) {
	if parent := &p.nodes[p.nodes[k].parent]; p.isSub(k) && parent.step.State == flow.StepWaiting {
		parent.step.State = flow.StepRunning
		p.markDirty(p.nodes[k].parent)
	}
}

// forces reports whether a rerun executes the step at a path of a node again whatever its input.
func (r *Reuse) forces(node, path string) bool {
	inside, begins := strings.CutPrefix(r.from, node+subSeparator)
	if !begins {
		return r.Forced[node]
	}
	name, isSub := strings.CutPrefix(path, node+subSeparator)
	return r.Forced[node] || !isSub || compareNames(name, inside) >= 0
}

// reuseFailure ends a sub-step like that of the parent run, which failed, if later sub-steps there
// built on the failure. It reports whether it did.
func (p *Plan) reuseFailure(i int, old *flow.Step, now time.Time) bool {
	step := &p.nodes[i].step
	if old.State != flow.StepFailed || !p.reuse.isSettled(step.Path) {
		return false
	}
	step.Error = old.Error
	p.endStep(i, flow.StepFailed, nil, now)
	return true
}

// isSettled reports whether the run has a sub-step that came after everything that the first part
// of a name stands for, such as a later turn of an agent.
func (r *Reuse) isSettled(path string) bool {
	node, name, _ := strings.Cut(path, subSeparator)
	group, _, _ := strings.Cut(name, subSeparator)
	for other := range r.Steps {
		n, later, isSub := strings.Cut(other, subSeparator)
		later, _, _ = strings.Cut(later, subSeparator)
		if isSub && n == node && compareNames(later, group) > 0 {
			return true
		}
	}
	return false
}

// compareNames compares the names of sub-steps part by part. Numbers at the beginning of a part
// count as numbers.
func compareNames(a, b string) int {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, subSeparator)
		y, b, _ = strings.Cut(b, subSeparator)
		xn, xs := leadingNumber(x)
		yn, ys := leadingNumber(y)
		if c := cmp.Or(cmp.Compare(xn, yn), cmp.Compare(xs, ys)); c != 0 {
			return c
		}
	}
	return 0
}

// leadingNumber splits a text into the number at its beginning, or -1, and the rest.
func leadingNumber(s string) (n int, rest string) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return -1, s
	}
	return n, s[end:]
}
