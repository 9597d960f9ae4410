package children

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// Children stores the child runs of steps.
type Children struct{ DB *core.DB }

// FindChildren returns the children of a step, or nil if it has started none.
func (s *Children) FindChildren(ctx context.Context, step flow.CallingStep) (*flow.Children, error) {
	r, err := s.DB.Reads.FindChildren(ctx, gen.FindChildrenParams{RunID: step.RunID, Path: step.Path, Round: int64(step.Round)})
	if dbconn.IsNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the children of %s:%s: %w", step.RunID, step.Path, err)
	}
	return childrenOf(&r)
}

// TreeDocuments returns the root of the tree that a run belongs to, and the hashes of the documents
// that the runs of the tree execute, that of the root first.
func (s *Children) TreeDocuments(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (root flow.RunID, hashes []string, err error) {
	for range flow.MaxChildDepth + 1 {
		r, err := s.DB.Reads.FindRunDocument(ctx, gen.FindRunDocumentParams{ID: runID, WorkspaceID: ws})
		if err != nil {
			return "", nil, dbconn.NotFoundErr(err, "run")
		}
		if root, hashes = runID, []string{r.DocumentHash}; r.CallerRunID == "" {
			break
		}
		runID = r.CallerRunID
	}
	below, err := s.DB.Reads.ListTreeDocuments(ctx, root)
	if err != nil {
		return "", nil, fmt.Errorf("list the documents below %s: %w", root, err)
	}
	return root, append(hashes, below...), nil
}

// ListChildren returns the children of all steps of a run, by path and round.
func (s *Children) ListChildren(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Children, error) {
	rows, err := s.DB.Reads.ListChildren(ctx, gen.ListChildrenParams{RunID: runID, WorkspaceID: ws})
	if err != nil {
		return nil, fmt.Errorf("list the children of %s: %w", runID, err)
	}
	list := make([]flow.Children, len(rows))
	for i := range rows {
		c, err := childrenOf(&rows[i])
		if err != nil {
			return nil, err
		}
		list[i] = *c
	}
	return list, nil
}

// InBatch reports whether a run is below a batch.
func (s *Children) InBatch(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (bool, error) {
	for range flow.MaxChildDepth + 1 {
		r, err := s.DB.Reads.FindRunDocument(ctx, gen.FindRunDocumentParams{ID: runID, WorkspaceID: ws})
		switch {
		case err != nil:
			return false, dbconn.NotFoundErr(err, "run")
		case flow.Trigger(r.RunTrigger) == flow.TriggerBatch:
			return true, nil
		case r.CallerRunID == "":
			return false, nil
		}
		runID = r.CallerRunID
	}
	return false, nil
}

// BeginChildren records the child runs that a step is about to start. A record of an
// earlier attempt of the step is kept.
func (s *Children) BeginChildren(ctx context.Context, c *flow.Children, t flow.ChildTemplate) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if len(c.Document) > 0 {
			added, err := tx.AddDocument(c.WorkspaceID, c.DocumentHash, c.Document)
			if err != nil {
				return err
			}
			tx.TrackStorage(c.WorkspaceID, flow.Storage{Bytes: added})
		}
		if t.StepBudget > 0 {
			if err := core.AddRunBudget(tx, flow.BudgetOfStep(c.Caller.RunID, c.Caller.Path), t.StepBudget); err != nil {
				return err
			}
		}
		return tx.Queries.InsertChildren(tx.Ctx, gen.InsertChildrenParams{
			RunID: c.Caller.RunID, Path: c.Caller.Path, Round: int64(c.Caller.Round), WorkspaceID: c.WorkspaceID, RootRunID: c.RootRunID,
			Depth: int64(c.Depth), FlowID: c.FlowID, DocumentHash: c.DocumentHash, Template: dbconn.EncodeAny(t),
			Concurrency: int64(c.Concurrency), KeepErrors: dbconn.BoolInt(c.KeepErrors),
		})
	})
}

