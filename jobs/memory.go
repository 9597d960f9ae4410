package jobs

import (
	"context"
	"errors"

	"sluice/flow"
	"sluice/flow/inflight"
)

// loadedPerByte is how many bytes of memory a stored byte takes at most, once the run is loaded
// and until its values are counted: the text, and the value of dense JSON.
const loadedPerByte = 8

// errDraining is returned for a run that waited for memory when the shutdown began.
var errDraining = errors.New("jobs: shutting down")

// admit takes the memory that a run needs before its worker loads it, and waits for it if others
// have it. A run that this process has just accepted is dropped while it waits, and read from the
// store when its turn comes. A canceled run does not wait: it only ends.
func admit(ctx context.Context, r *Runner, active *activeRun, j *flow.Job) (*inflight.Hold, error) {
	if r.cfg.Memory == nil {
		return nil, nil
	}
	ws, n, err := weigh(ctx, r, j)
	if err != nil {
		return nil, err
	}
	memory := r.cfg.Memory.Open(string(ws))
	if n <= inflight.Small || memory.TryTake(n) {
		return memory, nil
	}
	j.Run = nil
	turn, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-active.cancel:
		case <-r.drain:
		case <-turn.Done():
		}
		cancel()
	}()
	err = memory.Take(turn, min(n, r.cfg.Memory.Each()))
	switch {
	case err == nil:
	case ctx.Err() != nil:
		memory.Close()
		return nil, ctx.Err()
	case r.Draining():
		memory.Close()
		return nil, errDraining
	default:
		memory.Add(n)
	}
	return memory, nil
}

// weigh returns the workspace of a run and how much memory it needs at first.
func weigh(ctx context.Context, r *Runner, j *flow.Job) (ws flow.WorkspaceID, n int64, err error) {
	if j.Run != nil {
		return j.Run.WorkspaceID, (&inflight.Weigher{}).Weigh(j.Run.Inputs).Heap, nil
	}
	err = r.retry(ctx, "weighing run "+j.ID, func() (err error) {
		ws, n, err = r.store.WeighRun(ctx, flow.RunID(j.ID))
		return err
	})
	return ws, loadedPerByte * n, err
}
