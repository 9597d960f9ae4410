package children

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/sorting"
)

// CountEnded counts the child runs that end in a transaction, starts the next items, and wakes
// the callers that need not wait any longer. The steps are in a fixed order, so that
// transactions cannot deadlock on the rows of children.
func CountEnded(tx *core.Tx, ends []core.ChildEnd) error {
	sorting.By(ends, func(a, b core.ChildEnd) int {
		return cmp.Or(dbconn.CompareTexts(string(a.Caller.RunID), string(b.Caller.RunID), a.Caller.Path, b.Caller.Path), cmp.Compare(a.Caller.Round, b.Caller.Round))
	})
	for len(ends) > 0 {
		step := sameStep(ends[0].Caller)
		n := slices.IndexFunc(ends, func(e core.ChildEnd) bool { return sameStep(e.Caller) != step })
		if n < 0 {
			n = len(ends)
		}
		if err := countEndedOf(tx, step, ends[:n]); err != nil {
			return err
		}
		ends = ends[n:]
	}
	return nil
}

// countEndedOf counts the ends of children of one step, starts the next items, and wakes the caller
// when the outcome is decided or the last child has ended.
func countEndedOf(tx *core.Tx, step flow.CallingStep, ends []core.ChildEnd) error {
	p, err := counted(tx, step, ends)
	if err != nil {
		return err
	}
	var row *gen.Child
	usedUp := slices.ContainsFunc(ends, func(e core.ChildEnd) bool { return e.Code == flow.CodeBudgetExceeded })
	if tx.Store.IsPostgres() {
		row, err = countAndStart(tx, p, usedUp)
	} else {
		row, err = count(tx, p)
	}
	if err != nil {
		return err
	}
	notified := row.Stopped != 0 // the step has failed already, and the run ends after the last child
	c, err := startNext(tx, row, usedUp)
	if err != nil {
		return err
	}
	if c.Ended() || c.Decided() && !notified {
		return wake(tx, c)
	}
	return nil
}

// sameStep returns the step without the item.
func sameStep(s flow.CallingStep) flow.CallingStep {
	s.Item = 0
	return s
}

// counted adds up the ends of children of one step, and their usage with that of all runs
// below them.
func counted(tx *core.Tx, step flow.CallingStep, ends []core.ChildEnd) (gen.CountChildParams, error) {
	p := gen.CountChildParams{RunID: step.RunID, Path: step.Path, Round: int64(step.Round), Ended: int64(len(ends))}
	var used flow.Usage
	for _, e := range ends {
		if e.State == flow.RunSucceeded {
			p.Succeeded++
		} else {
			p.Failed++
		}
		used = used.Add(e.Usage)
		if e.Leaf {
			continue
		}
		below, err := tx.Queries.SumChildren(tx.Ctx, e.RunID)
		if err != nil {
			return p, fmt.Errorf("sum the cost below %s: %w", e.RunID, err)
		}
		used = used.Add(core.UsageOf(below.InputTokens, below.OutputTokens, below.CachedTokens, below.ReasoningTokens, below.UnpricedSteps, flow.NanoUSD(below.CostNanoUsd)))
	}
	p.InputTokens, p.OutputTokens, p.CachedTokens = used.InputTokens, used.OutputTokens, used.CachedTokens
	p.ReasoningTokens, p.UnpricedSteps, p.CostNanoUsd = used.ReasoningTokens, used.UnpricedSteps, used.CostNanoUSD
	return p, nil
}

// count adds ends to the row of their step and returns the row. The update locks the row
// until the transaction ends.
func count(tx *core.Tx, p gen.CountChildParams) (*gen.Child, error) {
	r, err := tx.Queries.CountChild(tx.Ctx, p)
	if err != nil {
		return nil, fmt.Errorf("count the children of %s:%s: %w", p.RunID, p.Path, err)
	}
	return &r, nil
}

// lock reads the row of a step so that no other transaction can change it.
func lock(tx *core.Tx, step flow.CallingStep) (*gen.Child, error) {
	r, err := tx.Queries.LockChildren(tx.Ctx, gen.LockChildrenParams{RunID: step.RunID, Path: step.Path, Round: int64(step.Round)})
	if err != nil {
		return nil, fmt.Errorf("lock the children of %s:%s: %w", step.RunID, step.Path, err)
	}
	return &r, nil
}

// startNext starts as many items as may run, or stops if one has failed and the step fails
// with it. The row must be locked. usedUp reports that a child has ended because the budget of a run above
// it is used up; rows of a batch wait for daily budgets, so then the batch itself has cost all that it may cost.
func startNext(tx *core.Tx, r *gen.Child, usedUp bool) (*flow.Children, error) {
	c, t, err := decodeChildren(r)
	if err != nil {
		return nil, err
	}
	step := c.Caller
	switch {
	case !c.Stopped && (c.TooManyFailed() || usedUp && t.Batch):
		c.Stopped, c.Pending = true, 0
		return c, stop(tx, step)
	case c.Stopped, c.Paused:
		return c, nil
	}
	n := min(c.Concurrency-c.Running, c.Pending)
	if n > 0 && t.Batch {
		if n, err = core.AllowRows(tx, c, t.KeyID, n); err != nil {
			return nil, err
		}
	}
	if n > 0 {
		if err := start(tx, c, &t, n); err != nil {
			return nil, fmt.Errorf("start items of %s:%s: %w", step.RunID, step.Path, err)
		}
	}
	return c, nil
}

