package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/caller"
	"sluice/flow/engine"
)

// startJob starts one job and returns a function that does the rest of it. Jobs
// never fail from the queue's point of view: a run records its own end, a delivery
// its own next attempt.
func (r *Runner) startJob(j flow.Job) func(context.Context) {
	if j.Kind == flow.JobDelivery {
		return func(ctx context.Context) { r.logJobError(ctx, j, deliverer{r}.deliver(ctx, j)) }
	}
	active := r.claim(flow.RunID(j.ID)) // before the run is read, so that no cancellation is missed in between
	return func(ctx context.Context) {
		given := j
		j.Run = nil // so that only executeRun refers to it, which may drop it
		r.logJobError(ctx, j, r.executeRun(ctx, active, given, nil))
	}
}

// logJobError logs why a job failed, unless it was fenced: then the job belongs to
// another worker and the failure is expected.
func (r *Runner) logJobError(ctx context.Context, j flow.Job, err error) {
	if err != nil && !errors.Is(err, flow.ErrFenced) && ctx.Err() == nil {
		id := "run_id"
		if j.Kind == flow.JobDelivery {
			id = "delivery_id"
		}
		r.log.Error("job failed", id, j.ID, "error", err)
	}
}

// executeRun continues a run from its recorded state until it ends, waits, or must
// be handed back. If failure is set, it fails the run without executing steps.
func (r *Runner) executeRun(ctx context.Context, active *activeRun, j flow.Job, failure *flow.Error) error {
	runID, attempt := flow.RunID(j.ID), j.Attempt
	defer r.release(runID, active)
	outcome := engine.HandedBack
	if !r.ramp.enter(ctx, r.drain) {
		r.requeueLater(runID, attempt)
		return nil
	}
	defer r.ramp.leave()
	memory, err := admit(ctx, r, active, &j)
	if errors.Is(err, errDraining) {
		r.requeueLater(runID, attempt)
		return nil
	}
	defer memory.Close()
	var plan *engine.Plan
	if err == nil {
		mark := r.cfg.Busy.Open(string(runID)) // decoding what is stored may take much memory
		mark.Enter()
		plan, err = r.loadPlan(ctx, j.Run, runID, attempt)
		mark.Close()
	}
	if err == nil {
		if failure != nil {
			plan.Fail(failure)
		}
		outcome, err = r.engine.Execute(caller.Sending(ctx, r.callerOf(plan.Run().WorkspaceID, runID, plan.Run())), plan, engine.Signals{Cancel: active.cancel, Stop: active.stop, Hold: r.drain, Ending: r.cfg.Ending, Wake: active.wake, Memory: memory})
	}
	switch {
	case flow.IsPermanent(err):
		return errors.Join(err, r.failRun(ctx, runID, attempt))
	case outcome == engine.HandedBack && !errors.Is(err, flow.ErrFenced):
		r.requeueLater(runID, attempt)
	}
	return err
}

// failRun fails a run that cannot continue because of its stored data.
func (r *Runner) failRun(ctx context.Context, runID flow.RunID, attempt int64) error {
	cause := flow.Errorf(flow.CodeInternal, "The data of this run cannot be read or stored, so the run failed. The log has the details.")
	run, err := r.store.FailRun(ctx, runID, attempt, cause)
	if err != nil {
		return fmt.Errorf("fail run %s: %w", runID, err)
	}
	r.broker.publish(&flow.RunWrite{Run: run, End: true})
	r.runEnded(run)
	r.cfg.Tracer.RunEnded(run, nil)
	return nil
}

