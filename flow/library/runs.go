package library

import (
	"context"

	"sluice/flow"
)

// RunStore stores runs and their files. It returns CodeNotFound for a missing one.
type RunStore interface {
	Recorder
	FindRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error)
	// RequestCancel cancels a run that no worker executes, and marks any other for its worker.
	RequestCancel(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error)
	EraseRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID, code flow.Code) error
}

// FileStore stores files. It returns CodeNotFound for a missing one.
type FileStore interface {
	Recorder
	EraseFile(ctx context.Context, ws flow.WorkspaceID, id string) error
}

// RunCanceler notifies the worker of a run that was canceled, and waits for the end of the run.
type RunCanceler interface {
	CancelRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error)
}

// Runs cancels and erases runs.
type Runs struct {
	Store  RunStore
	Runner RunCanceler // for Cancel
}

// Cancel cancels a run and returns it once it has ended. It is idempotent.
func (s *Runs) Cancel(ctx context.Context, by flow.Actor, run *flow.Run) (*flow.Run, error) {
	if run.State.Ended() {
		return run, nil
	}
	err := record(ctx, s.Store, by, entry(run.WorkspaceID, "run.cancel", string(run.ID), ""), func(ctx context.Context) error {
		_, err := s.Store.RequestCancel(ctx, run.WorkspaceID, run.FlowID, run.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Runner.CancelRun(ctx, run.WorkspaceID, run.FlowID, run.ID)
}

// Erase erases the content of a run that has ended, and keeps IDs, times and cost. It is idempotent.
func (s *Runs) Erase(ctx context.Context, by flow.Actor, run *flow.Run) error {
	if !run.State.Ended() {
		return flow.Errorf(flow.CodeRunNotEnded, "The run has not ended. Cancel it first, or wait for its end.")
	}
	if run.Caller != nil {
		caller, err := s.Store.FindRun(ctx, run.WorkspaceID, "", run.Caller.RunID)
		if err == nil && caller.Erased == "" {
			return flow.Errorf(flow.CodeChildRun, "The run %s started this one. Erase that run: its child runs are erased with it.", caller.ID)
		}
	}
	if run.Erased != "" {
		return nil
	}
	return record(ctx, s.Store, by, entry(run.WorkspaceID, "run.erase", string(run.ID), ""), func(ctx context.Context) error {
		return s.Store.EraseRun(ctx, run.WorkspaceID, run.FlowID, run.ID, flow.CodeResultNotSaved)
	})
}

// Files erases files.
type Files struct{ Store FileStore }

// Erase erases a file.
func (s *Files) Erase(ctx context.Context, by flow.Actor, f *flow.File) error {
	return record(ctx, s.Store, by, entry(f.WorkspaceID, "file.erase", f.ID, f.Name), func(ctx context.Context) error {
		return s.Store.EraseFile(ctx, f.WorkspaceID, f.ID)
	})
}
