package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/flow"
)

// work begins one job and returns the rest of it. Jobs never fail towards the
// queue: runs record their own end, deliveries their own next attempt.
func (r *Runner) startJob(j flow.Job) func(context.Context) {
	if j.Kind == flow.JobDelivery {
		return func(ctx context.Context) { r.logJobError(ctx, j, r.deliver(ctx, j)) }
	}
	active := r.claim(j.ID) // before the run is read, so that no cancel falls in between
	return func(ctx context.Context) { r.logJobError(ctx, j, r.executeRun(ctx, active, j, nil)) }
}

// report logs why a job failed. A fenced job belongs to another worker by now.
func (r *Runner) logJobError(ctx context.Context, j flow.Job, err error) {
	if err != nil && !errors.Is(err, flow.ErrFenced) && ctx.Err() == nil {
		r.log.Error("job", "kind", j.Kind, "id", j.ID, "error", err)
	}
}

// carry takes a run from where it stands until it ends, waits, or must be
// handed back. It fails the run if end is set.
func (r *Runner) executeRun(ctx context.Context, active *activeRun, j flow.Job, end *flow.Error) (err error) {
	runID, attempt := j.ID, j.Attempt
	defer r.release(runID, active)
	outcome, plan := flow.HandedBack, (*flow.Plan)(nil)
	if plan, err = r.loadPlan(ctx, j.Run, runID, attempt); err == nil {
		if end != nil {
			plan.Fail(end)
		}
		outcome, err = r.engine.Carry(ctx, plan, flow.Signals{Cancel: active.cancel, Hold: r.drain})
	}
	switch {
	case flow.IsPermanent(err):
		return errors.Join(err, r.failRun(ctx, runID, attempt))
	case outcome == flow.HandedBack && !errors.Is(err, flow.ErrFenced):
		r.handBackLater(runID, attempt)
	}
	return err
}

// failRun fails a run that cannot continue because of its stored data.
func (r *Runner) failRun(ctx context.Context, runID string, attempt int64) error {
	cause := flow.Errorf(flow.CodeInternal, "The data of this run cannot be read or stored, so the run failed. The log has the details.")
	run, err := r.store.FailRun(ctx, runID, attempt, cause)
	if err != nil {
		return fmt.Errorf("give up %s: %w", runID, err)
	}
	r.broker.publish(&flow.RunWrite{Run: run, End: true})
	r.runEnded(run)
	return nil
}

// prepare reads a run, unless it is fresh, and plans how it goes on.
func (r *Runner) loadPlan(ctx context.Context, fresh *flow.Run, runID string, attempt int64) (plan *flow.Plan, err error) {
	err = r.retry(ctx, "preparing "+runID, func() (err error) {
		run, steps := fresh, []flow.Step(nil)
		if run == nil {
			if run, steps, err = r.store.LoadRun(ctx, runID, attempt); err != nil {
				return err
			}
		}
		r.broker.runLoaded(run)
		plan, err = r.newPlan(ctx, run, steps)
		return err
	})
	return plan, err
}

// again retries transient failures until ctx ends or the process shuts down,
// because this job is the only one for its run or delivery. A permanent error
// is returned after a few tries.
func (r *Runner) retry(ctx context.Context, what string, f func() error) error {
	permanent := 0
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := f()
		if flow.IsPermanent(err) {
			permanent++
		}
		if err == nil || errors.Is(err, flow.ErrFenced) || ctx.Err() != nil || r.Draining() || permanent == flow.PermanentTries {
			return err
		}
		r.log.Error("trying again", "what", what, "error", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		case <-r.drain: // one last try
		}
	}
}

// plan prepares a run to go on. A document that this version of Sluice cannot
// run any more ends the run with a reason.
func (r *Runner) newPlan(ctx context.Context, run *flow.Run, steps []flow.Step) (*flow.Plan, error) {
	c, err := r.documents.find(ctx, run.WorkspaceID, run.DocumentHash)
	if errors.Is(err, &flow.Error{Code: flow.CodeDocumentInvalid}) || errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		p := flow.NewPlan(flow.EmptyGraph(), run, nil, nil)
		p.Fail(&flow.Error{Code: flow.CodeInternal, Message: "This version of Sluice cannot run the flow: " + flow.AsError(err).Message})
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	reuse, err := r.reusableSteps(ctx, run, c.graph)
	if err != nil {
		return nil, err
	}
	return flow.NewPlan(c.graph, run, steps, reuse), nil
}

func (r *Runner) reusableSteps(ctx context.Context, run *flow.Run, g *flow.Graph) (*flow.Reuse, error) {
	if run.ParentRunID == "" {
		return nil, nil
	}
	steps, err := r.store.FindSteps(ctx, run.WorkspaceID, run.ParentRunID)
	if err != nil {
		return nil, fmt.Errorf("read the steps of %s: %w", run.ParentRunID, err)
	}
	there, err := r.stepsWithFiles(ctx, run.WorkspaceID, steps)
	if err != nil {
		return nil, fmt.Errorf("look for the files of %s: %w", run.ParentRunID, err)
	}
	return flow.NewReuse(g, there, run.RerunFrom), nil
}

// stepsWithFiles leaves out the steps that gave files which are gone: they run
// again.
func (r *Runner) stepsWithFiles(ctx context.Context, ws string, steps []flow.Step) ([]flow.Step, error) {
	var ids []string
	for i := range steps {
		ids = append(ids, flow.FileIDs(steps[i].Outputs)...)
	}
	if len(ids) == 0 {
		return steps, nil
	}
	found, err := r.store.FindFiles(ctx, ws, ids)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(steps, func(s flow.Step) bool {
		return slices.ContainsFunc(flow.FileIDs(s.Outputs), func(id string) bool { return found[id] == nil })
	}), nil
}

// take notes that a worker has the run in its hands.
func (r *Runner) claim(runID string) *activeRun {
	a := &activeRun{cancel: make(chan struct{}), live: r.broker.workerStarted(runID)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active[runID] = a
	return a
}

func (r *Runner) release(runID string, a *activeRun) {
	r.broker.workerStopped(runID, a.live)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active[runID] == a {
		delete(r.active, runID)
	}
}

// giveBack remembers a run that is to be queued again when this process has
// stopped working.
func (r *Runner) handBackLater(runID string, attempt int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handBack[runID] = attempt
}

// WriteRun records progress and then tells those who wait. It is the journal
// that the engine writes to.
func (r *Runner) WriteRun(ctx context.Context, w flow.RunWrite) error {
	if err := r.store.WriteRun(ctx, w); err != nil {
		return err
	}
	r.broker.publish(&w)
	if w.End {
		r.runEnded(w.Run)
	}
	return nil
}

// ended records the end of a run.
func (r *Runner) runEnded(run *flow.Run) {
	if !run.Save {
		r.hasUnsaved.Store(true)
	}
	r.cfg.Observe(Observation{Run: run, Latency: max(0, run.EndedAt.Sub(run.CreatedAt))})
}