// loadPlan reads a run and plans the rest of it. A fresh run, one that this
// process has just accepted, is not read again; fresh is nil for others.
func (r *Runner) loadPlan(ctx context.Context, fresh *flow.Run, runID flow.RunID, attempt int64) (plan *engine.Plan, err error) {
	err = r.retry(ctx, "loading run "+string(runID), func() (err error) {
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

// newPlan plans the rest of a run. The plan of a document that this version of
// Sluice cannot run fails the run with the reason.
func (r *Runner) newPlan(ctx context.Context, run *flow.Run, steps []flow.Step) (*engine.Plan, error) {
	c, err := r.documents.find(ctx, run.WorkspaceID, run.DocumentHash)
	if errors.Is(err, &flow.Error{Code: flow.CodeDocumentInvalid}) || flow.IsNotFound(err) {
		p := engine.NewPlan(engine.EmptyGraph(), run, nil, nil)
		p.Fail(&flow.Error{Code: flow.CodeInternal, Message: "This version of Sluice cannot run the flow: " + flow.AsError(err).Message})
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	run.NoChildren = !c.starts
	if err := loadContext(ctx, r, run); err != nil {
		return nil, err
	}
	reuse, err := r.reusableSteps(ctx, run, c.graph)
	if err != nil {
		return nil, err
	}
	return engine.NewPlan(c.graph, run, steps, reuse), nil
}

// reusableSteps returns the parent's results that a rerun may take over; nil if
// the run is not a rerun.
func (r *Runner) reusableSteps(ctx context.Context, run *flow.Run, g *engine.Graph) (*engine.Reuse, error) {
	if run.ParentRunID == "" {
		return nil, nil
	}
	steps, err := r.store.FindSteps(ctx, run.WorkspaceID, run.ParentRunID)
	if err != nil {
		return nil, fmt.Errorf("read the steps of %s: %w", run.ParentRunID, err)
	}
	steps, err = r.stepsWithFiles(ctx, run.WorkspaceID, steps)
	if err != nil {
		return nil, fmt.Errorf("find the files of %s: %w", run.ParentRunID, err)
	}
	for i := range steps {
		if k := r.documents.kinds.Find(steps[i].Kind); run.ChildVersions == flow.ChildrenLive && k != nil && k.StartsRuns() {
			steps[i].NodeHash = "" // no node equals it: the step decides for each item whether its result is reused
		}
	}
	return engine.NewReuse(g, steps, run.RerunFrom), nil
}

// stepsWithFiles drops the steps whose output files have been erased, so that they
// run again.
func (r *Runner) stepsWithFiles(ctx context.Context, ws flow.WorkspaceID, steps []flow.Step) ([]flow.Step, error) {
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

// claim registers a run as being executed by this process, so that cancellations
// reach it and readers get its text.
func (r *Runner) claim(runID flow.RunID) *activeRun {
	a := &activeRun{cancel: make(chan struct{}), stop: make(chan struct{}), wake: make(chan struct{}, 1), live: r.broker.workerStarted(runID)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active[runID] = a
	return a
}

// release undoes claim, unless a newer attempt at the run has replaced it.
func (r *Runner) release(runID flow.RunID, a *activeRun) {
	r.broker.workerStopped(runID, a.live)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active[runID] == a {
		delete(r.active, runID)
	}
}

// requeueLater remembers a run that Drain returns to the queue once this process
// has stopped working.
func (r *Runner) requeueLater(runID flow.RunID, attempt int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.toRequeue[runID] = attempt
}

// WriteRun implements flow.Journal: it commits the engine's progress, counts it, and
// notifies readers.
func (r *Runner) WriteRun(ctx context.Context, w flow.RunWrite) error {
	if err := r.store.WriteRun(ctx, w); err != nil {
		return err
	}
	r.broker.publish(&w)
	for i := range w.Steps {
		if s := &w.Steps[i]; s.State.Ended() {
			r.cfg.Observe(Observation{Step: s})
		}
	}
	if w.End {
		r.runEnded(w.Run)
		r.wakeCaller(ctx, w.Run)
	}
	return nil
}

// runEnded counts a run whose end is committed.
func (r *Runner) runEnded(run *flow.Run) {
	if !run.Save {
		r.hasUnsaved.Store(true)
	}
	r.cfg.Observe(Observation{Run: run, Latency: max(0, run.EndedAt.Sub(run.CreatedAt))})
}
