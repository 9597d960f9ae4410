package jobs

import (
	"context"
	"time"

	"sluice/flow"
)

// cancelPatience is how long an answer to a cancel is held for the run to end.
const cancelWait = 2 * time.Second

// CancelRun asks for the end of a run and returns it, ended if that did not
// take long. A run that has ended stays as it is.
func (r *Runner) CancelRun(ctx context.Context, ws, flowID, runID string) (*flow.Run, error) {
	run, err := r.store.RequestCancel(ctx, ws, flowID, runID)
	if err != nil || run.State.Ended() {
		return run, err
	}
	r.signalCancel(runID)
	return r.AwaitRun(ctx, ws, flowID, runID, cancelWait)
}

// cancelHere stops the run if a worker of this process has it in its hands.
func (r *Runner) signalCancel(runID string) {
	r.mu.Lock()
	a := r.active[runID]
	r.mu.Unlock()
	if a != nil {
		a.once.Do(func() { close(a.cancel) })
	}
}

// hearCancels stops runs of this process that were canceled through another.
func (r *Runner) pollCancels(ctx context.Context) error {
	r.mu.Lock()
	idle := len(r.active) == 0
	r.mu.Unlock()
	if idle {
		return nil
	}
	ids, err := r.store.CancelRequested(ctx, r.cfg.Instance)
	for _, id := range ids {
		r.signalCancel(id)
	}
	return err
}