// AddChildItems stores items of a step. It does not change existing items.
func (s *Children) AddChildItems(ctx context.Context, step flow.CallingStep, items []flow.ChildItem) error {
	rows := make([]any, 0, itemColumns*len(items)) // encoded before the transaction, because on SQLite all writes wait for it
	for i := range items {
		it := &items[i]
		rows = append(rows, step.RunID, step.Path, int64(step.Round), int64(it.Item), dbconn.EncodeObject(it.Inputs), dbconn.EncodeError(it.Error), it.Reused)
	}
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		for chunk := range slices.Chunk(rows, itemColumns*itemsAtOnce) {
			if _, err := tx.DBTX.ExecContext(tx.Ctx, insertItems(len(chunk)/itemColumns), chunk...); err != nil {
				return fmt.Errorf("store items of %s:%s: %w", step.RunID, step.Path, err)
			}
		}
		return nil
	})
}

// itemColumns is the number of columns of an item, and itemsAtOnce how many items are
// inserted with one statement. SQLite accepts 32,766 parameters.
const itemColumns, itemsAtOnce = 7, 100

// insertItems returns the statement that inserts n items. It does not change existing ones.
func insertItems(n int) string {
	return "INSERT INTO child_items (run_id, path, round, item, inputs, error, reused) VALUES " +
		dbconn.Placeholders(n, itemColumns) + " ON CONFLICT DO NOTHING"
}

// StartChildren starts the first items once all are stored. failed is the number of
// items that cannot start, reused that of items with the result of an earlier run.
func (s *Children) StartChildren(ctx context.Context, step flow.CallingStep, total, failed, reused int) (c *flow.Children, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		err := tx.Queries.LoadChildren(tx.Ctx, gen.LoadChildrenParams{
			RunID: step.RunID, Path: step.Path, Round: int64(step.Round),
			Total: int64(total), Failed: int64(failed), TakenOver: int64(reused), Pending: int64(total - failed - reused),
		})
		if err != nil {
			return err
		}
		r, err := lock(tx, step) // with the new numbers
		if err != nil {
			return err
		}
		c, err = startNext(tx, r, false)
		return err
	})
	return c, err
}

// RecountChildren counts the children of a step again, in case the end of one was not
// counted: an instance of an older release, which does not know children, may have ended
// it. None is counted twice: ends in other transactions wait for the lock, and those of other
// writes of the same transaction are left to its end.
func (s *Children) RecountChildren(ctx context.Context, step flow.CallingStep) (c *flow.Children, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := lock(tx, step); err != nil {
			return err
		}
		if err := tx.Queries.RecountChildren(tx.Ctx, gen.RecountChildrenParams{RunID: step.RunID, Path: step.Path, Round: int64(step.Round)}); err != nil {
			return fmt.Errorf("count the children of %s:%s again: %w", step.RunID, step.Path, err)
		}
		if err := leaveUncounted(tx, step); err != nil {
			return err
		}
		r, err := lock(tx, step) // with the new numbers
		if err != nil {
			return err
		}
		c, err = startNext(tx, r, false)
		return err
	})
	return c, err
}

// leaveUncounted takes the children of a step that ended in the transaction off its numbers, because CountEnded counts them at its end.
func leaveUncounted(tx *core.Tx, step flow.CallingStep) error {
	p := gen.CountChildParams{RunID: step.RunID, Path: step.Path, Round: int64(step.Round)}
	for _, e := range tx.Batch.Children {
		if sameStep(e.Caller) != sameStep(step) {
			continue
		}
		if p.Ended--; e.State == flow.RunSucceeded {
			p.Succeeded--
		} else {
			p.Failed--
		}
	}
	if p.Ended == 0 {
		return nil
	}
	_, err := count(tx, p)
	return err
}

