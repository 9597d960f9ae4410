package engine

import (
	"fmt"
	"strings"
	"sync/atomic"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
)

// checkStart checks the preconditions of a start.
func (w *world) checkStart(a Action) error {
	n, row := a.def, w.disk.rows[w.name(a.Node)].step
	key := fmt.Sprintf("%s in attempt %d, start %d", w.name(a.Node), w.disk.attempt, a.In.Attempt)
	if w.starts[key] {
		return fmt.Errorf("%s: started twice", key)
	}
	w.starts[key] = true
	if row.State.Ended() {
		return fmt.Errorf("%s: started although it is recorded as %s", key, row.State)
	}
	if a.In.Key != "run_1:"+w.name(a.Node) {
		return fmt.Errorf("%s: execution key %s", key, a.In.Key)
	}
	if n.Disabled {
		return fmt.Errorf("%s: started although disabled", key)
	}
	for k, e := range n.in {
		if n.ports[e.toPort].First && !w.plan.nodes[a.Node].edges[k].decided {
			continue // the port has its value and ignores later edges
		}
		if err := w.checkSource(e); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	node := a.Node
	if w.plan.isSub(node) {
		if err := w.checkEarlier(node); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		node = w.plan.nodes[node].parent
	}
	if n.kind.Class == flow.Inline {
		return nil
	}
	if row.State != flow.StepRunning || row.Attempt != a.In.Attempt {
		return fmt.Errorf("%s: started while recorded as %s, start %d", key, row.State, row.Attempt)
	}
	if len(w.started) >= flow.StepParallel {
		return fmt.Errorf("%s: a step too many at once", key)
	}
	return w.checkAncestors(node, map[int]bool{})
}

// checkEarlier checks that the sub-steps on whose results a sub-step builds are on disk.
func (w *world) checkEarlier(i int) error {
	node, name, _ := strings.Cut(w.name(i), flow.SubSeparator)
	round, _, isCall := strings.Cut(name, flow.SubSeparator)
	for path, row := range w.disk.rows {
		other, isSub := strings.CutPrefix(path, node+flow.SubSeparator)
		before := flow.CompareSubSteps(other, round) < 0 || isCall && other == round
		if !isSub || !before {
			continue
		}
		s := row.step
		ended, synced := w.disk.ended(path)
		if !ended || flowtest.Kinds.Find(s.Kind).Class == flow.Outside && s.Attempt > 0 && !synced {
			return fmt.Errorf("started while %s is %s, synced: %t", path, s.State, synced)
		}
	}
	return nil
}

// checkSource checks that the source of an edge has ended and, if it has an external effect, is
// durably on disk.
func (w *world) checkSource(e graphEdge) error {
	from, state := &w.g.nodes[e.from], w.plan.nodes[e.from].step.State
	if !state.Ended() {
		return fmt.Errorf("started before %s ended (%s)", from.ID, state)
	}
	_, synced := w.disk.ended(from.ID)
	if from.kind.Class == flow.Outside && (state == flow.StepSucceeded || state == flow.StepFailed) && !synced && w.plan.nodes[e.from].step.Attempt > 0 {
		return fmt.Errorf("started before the effect of %s was on disk", from.ID)
	}
	return nil
}

// checkAncestors checks that all steps that a step depends on are recorded when it starts in a
// goroutine of its own.
func (w *world) checkAncestors(i int, seen map[int]bool) error {
	n := &w.g.nodes[i]
	for _, e := range n.in {
		if seen[e.from] || n.ports[e.toPort].First {
			continue
		}
		seen[e.from] = true
		if ended, _ := w.disk.ended(w.name(e.from)); !ended {
			return fmt.Errorf("started before %s was recorded", w.name(e.from))
		}
		if w.g.nodes[e.from].Disabled || w.disk.rows[w.name(e.from)].at < 0 {
			continue // skipped or pinned without waiting for anything
		}
		if err := w.checkAncestors(e.from, seen); err != nil {
			return err
		}
	}
	return nil
}

// checkWrite compares a write with the state on disk.
func (w *world) checkWrite(rw *flow.RunWrite, before *flow.Run) error {
	r := rw.Run
	passing := before.State.CanBecome(flow.RunRunning) && flow.RunRunning.CanBecome(r.State) && !r.StartedAt.IsZero() // in one write
	if r.State != before.State && !before.State.CanBecome(r.State) && !passing {
		return fmt.Errorf("the run moves from %s to %s", before.State, r.State)
	}
	if rw.End != r.State.Ended() || rw.End && !rw.Durable || (r.State == flow.RunWaiting) != !rw.WakeAt.IsZero() {
		return fmt.Errorf("state %s with end %v, durable %v, wake at %s", r.State, rw.End, rw.Durable, rw.WakeAt)
	}
	if len(rw.Deliveries) > 0 && !rw.Durable {
		return fmt.Errorf("deliveries in a write that is not durable")
	}
	numbers := map[int64]bool{}
	number := func(n int64, of string) error {
		if n <= before.Seq || n > r.Seq || numbers[n] {
			return fmt.Errorf("%s has event number %d; before %d, now up to %d", of, n, before.Seq, r.Seq)
		}
		numbers[n] = true
		return nil
	}
	for i := range rw.Steps {
		s := &rw.Steps[i]
		if was := w.disk.rows[s.Path].step.State; was.Ended() {
			return fmt.Errorf("%s is recorded as %s and written again as %s", s.Path, was, s.State)
		}
		if err := number(s.Seq, s.Path); err != nil {
			return err
		}
		if s.OutputSeq != 0 {
			if err := number(s.OutputSeq, "output of "+s.Path); err != nil {
				return err
			}
		}
		if err := w.checkStep(s, rw.Durable); err != nil {
			return err
		}
	}
	if r.State != before.State || r.State == flow.RunWaiting && r.WaitingSince.After(before.WaitingSince) {
		if err := number(r.RunSeq, "the run"); err != nil {
			return err
		}
	} else if r.RunSeq != before.RunSeq {
		return fmt.Errorf("the run has a new event number without a new state")
	}
	if int64(len(numbers)) != r.Seq-before.Seq {
		return fmt.Errorf("%d events, numbered from %d to %d", len(numbers), before.Seq+1, r.Seq)
	}
	return nil
}

func (w *world) checkStep(s *flow.Step, durable bool) error {
	k := flowtest.Kinds.Find(s.Kind)
	unsaved := s.Saved != nil && string(flow.EncodeJSON(s.Saved)) != string(w.disk.rows[s.Path].saved)
	effect := s.State == flow.StepSucceeded || s.State == flow.StepFailed || s.State == flow.StepWaiting && unsaved
	if k.Class == flow.Outside && effect && !durable && s.Attempt > 0 {
		return fmt.Errorf("%s is %s in a write that is not durable", s.Path, s.State)
	}
	if s.State == flow.StepReused && (s.Usage != flow.Usage{} || w.reuse.forces(s.Node, s.Path)) {
		return fmt.Errorf("%s is reused with %+v", s.Path, s.Usage)
	}
	if s.State.Ended() && (s.Saved != nil || !s.WaitUntil.IsZero()) {
		return fmt.Errorf("%s is %s and still waits", s.Path, s.State)
	}
	return nil
}

// checkRecorded compares the run's row with the rows of its steps.
func (w *world) checkRecorded() error {
	var usage flow.Usage
	done := 0
	for _, r := range w.disk.rows {
		usage = usage.Add(r.step.Usage)
		if r.step.State.Ended() && r.step.Path == r.step.Node {
			done++
		}
	}
	var spent flow.Usage
	for _, e := range w.disk.log {
		for _, r := range e.rows {
			spent = spent.Add(r.step.Spent)
		}
	}
	if spent != usage {
		return fmt.Errorf("what was counted is %+v, that of the steps %+v", spent, usage)
	}
	run := &w.disk.run
	if run.Progress.Done != done || run.Progress.Total != w.g.Len() {
		return fmt.Errorf("progress %+v with %d ended steps of %d", run.Progress, done, w.g.Len())
	}
	if run.Usage != usage {
		return fmt.Errorf("usage %+v, that of the steps %+v", run.Usage, usage)
	}
	return nil
}

// checkEnd checks the invariants of an ended run.
func (w *world) checkEnd() error {
	run, sent := &w.disk.run, w.disk.deliveries()
	if err := w.checkRecorded(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	for i := range w.g.nodes {
		n := &w.g.nodes[i]
		row, ok := w.disk.rows[n.ID]
		if ok != row.step.State.Ended() || !ok && run.State == flow.RunSucceeded {
			return fmt.Errorf("the run is %s and %s is %q", run.State, n.ID, row.step.State)
		}
		if row.step.State == flow.StepCanceled && run.State == flow.RunSucceeded {
			return fmt.Errorf("the run succeeded and %s is canceled", n.ID)
		}
		if body, was := sent[n.ID]; was != (n.kind.OutputsField != "" && row.step.State == flow.StepSucceeded) {
			return fmt.Errorf("%s is %s and sent %q", n.ID, row.step.State, body)
		}
		if v, given := outputsOf(row)["value"]; n.kind.Role == flow.RoleOutput && given && string(flow.EncodeJSON(run.Outputs.Get(flow.NameOf(n.Node)))) != string(flow.EncodeJSON(v)) {
			return fmt.Errorf("output %s is %v in the run and %v in the step", n.ID, run.Outputs.Get(flow.NameOf(n.Node)), v)
		}
	}
	for path, row := range w.disk.rows {
		node, _, isSub := strings.Cut(path, flow.SubSeparator)
		late := isSub && codeOf(w.disk.rows[node].decode().Error) == flow.CodeStepTimeout
		if s := row.step; !s.State.Ended() || s.State == flow.StepCanceled && run.State == flow.RunSucceeded && !late && !w.isMoot(path) {
			return fmt.Errorf("the run is %s and %s is %s", run.State, path, s.State)
		}
	}
	if err := w.checkOutputs(run); err != nil {
		return err
	}
	if err := w.checkChildren(); err != nil {
		return err
	}
	if err := w.checkJobs(); err != nil {
		return err
	}
	if (run.Error != nil) != (run.State == flow.RunFailed) || run.EndedAt.IsZero() {
		return fmt.Errorf("the run is %s with error %v, ended at %s", run.State, run.Error, run.EndedAt)
	}
	if w.chaos == (chaos{}) && run.Error != nil && run.Error.Code != flow.CodeProviderUnavailable && run.Error.Code != flow.CodeChildFailed {
		return fmt.Errorf("the run failed on its own: %v", run.Error)
	}
	return nil
}

// isMoot reports whether a step is a question of a step that has failed. It ends with that step, unless it was answered before.
func (w *world) isMoot(path string) bool {
	node, _, isSub := strings.Cut(path, flow.SubSeparator)
	k := flowtest.Kinds.Find(w.disk.rows[path].step.Kind)
	return isSub && w.disk.rows[node].step.State == flow.StepFailed && k != nil && k.WaitsFor == flow.WaitsForApproval
}

// checkOutputs compares the outputs of a successful run with the outputs declared to callers.
// Pinned outputs may have any value.
func (w *world) checkOutputs(run *flow.Run) error {
	if run.State != flow.RunSucceeded {
		return nil
	}
	for _, row := range w.disk.rows {
		if row.at < 0 {
			return nil
		}
	}
	for _, o := range document.Outputs(w.g.Document, flowtest.Kinds) {
		v, given := run.Outputs.Lookup(o.Name)
		if !given && !o.Optional {
			return fmt.Errorf("the output %s is missing, although it is not optional", o.Name)
		}
		if given && !o.Type.Is(v) {
			return fmt.Errorf("the output %s is %v, which is not %s", o.Name, v, o.Type)
		}
		if given {
			simOutputs.given.Add(1)
		}
		if !o.Optional {
			simOutputs.certain.Add(1)
		}
	}
	return nil
}

// simOutputs counts the outputs of simulated runs that had a value, and those that were
// declared to always have one.
var simOutputs struct{ given, certain atomic.Int64 }

// checkAhead checks that the initial steps of the run were neither started nor changed.
func (w *world) checkAhead(ahead []flow.Step) error {
	for i := range ahead {
		want, row := encodeRow(ahead[i], -1), w.disk.rows[ahead[i].Path]
		if row.at != -1 || row.step.Attempt != 0 || row.step.State != want.step.State || string(row.outputs) != string(want.outputs) {
			return fmt.Errorf("%s came with the run as %s and is %+v", ahead[i].Path, ahead[i].State, row.decode())
		}
	}
	return nil
}
