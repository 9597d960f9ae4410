package engine

import (
	"fmt"

	"sluice/flow"
	"sluice/flow/flowtest"
)

// simJob is something that a step has done elsewhere and pays for until it is
// over. Its name is what the step must not forget.
type simJob struct {
	step     string
	known    bool // its name is, or was, on disk
	over     bool // done, or failed on its own
	canceled bool
}

// moveJob brings the job of a started step on: it is begun, or it fails and is
// forgotten. Both are told to the plan and count once they are on disk. It is
// false when the step itself may end.
func (w *world) moveJob(a *Action) (moved bool, err error) {
	n := &w.g.nodes[a.Node]
	if n.Kind != "job" || w.aborted[a.Node] || w.forgot[a.Node] || w.refused[a.Node] {
		return false, nil
	}
	name, pauses := flowtest.JobOf(a.In.State)
	if name == "" {
		return true, w.beginJob(a, pauses)
	}
	fails, _ := flow.Float(n.Config["fails"])
	if n.Config["forgets"] != true || w.plan.nodes[a.Node].step.Failures >= int(fails) || pauses < a.In.Int("pauses") {
		return false, nil
	}
	w.say("job %s failed on its own", name)
	w.jobs[name].over = true
	w.forgot[a.Node], w.saving[a.Node] = true, true
	w.plan.Save(a.Node, flowtest.JobState("", pauses)) // the pauses are no part of the job
	return true, nil
}

// beginJob: a step that has a job on disk must never begin another.
func (w *world) beginJob(a *Action, pauses int) error {
	step := w.name(a.Node)
	if known, _ := flowtest.JobOf(flowtest.Decoded(orNull(w.disk.rows[step].saved))); known != "" {
		return fmt.Errorf("%s begins a job although %s is on disk", step, known)
	}
	name := fmt.Sprintf("%s/%d", step, len(w.jobs))
	w.say("begin job %s", name)
	w.jobs[name] = &simJob{step: step}
	a.In.State = flowtest.JobState(name, pauses)
	w.saving[a.Node] = true
	w.plan.Save(a.Node, a.In.State)
	return nil
}

func orNull(data []byte) []byte {
	if len(data) == 0 {
		return []byte("null")
	}
	return data
}

// recordJobs notes which jobs a write that was made tells of. A name that is
// new to the disk must be synced: it is being paid for.
func (w *world) recordJobs(rw *flow.RunWrite) error {
	for i := range rw.Steps {
		s := &rw.Steps[i]
		name, _ := flowtest.JobOf(s.Saved)
		if job := w.jobs[name]; job != nil && !job.known {
			if job.known = true; !rw.Durable {
				return fmt.Errorf("job %s is recorded in a write that is not durable", name)
			}
		}
		if s.Kind == "job" && s.State == flow.StepSucceeded {
			w.endJobs(s.Path)
		}
	}
	return nil
}

// endJobs: the step succeeded, so the job that it had is done.
func (w *world) endJobs(step string) {
	for _, job := range w.jobs {
		job.over = job.over || job.step == step && job.known
	}
}

// abandon cancels jobs, as their steps are not gone on with. It may happen
// again after a crash.
func (w *world) abandon(list []*flow.In) error {
	for _, in := range list {
		name, _ := flowtest.JobOf(in.State)
		w.say("abandon %s: job %q", in.Path, name)
		if row := w.disk.rows[in.Path].step; row.State.Ended() {
			return fmt.Errorf("%s is abandoned although recorded as %s", in.Path, row.State)
		}
		if w.running(in.Path) {
			return fmt.Errorf("%s is abandoned while it runs", in.Path)
		}
		if job := w.jobs[name]; job != nil {
			job.canceled = true
		}
		if w.g.nodes[w.g.index[in.Node]].Kind == "spawn" {
			w.stopChildren(roundKey(in.Path, in.Failures))
		}
	}
	return nil
}

func (w *world) running(path string) bool {
	for _, a := range w.started {
		if w.name(a.Node) == path {
			return true
		}
	}
	return false
}

// checkJobs: when a run has ended, nothing that it knew of is still being paid
// for.
func (w *world) checkJobs() error {
	for name, job := range w.jobs {
		if job.known && !job.over && !job.canceled {
			return fmt.Errorf("the run is %s and its job %s continues", w.disk.run.State, name)
		}
	}
	return nil
}
