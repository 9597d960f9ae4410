package core

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/fairness"
)

// takeBudgets returns an error if the flow or key of a start has used up a budget
// of the UTC day, and counts the start against the budgets of runs. It runs
// before the admission lock is taken, because it may wait for the rows of busy
// flows. Rows are locked in a fixed order.
func (tx *Tx) takeBudgets(r *gen.InsertRunParams, n *flow.NewRun) error {
	limits, err := tx.FlowLimits(FlowKey{r.WorkspaceID, r.FlowID})
	if err != nil {
		return err
	}
	day := dbconn.TimeOf(r.CreatedAt)
	spending := fairness.Spending{WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, Keys: keysOf(n.Key), FlowUSD: limits.UsdPerDay, FlowUnpriced: limits.AllowUnpriced != 0}
	switch needed := spending.NeedsPrices() || r.MaxNanoUsd > 0; {
	case needed && !n.Prices:
		return flow.ErrPricesWanted
	case spending.NeedsPrices() && len(n.Unpriced) > 0:
		return flow.UnknownPrice(n.Unpriced)
	case needed && len(n.Unpriced) > 0:
		return flow.UnknownRunPrice(n.Unpriced)
	}
	if !n.Free {
		if err := checkSpending(tx, spending, day); err != nil {
			return err
		}
	}
	if n.Run.Trigger == flow.TriggerBatch { // its rows count when they start; see AllowRows
		return nil
	}
	for _, k := range spending.Keys {
		if err := tx.takeStart(r.WorkspaceID, flow.Budget{KeyID: k.ID, Name: k.Name, Unit: flow.BudgetRuns, Limit: k.RunsPerDay}, day); err != nil {
			return err
		}
	}
	return tx.takeStart(r.WorkspaceID, flow.Budget{FlowID: r.FlowID, Unit: flow.BudgetRuns, Limit: limits.RunsPerDay}, day)
}

// keysOf returns a key and its makers, whose limits count too, or nothing for nil.
func keysOf(k *flow.Key) (list []*flow.Key) {
	if k != nil {
		list = append(list, k)
		for i := range k.Makers {
			list = append(list, &k.Makers[i])
		}
	}
	return list
}

// takeStart counts a start against a budget of runs. The count is exact, because
// concurrent transactions update the same row one after the other.
func (tx *Tx) takeStart(ws flow.WorkspaceID, b flow.Budget, day time.Time) error {
	if b.Limit <= 0 {
		return nil
	}
	n, err := tx.Queries.TakeStart(tx.Ctx, gen.TakeStartParams{WorkspaceID: ws, Subject: b.KeyID + string(b.FlowID), Day: DayOf(day), Most: b.Limit})
	if err != nil {
		return fmt.Errorf("take a start from the budget of %s: %w", b.KeyID+string(b.FlowID), err)
	}
	if n == 0 {
		b.Used = b.Limit
		return b.Refusal(day)
	}
	return nil
}

// ReserveSpending reserves what a step may cost. If nothing else is reserved, a budget
// that is not used up allows any amount; otherwise the sum of what is spent, reserved
// and requested must not exceed it. So parallel steps exceed a budget by at most one
// reservation.
func (tx *Tx) ReserveSpending(s fairness.Spending, r flow.Reservation) error {
	now, budgets := tx.Store.Config.Now(), s.Budgets()
	for i := range budgets {
		if err := tx.Queries.LockBudget(tx.Ctx, gen.LockBudgetParams{WorkspaceID: s.WorkspaceID, Subject: budgets[i].KeyID + string(budgets[i].FlowID)}); err != nil {
			return fmt.Errorf("lock the budget of %s: %w", budgets[i].KeyID+string(budgets[i].FlowID), err)
		}
	}
	for i := range budgets {
		b := &budgets[i]
		reserved, err := tx.reserved(s.WorkspaceID, b, r, DayOf(now))
		if err != nil {
			return fmt.Errorf("read the reservations of %s: %w", b.KeyID+string(b.FlowID), err)
		}
		if b.UsedUp() {
			return b.Refusal(now)
		}
		if reserved > 0 && b.Used+reserved+int64(r.Amount) > b.Limit {
			return flow.ErrBudgetReserved
		}
	}
	n, err := tx.Queries.ReserveStep(tx.Ctx, gen.ReserveStepParams{Reserved: int64(r.Amount), Day: DayOf(now), Attempt: r.Attempt, RunID: r.RunID, Path: r.Path})
	if err == nil && n == 0 {
		return flow.ErrFenced // another worker has the run
	}
	if err != nil {
		return err
	}
	return checkRunBudgets(tx, r) // last: the write of a run locks its steps before its budgets
}

