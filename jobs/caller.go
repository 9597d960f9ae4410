package jobs

import (
	"context"
	"fmt"

	"sluice/flow"
	"sluice/flow/caller"
)

// checkDepth returns an error for a run below too many others.
func checkDepth(depth int) error {
	if depth <= flow.MaxChildDepth {
		return nil
	}
	return flow.Errorf(flow.CodeInputInvalid, "Flows call each other %d levels deep; the limit is %d. Check that no flow calls itself.", depth, flow.MaxChildDepth)
}

// callerOf returns how requests of a run to its own server are marked. run may be nil, which reads it.
func (r *Runner) callerOf(ws flow.WorkspaceID, runID flow.RunID, run *flow.Run) caller.Find {
	return func(ctx context.Context) (caller.Caller, error) {
		run := run
		if run == nil {
			found, err := r.store.FindRun(ctx, ws, "", runID)
			if flow.IsNotFound(err) { // deleted
				return caller.Caller{RootRunID: string(runID)}, nil
			}
			if err != nil {
				return caller.Caller{}, fmt.Errorf("find the run of a request: %w", err)
			}
			run = found
		}
		c := caller.Caller{RootRunID: string(runID), Depth: run.Depth}
		if run.Caller == nil {
			return c, nil
		}
		children, err := r.store.FindChildren(ctx, *run.Caller)
		if err != nil {
			return caller.Caller{}, fmt.Errorf("find the callers of %s: %w", runID, err)
		}
		if children != nil { // an earlier release has not recorded the depth of the run
			c.RootRunID, c.Depth = string(children.RootRunID), max(c.Depth, children.Depth)
		}
		return c, nil
	}
}
