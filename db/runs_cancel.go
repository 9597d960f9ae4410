package db

import (
	"context"
	"fmt"

	"sluice/db/core"
	"sluice/db/gen"
	"sluice/flow"
)

// RequestCancel requests the cancellation of a run. A run that no worker holds is
// handed to one immediately, which ends it. An ended run is returned unchanged.
func (s *Runs) RequestCancel(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (run *flow.Run, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if err := tx.RequestCancel(ws, flowID, runID); err != nil {
			return err
		}
		run, err = core.FindRun(tx.Ctx, tx.Queries, ws, flowID, runID)
		return err
	})
	return run, err
}

// RequestStop requests that a run is canceled once its agents have ended their turns.
func (s *Runs) RequestStop(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error { return core.RequestStop(tx, ws, flowID, runID) })
}

// StopRequested returns the IDs of runs that the instance holds and that are to stop after a turn.
func (s *Runs) StopRequested(ctx context.Context, instance string) ([]flow.RunID, error) {
	return s.DB.Reads.ListStops(ctx, instance)
}

// CancelRequested returns the IDs of runs held by the instance whose cancellation
// was requested. On SQLite there is only one instance.
func (s *Runs) CancelRequested(ctx context.Context, instance string) ([]flow.RunID, error) {
	return s.DB.Reads.ListCancels(ctx, instance)
}

// WaitingKinds returns the kinds of the steps of a run that wait, and whether one of each
// has saved a state. It reads no content.
func (s *Runs) WaitingKinds(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (map[string]bool, error) {
	rows, err := s.DB.Reads.ListWaitingSteps(ctx, gen.ListWaitingStepsParams{RunID: runID, WorkspaceID: ws})
	if err != nil {
		return nil, fmt.Errorf("list the waiting steps of %s: %w", runID, err)
	}
	kinds := map[string]bool{}
	for _, r := range rows {
		kinds[r.Kind] = kinds[r.Kind] || r.HasState != 0
	}
	return kinds, nil
}