// reserved returns what other steps have reserved of a budget, and sets b.Used. It adds
// the costs of steps that end in this transaction, which are stored only at its end.
func (tx *Tx) reserved(ws flow.WorkspaceID, b *fairness.SpendingBudget, r flow.Reservation, day string) (int64, error) {
	reserved, err := tx.findReserved(ws, b, r, day)
	if err != nil || len(tx.Batch.usage)+len(tx.Batch.lost) == 0 {
		return reserved, err
	}
	keys := []string{b.KeyID}
	if b.WithMade {
		if keys, err = tx.Queries.ListKeyTree(tx.Ctx, gen.ListKeyTreeParams{KeyID: b.KeyID, WorkspaceID: ws}); err != nil {
			return 0, err
		}
	}
	for i := range tx.Batch.usage {
		e := &tx.Batch.usage[i]
		if e.ws == ws && e.Day == day && (b.KeyID != "" && slices.Contains(keys, e.KeyID) || b.KeyID == "" && e.FlowID == b.FlowID) {
			b.Used += int64(e.Usage.CostNanoUSD)
		}
	}
	for i := range tx.Batch.below {
		if e := &tx.Batch.below[i]; e.ws == ws && e.day == day && e.flowID == b.FlowID {
			b.Used += int64(e.cost)
		}
	}
	for i := range tx.Batch.lost {
		if e := &tx.Batch.lost[i]; e.ws == ws && e.day == day && (e.subject == string(b.FlowID) || b.KeyID != "" && slices.Contains(keys, e.subject)) {
			b.Used += int64(e.cost)
		}
	}
	return reserved, nil
}

// findReserved sets b.Used to what has been spent of a budget today, and returns what running
// steps have reserved of it. The step of r is not counted, because it may ask again after
// a crash.
func (tx *Tx) findReserved(ws flow.WorkspaceID, b *fairness.SpendingBudget, r flow.Reservation, day string) (int64, error) {
	switch {
	case b.WithMade:
		row, err := tx.Queries.FindKeysReserved(tx.Ctx, gen.FindKeysReservedParams{WorkspaceID: ws, Day: day, KeyID: b.KeyID, RunID: r.RunID, Path: r.Path})
		b.Used = row.Spent + row.Lost
		return row.Reserved, err
	case b.KeyID != "":
		row, err := tx.Queries.FindKeyReserved(tx.Ctx, gen.FindKeyReservedParams{WorkspaceID: ws, Day: day, KeyID: b.KeyID, RunID: r.RunID, Path: r.Path})
		b.Used = row.Spent + row.Lost
		return row.Reserved, err
	}
	row, err := tx.Queries.FindFlowReserved(tx.Ctx, gen.FindFlowReservedParams{WorkspaceID: ws, Day: day, FlowID: b.FlowID, Subject: string(b.FlowID), RunID: r.RunID, Path: r.Path})
	b.Used = row.Spent + row.Below + row.Lost
	return row.Reserved, err
}

// Spent returns the cost of the keys or flow of a budget on a day, in nano-dollars. The
// cost of a flow includes that of the child runs below it, and any cost the estimates of lost
// calls, which are also returned alone.
func Spent(ctx context.Context, q *gen.Queries, ws flow.WorkspaceID, b fairness.SpendingBudget, day string) (spent, lost int64, err error) {
	switch {
	case b.WithMade:
		row, err := q.KeysSpent(ctx, gen.KeysSpentParams{WorkspaceID: ws, KeyID: b.KeyID, Day: day})
		return row.Spent + row.Lost, row.Lost, err
	case b.KeyID != "":
		row, err := q.KeySpent(ctx, gen.KeySpentParams{WorkspaceID: ws, KeyID: b.KeyID, Day: day})
		return row.Spent + row.Lost, row.Lost, err
	}
	row, err := q.FlowSpent(ctx, gen.FlowSpentParams{WorkspaceID: ws, FlowID: b.FlowID, Subject: string(b.FlowID), Day: day})
	return row.Spent + row.Below + row.Lost, row.Lost, err
}