// SetConcurrency changes how many items of a step run at the same time, and pauses it or lets it continue. Zero keeps
// the number. Items that wait for a budget try again at once unless it is paused. The column is negative while the step is paused, so that no end of a child starts another.
func (s *Children) SetConcurrency(ctx context.Context, step flow.CallingStep, concurrency int, paused bool) (c *flow.Children, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		r, err := lock(tx, step)
		if err != nil {
			return err
		}
		to := cmp.Or(int64(concurrency), max(r.Concurrency, -r.Concurrency))
		if paused {
			to = -to
		}
		err = tx.Queries.SetChildConcurrency(tx.Ctx, gen.SetChildConcurrencyParams{RunID: step.RunID, Path: step.Path, Round: int64(step.Round), Concurrency: to})
		if err != nil {
			return fmt.Errorf("change the concurrency of %s:%s: %w", step.RunID, step.Path, err)
		}
		if r, err = lock(tx, step); err != nil {
			return err
		}
		if !paused {
			if err := wakeRows(tx, r); err != nil {
				return err
			}
		}
		c, err = startNext(tx, r, false)
		return err
	})
	return c, err
}

// wakeRows lets the items of a step that wait for a budget or for a retry try again.
func wakeRows(tx *core.Tx, r *gen.Child) error {
	woken, err := tx.Queries.WakeWaitingRows(tx.Ctx, gen.WakeWaitingRowsParams{Now: tx.Store.NowMicros(), RunID: r.RunID, Path: r.Path, Round: r.Round})
	if err != nil {
		return fmt.Errorf("wake the items of %s:%s: %w", r.RunID, r.Path, err)
	}
	slices.SortFunc(woken, func(a, b flow.RunID) int { return dbconn.CompareTexts(string(a), string(b)) })
	for _, id := range slices.Compact(woken) {
		if err := tx.ResumeRun(r.WorkspaceID, id, core.PlaceWaiting); err != nil {
			return err
		}
	}
	return nil
}

// MarkChildrenRead records that a step has read the outcome of its children.
func (s *Children) MarkChildrenRead(ctx context.Context, step flow.CallingStep) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		return tx.Queries.MarkChildrenRead(tx.Ctx, gen.MarkChildrenReadParams{RunID: step.RunID, Path: step.Path, Round: int64(step.Round)})
	})
}

// StopChildren drops the queued items of a step, so that no more of them start, and
// returns the runs that have not ended.
func (s *Children) StopChildren(ctx context.Context, step flow.CallingStep) (open []flow.OpenChild, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := lock(tx, step); err != nil {
			return err
		}
		if err := stop(tx, step); err != nil {
			return err
		}
		rows, err := tx.Queries.ListOpenChildRuns(tx.Ctx, gen.ListOpenChildRunsParams{CallerRunID: step.RunID, CallerPath: step.Path, CallerRound: int64(step.Round)})
		open = dbconn.MapRows(rows, func(r gen.ListOpenChildRunsRow) flow.OpenChild { return flow.OpenChild{RunID: r.ID, FlowID: r.FlowID} })
		return err
	})
	return open, err
}

// ReadChildren returns the items of a step from number from to before number to, in
// order, without those that have not started.
func (s *Children) ReadChildren(ctx context.Context, ws flow.WorkspaceID, step flow.CallingStep, from, to int) ([]flow.ChildResult, error) {
	p := gen.ListChildRunsParams{CallerRunID: step.RunID, CallerPath: step.Path, CallerRound: int64(step.Round), FromItem: int64(from), ToItem: int64(to)}
	runs, err := s.DB.Reads.ListChildRuns(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list the child runs of %s:%s: %w", step.RunID, step.Path, err)
	}
	byItem := make(map[int]flow.ChildResult, len(runs))
	for i := range runs {
		run, err := core.RunOf(&runs[i])
		if err != nil {
			return nil, dbconn.Unreadable(err, "run", runs[i].ID)
		}
		byItem[run.Caller.Item] = resultOf(run.Caller.Item, run)
	}
	items, err := s.DB.Reads.ListChildItems(ctx, gen.ListChildItemsParams{
		RunID: step.RunID, Path: step.Path, Round: int64(step.Round), FromItem: int64(from), ToItem: int64(to),
	})
	if err != nil {
		return nil, fmt.Errorf("list the items of %s:%s: %w", step.RunID, step.Path, err)
	}
	for i := range items {
		if byItem[int(items[i].Item)], err = s.itemResult(ctx, ws, &items[i]); err != nil {
			return nil, err
		}
	}
	list := make([]flow.ChildResult, 0, len(byItem))
	for item := from; item < to; item++ {
		if r, ok := byItem[item]; ok {
			list = append(list, r)
		}
	}
	return list, nil
}

