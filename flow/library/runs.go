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
	// RequestStop marks a run to be canceled once its agents have ended their turns.
	RequestStop(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) error
	EraseRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID, code flow.Code) error
	// ListContinued returns the runs that continue a run, and reruns of these, with ID, FlowID, State and Erased only.
	ListContinued(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Run, error)
}

// FileStore stores files. It returns CodeNotFound for a missing one.
type FileStore interface {
	Recorder
	EraseFile(ctx context.Context, ws flow.WorkspaceID, id string) error
}

// RunCanceler notifies the worker of a run that was canceled, and waits for the end of the run.
type RunCanceler interface {
	CancelRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error)
	SignalStop(runID flow.RunID)
}

// Runs cancels and erases runs.
type Runs struct {
	Store  RunStore
	Runner RunCanceler // for Cancel and Erase
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

// StopAfterTurn cancels a run once its agents have ended their turns: a recorded turn and its calls are
// kept for a rerun. A run in which no agent works is canceled at once. It is idempotent.
func (s *Runs) StopAfterTurn(ctx context.Context, by flow.Actor, run *flow.Run) (*flow.Run, error) {
	if run.State.Ended() || run.StopRequested {
		return run, nil
	}
	err := record(ctx, s.Store, by, entry(run.WorkspaceID, "run.cancel", string(run.ID), "after the turn"), func(ctx context.Context) error {
		return s.Store.RequestStop(ctx, run.WorkspaceID, run.FlowID, run.ID)
	})
	if err != nil {
		return nil, err
	}
	s.Runner.SignalStop(run.ID)
	return s.Store.FindRun(ctx, run.WorkspaceID, run.FlowID, run.ID)
}

// Erase erases the content of a run that has ended, and keeps IDs, times and cost. Runs that continue its conversations
// contain them, so these are erased, too: they are canceled first, and returned. It is idempotent.
func (s *Runs) Erase(ctx context.Context, by flow.Actor, run *flow.Run) (continued []flow.RunID, err error) {
	if !run.State.Ended() {
		return nil, flow.Errorf(flow.CodeRunNotEnded, "The run has not ended. Cancel it first, or wait for its end.")
	}
	if run.Caller != nil {
		caller, err := s.Store.FindRun(ctx, run.WorkspaceID, "", run.Caller.RunID)
		if err == nil && caller.Erased == "" {
			return nil, flow.Errorf(flow.CodeChildRun, "The run %s started this one. Erase that run: its child runs are erased with it.", caller.ID)
		}
	}
	if err := s.eraseOne(ctx, by, run, ""); err != nil {
		return nil, err
	}
	for at := []flow.RunID{run.ID}; len(at) > 0; at = at[1:] { // from here on, no other run can continue it
		list, err := s.Store.ListContinued(ctx, run.WorkspaceID, at[0])
		if err != nil {
			return continued, err
		}
		for i := range list {
			next := &list[i]
			at = append(at, next.ID)
			if next.Erased != "" {
				continue
			}
			if next, err = s.Cancel(ctx, by, next); err != nil {
				return continued, err
			}
			if !next.State.Ended() {
				return continued, flow.Errorf(flow.CodeRunNotEnded, "The run was erased. %s, which continues it, is being canceled; repeat the request to erase it.", next.ID)
			}
			if err := s.eraseOne(ctx, by, next, "continues "+string(at[0])); err != nil {
				return continued, err
			}
			continued = append(continued, next.ID)
		}
	}
	return continued, nil
}

// eraseOne erases the content of one run.
func (s *Runs) eraseOne(ctx context.Context, by flow.Actor, run *flow.Run, detail string) error {
	if run.Erased != "" {
		return nil
	}
	return record(ctx, s.Store, by, entry(run.WorkspaceID, "run.erase", string(run.ID), detail), func(ctx context.Context) error {
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
