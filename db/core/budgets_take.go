package core

import (
	"context"
	"fmt"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// takeBudgets refuses a start whose flow or key has used up what it may use on
// the UTC day, and takes it from the budgets of runs. It comes before the lock
// of admission: rows of busy flows are waited for, and in one order everywhere.
func (tx *Tx) takeBudgets(r *gen.InsertRunParams, k *flow.Key) error {
	limits, err := tx.FlowLimits(FlowKey{r.WorkspaceID, r.FlowID})
	if err != nil {
		return err
	}
	if k == nil {
		k = &flow.Key{}
	}
	day := dbconn.TimeOf(r.CreatedAt)
	if err := CheckSpending(tx.Ctx, tx.Queries, Spending{r.WorkspaceID, r.FlowID, r.KeyID, k.Name, limits.UsdPerDay, k.USDPerDay}, day); err != nil {
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

// takeStart is exact: the row is the day's count, and whoever changes it last
// sees what all others made of it.
func (tx *Tx) takeStart(ws string, b flow.Budget, day time.Time) error {
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

// Spending is what a flow and a key may cost on a day; 0 is no limit.
type Spending struct {
	ws, flowID, keyID, keyName string
	flowUSD, keyUSD            int64
}

// CheckSpending reads what was spent for those alone that have a limit.
func CheckSpending(ctx context.Context, q *gen.Queries, s Spending, now time.Time) error {
	day := DayOf(now)
	for _, b := range []flow.Budget{
		{KeyID: s.keyID, Name: s.keyName, Unit: flow.BudgetUSD, Limit: s.keyUSD},
		{FlowID: s.flowID, Unit: flow.BudgetUSD, Limit: s.flowUSD},
	} {
		if b.Limit <= 0 {
			continue
		}
		var err error
		if b.Used, err = Spent(ctx, q, s.ws, b, day); err != nil {
			return fmt.Errorf("read what %s has cost: %w", b.KeyID+b.FlowID, err)
		}
		if b.UsedUp() {
			return b.Refusal(now)
		}
	}
	return nil
}

// Spent is what the key or the flow of a budget has cost on a day, in
// nano-dollars.
func Spent(ctx context.Context, q *gen.Queries, ws string, b flow.Budget, day string) (int64, error) {
	if b.KeyID != "" {
		return q.KeySpent(ctx, gen.KeySpentParams{WorkspaceID: ws, KeyID: b.KeyID, Day: day})
	}
	return q.FlowSpent(ctx, gen.FlowSpentParams{WorkspaceID: ws, FlowID: b.FlowID, Day: day})
}

// NewSpending is what a flow and a key may cost on a day, in nano-dollars; 0 is
// no limit.
func NewSpending(workspaceID, flowID, keyID, keyName string, flowUSD, keyUSD int64) Spending {
	return Spending{workspaceID, flowID, keyID, keyName, flowUSD, keyUSD}
}
