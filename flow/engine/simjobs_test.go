package engine

import (
	"fmt"

	"sluice/flow"
	"sluice/flow/flowtest"
)

// simJob is an external job that costs money until it ends. The step saves its name as its
// state.
type simJob struct {
	step     string
	known    bool // its name is or was on disk
	over     bool // it succeeded, or failed on its own
	canceled bool
}

// moveJob advances the job of a started step: the job begins, or it fails and its name is
// deleted. The step saves both. It returns false when the step itself may end.
func (w *world) moveJob(a *Action) (moved bool, err error) {
	n := a.def
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

// beginJob begins a job. It is an error if the step already has one on disk.
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

// recordJobs records which jobs are named in a committed write. A write with a new name must be
// durable, because the job costs money.
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

// endJobs marks the jobs of a successful step as ended.
func (w *world) endJobs(step string) {
	for _, job := range w.jobs {
		job.over = job.over || job.step == step && job.known
	}
}

// abandon cancels the jobs of abandoned steps. It may be repeated after a crash.
func (w *world) abandon(list []Action) error {
	for _, a := range list {
		in := a.In
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
		if a.def.Kind == "spawn" {
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

// checkJobs checks that no known job of an ended run is still running.
func (w *world) checkJobs() error {
	for name, job := range w.jobs {
		if job.known && !job.over && !job.canceled {
			return fmt.Errorf("the run is %s and its job %s continues", w.disk.run.State, name)
		}
	}
	return nil
}
