package core

import "sluice/flow"

// ChildEnd is the end of a child run in the current transaction.
type ChildEnd struct {
	Caller flow.CallingStep
	RunID  flow.RunID
	Leaf   bool // it has started no children
	State  flow.RunState
	Usage  flow.Usage
	Code   flow.Code // of its error, "" without one
}

// newChildEnd returns the end of a child run.
func newChildEnd(r *flow.Run) ChildEnd {
	e := ChildEnd{Caller: *r.Caller, RunID: r.ID, Leaf: r.NoChildren, State: r.State, Usage: r.Usage}
	if r.Error != nil {
		e.Code = r.Error.Code
	}
	return e
}

// callerOf returns the caller in the columns of a run, or nil for a root run.
func callerOf(runID flow.RunID, path string, round, item int64) *flow.CallingStep {
	if runID == "" {
		return nil
	}
	return &flow.CallingStep{RunID: runID, Path: path, Round: int(round), Item: int(item)}
}

// foldChildren counts the child runs that ended in this transaction. All ends of a step
// are one update, so that items do not wait for each other's row locks.
func (tx *Tx) foldChildren() error {
	for len(tx.Batch.Children) > 0 && tx.Store.Config.CountEndedChildren != nil {
		ends := tx.Batch.Children
		tx.Batch.Children = nil
		if err := tx.Store.Config.CountEndedChildren(tx, ends); err != nil {
			return err
		}
	}
	return nil
}

// StartChildRuns stores child runs and hands them to workers, or queues those for which no
// slot is free. No limit refuses them: they belong to a run that was accepted.
func (tx *Tx) StartChildRuns(runs []flow.Run) error {
	rows := make([][]any, len(runs)) // PostgreSQL takes all in one statement
	for i := range runs {
		run := &runs[i]
		row, err := Execution{tx.Store}.RunRow(run, nil, nil)
		if err != nil {
			return err
		}
		w := &StartWrite{N: &flow.NewRun{Run: *run}, Row: row}
		k := FlowKey{run.WorkspaceID, run.FlowID}
		limits, err := tx.FlowLimits(k)
		if err != nil {
			return err
		}
		free, err := tx.hasSlot(k, limits)
		if err != nil {
			return err
		}
		r := &w.Row
		if r.Place = placeQueue; free && tx.Store.QueueOrNil() != nil {
			r.Place, r.InstanceID = PlaceWorker, tx.ReserveWorker()
		}
		w.occupyPlace(tx)
		if rows[i] = insertRuns.row(*r); !tx.Store.IsPostgres() {
			if err := tx.Queries.InsertRun(tx.Ctx, *r); err != nil {
				return err
			}
		}
		if u := tx.Batch.Counts.unwritten; u != nil && r.Place == PlaceWorker {
			for _, k := range []FlowKey{{}, {run.WorkspaceID, ""}, k} {
				u[k]++
			}
		}
		w.handToWorker(tx)
		tx.TrackStorage(run.WorkspaceID, flow.Storage{Bytes: flow.StorageItem + sizeOfStart(r), Runs: 1})
	}
	switch {
	case !tx.Store.IsPostgres():
		return nil
	case tx.Batch.Counts.unwritten != nil: // the set writes them with its starts
		tx.Batch.childRows = append(tx.Batch.childRows, rows...)
		return nil
	}
	_, err := tx.DBTX.ExecContext(tx.Ctx, insertRuns.sql, insertRuns.args(rows)...)
	return err
}