// itemResult returns the result of an item without a run of its own.
func (s *Children) itemResult(ctx context.Context, ws flow.WorkspaceID, r *gen.ListChildItemsRow) (flow.ChildResult, error) {
	if r.Reused != "" {
		run, err := core.FindRun(ctx, s.DB.Reads, ws, "", r.Reused)
		if err != nil {
			return flow.ChildResult{}, err
		}
		res := resultOf(int(r.Item), run)
		res.Reused = true
		return res, nil
	}
	res := flow.ChildResult{Item: int(r.Item), State: flow.RunFailed}
	var err error
	if res.Inputs, err = dbconn.Decode[*flow.Object](r.Inputs); err == nil {
		res.Error, err = dbconn.Decode[*flow.Error](r.Error)
	}
	return res, err
}

// resultOf returns the result of an item. A canceled run has no error of its own, but
// the caller needs one for its report. An item whose content was erased counts as failed.
func resultOf(item int, run *flow.Run) flow.ChildResult {
	r := flow.ChildResult{Item: item, RunID: run.ID, State: run.State, Inputs: run.Inputs, Outputs: run.Outputs, Error: run.Error, Usage: run.Usage, Untrusted: run.Untrusted&flow.UntrustedOutputs != 0}
	if run.State == flow.RunCanceled && r.Error == nil {
		r.Error = flow.Errorf(flow.CodeRunCanceled, "The run was canceled.")
	}
	if run.Erased != "" {
		r.State, r.Error = flow.RunFailed, flow.Errorf(run.Erased, "The result of this item has been erased.")
	}
	return r
}

// childrenOf decodes the row that describes all children of a step. The document of a draft
// is not loaded.
func childrenOf(r *gen.Child) (*flow.Children, error) {
	c, _, err := decodeChildren(r)
	return c, err
}

// decodeChildren is childrenOf that also returns what the children share.
func decodeChildren(r *gen.Child) (*flow.Children, flow.ChildTemplate, error) {
	t, err := dbconn.Decode[flow.ChildTemplate](r.Template)
	paused := r.Concurrency < 0 // see SetConcurrency
	return &flow.Children{
		WorkspaceID: r.WorkspaceID, Caller: flow.CallingStep{RunID: r.RunID, Path: r.Path, Round: int(r.Round)}, RootRunID: r.RootRunID, Depth: int(r.Depth),
		FlowID: r.FlowID, Version: t.Version, DocumentHash: r.DocumentHash, Concurrency: int(max(r.Concurrency, -r.Concurrency)), Paused: paused, KeepErrors: r.KeepErrors != 0, MaxFailed: t.MaxFailed,
		Total: int(r.Total), Pending: int(r.Pending), Running: int(r.Running), Succeeded: int(r.Succeeded), Failed: int(r.Failed), Reused: int(r.Reused),
		Stopped: r.Stopped != 0, Usage: core.UsageOf(r.InputTokens, r.OutputTokens, r.CachedTokens, r.ReasoningTokens, r.UnpricedSteps, r.CostNanoUsd),
	}, t, err
}
