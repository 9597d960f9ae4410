package core

import (
	"context"
	"fmt"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// takeBudgets returns an error if the flow or key of a start has used up a budget
// of the UTC day, and counts the start against the budgets of runs. It runs
// before the admission lock is taken, because it may wait for the rows of busy
// flows. Rows are locked in a fixed order.
func (tx *Tx) takeBudgets(r *gen.InsertRunParams, k *flow.Key) error {
	limits, err := tx.FlowLimits(FlowKey{r.WorkspaceID, r.FlowID})
	if err != nil {
		return err
	}
	if k == nil {
		k = &flow.Key{}
	}
	day := dbconn.TimeOf(r.CreatedAt)
	if err := CheckSpending(tx.Ctx, tx.Queries, Spending{WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, KeyID: r.KeyID, KeyName: k.Name, FlowUSD: limits.UsdPerDay, KeyUSD: k.USDPerDay}, day); err != nil {
		return err
	}
	for _, b := range []flow.Budget{
		{KeyID: r.KeyID, Name: k.Name, Unit: flow.BudgetRuns, Limit: k.RunsPerDay},
		{FlowID: r.FlowID, Unit: flow.BudgetRuns, Limit: limits.RunsPerDay},
	} {
		if err := tx.takeStart(r.WorkspaceID, b, day); err != nil {
			return err
		}
	}
	return nil
}

// takeStart counts a start against a budget of runs. The count is exact, because
// concurrent transactions update the same row one after the other.
func (tx *Tx) takeStart(ws flow.WorkspaceID, b flow.Budget, day time.Time) error {
	if b.Limit <= 0 {
		return nil
	}
	n, err := tx.TakeStart(tx.Ctx, gen.TakeStartParams{WorkspaceID: ws, Subject: b.KeyID + b.FlowID, Day: DayOf(day), Most: b.Limit})
	if err != nil {
		return fmt.Errorf("take a start from the budget of %s: %w", b.KeyID+b.FlowID, err)
	}
	if n == 0 {
		b.Used = b.Limit
		return b.Refusal(day)
	}
	return nil
}

// Spending holds the daily cost limits of a flow and a key, in nano-dollars. 0
// means no limit.
type Spending struct {
	WorkspaceID     flow.WorkspaceID
	FlowID          string
	KeyID, KeyName  string // empty without a key
	FlowUSD, KeyUSD flow.NanoUSD
}

// CheckSpending returns an error if the key or the flow has used up its daily
// budget. It reads nothing for one without a limit.
func CheckSpending(ctx context.Context, q *gen.Queries, s Spending, now time.Time) error {
	day := DayOf(now)
	for _, b := range []flow.Budget{
		{KeyID: s.KeyID, Name: s.KeyName, Unit: flow.BudgetUSD, Limit: int64(s.KeyUSD)},
		{FlowID: s.FlowID, Unit: flow.BudgetUSD, Limit: int64(s.FlowUSD)},
	} {
		if b.Limit <= 0 {
			continue
		}
		var err error
		if b.Used, err = Spent(ctx, q, s.WorkspaceID, b, day); err != nil {
			return fmt.Errorf("read what %s has cost: %w", b.KeyID+b.FlowID, err)
		}
		if b.UsedUp() {
			return b.Refusal(now)
		}
	}
	return nil
}

// Spent returns the cost of the key or flow of a budget on a day, in
// nano-dollars.
func Spent(ctx context.Context, q *gen.Queries, ws flow.WorkspaceID, b flow.Budget, day string) (int64, error) {
	if b.KeyID != "" {
		return q.KeySpent(ctx, gen.KeySpentParams{WorkspaceID: ws, KeyID: b.KeyID, Day: day})
	}
	return q.FlowSpent(ctx, gen.FlowSpentParams{WorkspaceID: ws, FlowID: b.FlowID, Day: day})
}
