package jobs

import (
	"context"
	"fmt"

	"sluice/flow"
)

// FindSubStep returns a sub-step of a run with everything that its executor gets, such as the whole
// request of an agent's turn, which is not recorded.
func (r *Runner) FindSubStep(ctx context.Context, run *flow.Run, path string) (*flow.SubStep, error) {
	if run.Erased != "" {
		return nil, flow.Errorf(run.Erased, "The content of this run is gone.")
	}
	c, err := r.documents.find(ctx, run.WorkspaceID, run.DocumentHash)
	if err != nil {
		return nil, err
	}
	steps, err := r.store.FindSteps(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return nil, fmt.Errorf("read the steps of %s: %w", run.ID, err)
	}
	if err := loadContext(ctx, r, run); err != nil {
		return nil, err
	}
	return c.graph.SubStep(run, steps, path)
}