// stop drops the queued items of a step, so that no more of them start.
func stop(tx *core.Tx, step flow.CallingStep) error {
	p := gen.StopChildrenParams{RunID: step.RunID, Path: step.Path, Round: int64(step.Round)}
	if err := tx.Queries.StopChildren(tx.Ctx, p); err != nil {
		return fmt.Errorf("stop the children of %s:%s: %w", step.RunID, step.Path, err)
	}
	return tx.Queries.DeleteChildItems(tx.Ctx, gen.DeleteChildItemsParams{RunID: p.RunID, Path: p.Path, Round: p.Round, Item: flow.MaxChildItems})
}

// start starts the runs of the next n items.
func start(tx *core.Tx, c *flow.Children, t *flow.ChildTemplate, n int) error {
	step := c.Caller
	p := gen.TakeChildItemsParams{
		RunID: step.RunID, Path: step.Path, Round: int64(step.Round), MaxRows: int32(n),
		First: int64(c.Running + c.Succeeded - c.Reused), // at least this many have started, in order
	}
	items, err := tx.Queries.TakeChildItems(tx.Ctx, p)
	if err != nil || len(items) == 0 {
		return err
	}
	last := items[len(items)-1].Item
	err = tx.Queries.DeleteChildItems(tx.Ctx, gen.DeleteChildItemsParams{RunID: p.RunID, Path: p.Path, Round: p.Round, First: p.First, Item: last})
	if err != nil {
		return err
	}
	if err := startItems(tx, c, t, items); err != nil {
		return err
	}
	c.Pending -= len(items)
	c.Running += len(items)
	return tx.Queries.StartChildren(tx.Ctx, gen.StartChildrenParams{RunID: step.RunID, Path: step.Path, Round: int64(step.Round), Started: int64(len(items))})
}

// startItems starts a run for each item that the caller has taken from the queue of the
// step. Files that are gone do not fail it: the run fails when it opens one.
func startItems(tx *core.Tx, c *flow.Children, t *flow.ChildTemplate, items []gen.TakeChildItemsRow) error {
	runs := make([]flow.Run, len(items))
	for i := range items {
		inputs, err := dbconn.Decode[*flow.Object](items[i].Inputs)
		if err != nil {
			return fmt.Errorf("item %d: %w", items[i].Item, err)
		}
		runs[i] = newChild(tx, c, t, int(items[i].Item), inputs)
	}
	if err := tx.StartChildRuns(runs); err != nil {
		return err
	}
	for i := range runs {
		err := tx.LinkFiles(c.WorkspaceID, runs[i].ID, flow.FileIDs(runs[i].Inputs))
		if err != nil && !flow.IsNotFound(err) { // the child fails when it opens the file
			return err
		}
	}
	return nil
}

// newChild returns a queued run for an item. It is recorded with the version of the
// document that the step started with, so that all items run the same even if another
// version goes live meanwhile.
func newChild(tx *core.Tx, c *flow.Children, t *flow.ChildTemplate, item int, inputs *flow.Object) flow.Run {
	caller := c.Caller
	caller.Item = item
	versions := flow.ChildrenRecorded
	if t.Draft {
		versions = flow.ChildrenDraft
	}
	var untrusted flow.Untrusted
	if t.Untrusted {
		untrusted = flow.UntrustedInputs
	}
	of := t.Case
	if of != nil && of.Item < 0 {
		own := *of
		own.Item, of = item, &own
	}
	return flow.Run{
		Case: of, ID: tx.Store.IDs().NewRun(), WorkspaceID: c.WorkspaceID, FlowID: c.FlowID, Version: t.Version, Draft: t.Draft, ChildVersions: versions, DocumentHash: c.DocumentHash,
		State: flow.RunQueued, Trigger: flow.TriggerFlow, KeyID: t.KeyID, UserID: t.UserID, Caller: &caller, Depth: c.Depth, FlowsAbove: t.FlowsAbove, Budgets: t.Budgets, Inputs: inputs, Metadata: t.Metadata,
		Progress: flow.Progress{Total: t.Nodes}, Save: t.Save, Timeout: time.Duration(t.TimeoutMicros) * time.Microsecond,
		CreatedAt: dbconn.TimeOf(tx.Store.NowMicros()), Seq: 1, RunSeq: 1, Untrusted: untrusted, Traceparent: t.Traceparent,
	}
}

// wake hands the caller to a worker. Its row is locked first: a worker that is about to
// let it wait has then either committed that, or will find the end of the children.
func wake(tx *core.Tx, c *flow.Children) error {
	if _, err := tx.Queries.LockRun(tx.Ctx, c.Caller.RunID); err != nil {
		if dbconn.IsNoRows(err) {
			return nil
		}
		return fmt.Errorf("lock %s: %w", c.Caller.RunID, err)
	}
	tx.Notify(c.Caller.RunID)
	return tx.ResumeDecided(c.WorkspaceID, c.Caller.RunID)
}
