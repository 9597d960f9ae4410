package jobs

import (
	"context"
	"time"

	"sluice/flow"
)

// cancelWait is how long CancelRun waits for the run to end.
const cancelWait = 2 * time.Second

// CancelRun requests the cancellation of a run and returns the run, in its final
// state if it ends within cancelWait. A run that has already ended is returned
// unchanged.
//
// The request is committed before any worker is notified, so a crash in between
// does not lose it: the run's next worker reads it.
func (r *Runner) CancelRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error) {
	run, err := r.store.RequestCancel(ctx, ws, flowID, runID)
	if err != nil || run.State.Ended() {
		return run, err
	}
	signalCancel(r, runID)
	return r.AwaitRun(ctx, ws, flowID, runID, cancelWait)
}

// signalCancel stops the run if a worker of this process has it.
func signalCancel(r *Runner, runID flow.RunID) {
	r.mu.Lock()
	a := r.active[runID]
	r.mu.Unlock()
	if a != nil {
		a.once.Do(func() { close(a.cancel) })
	}
}

// pollCancels stops runs of this process that were canceled through another
// instance.
func (r *Runner) pollCancels(ctx context.Context) error {
	r.mu.Lock()
	idle := len(r.active) == 0
	r.mu.Unlock()
	if idle {
		return nil
	}
	ids, err := r.store.CancelRequested(ctx, r.cfg.Instance)
	for _, id := range ids {
		signalCancel(r, id)
	}
	if err != nil {
		return err
	}
	ids, err = r.store.StopRequested(ctx, r.cfg.Instance)
	for _, id := range ids {
		r.SignalStop(id)
	}
	return err
}

// SignalStop tells the worker of this process that has the run, if any, that a stop was requested;
// see flow.Run.StopRequested.
func (r *Runner) SignalStop(runID flow.RunID) {
	r.mu.Lock()
	a := r.active[runID]
	r.mu.Unlock()
	if a != nil {
		a.stopOnce.Do(func() { close(a.stop) })
	}
}
