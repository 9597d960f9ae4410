package db

import (
	"context"
	"fmt"
	"strings"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/fairness"
)

// ReserveSpending implements flow.BudgetStore. It counts all recorded costs,
// including those of open runs, and applies changes of budgets immediately. Without
// a budget in dollars it only reads the limits.
func (s *Budgets) ReserveSpending(ctx context.Context, r flow.Reservation) error {
	l, err := s.DB.Reads.FindSpendingLimits(ctx, gen.FindSpendingLimitsParams{WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, KeyID: r.KeyID})
	if err != nil {
		return dbconn.NotFoundErr(err, "flow")
	}
	spending := fairness.Spending{WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, FlowUSD: l.FlowUsd, FlowUnpriced: l.FlowUnpriced != 0}
	if r.KeyID != "" {
		k := flow.Key{ID: r.KeyID, Name: l.KeyName, USDPerDay: flow.NanoUSD(l.KeyUsd), AllowUnpriced: l.KeyUnpriced != 0, CreatedBy: l.KeyMaker, Scopes: dbconn.DecodeList[flow.Scope](l.KeyScopes)}
		makers, err := core.MakersOf(ctx, s.DB.Reads, r.WorkspaceID, &k)
		if err != nil {
			return err
		}
		for spending.Keys = []*flow.Key{&k}; len(makers) > 0; makers = makers[1:] {
			spending.Keys = append(spending.Keys, &makers[0])
		}
	}
	for _, id := range r.FlowsAbove {
		a, err := s.DB.Reads.FindSpendingLimits(ctx, gen.FindSpendingLimitsParams{WorkspaceID: r.WorkspaceID, FlowID: id})
		if dbconn.IsNoRows(err) {
			continue // the flow was deleted
		}
		if err != nil {
			return fmt.Errorf("read the budget of %s: %w", id, err)
		}
		spending.Above = append(spending.Above, fairness.SpendingAbove{FlowID: id, Name: a.Name, USD: a.FlowUsd, Unpriced: a.FlowUnpriced != 0})
	}
	ofRun := len(r.RunBudgets) > 0 || r.StepBudget > 0
	switch {
	case r.Unpriced != "" && spending.NeedsPrices():
		return flow.UnknownPrice([]string{r.Unpriced})
	case r.Unpriced != "" && ofRun:
		return flow.UnknownRunPrice([]string{r.Unpriced})
	}
	if !ofRun && (r.Amount <= 0 || len(spending.Budgets()) == 0) {
		return core.CheckSpending(ctx, s.DB.Reads, spending, s.DB.Config.Now())
	}
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error { return tx.ReserveSpending(spending, r) })
}

// SetFlowLimits sets the limits and budgets of a flow.
func (s *Budgets) SetFlowLimits(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, l flow.Limits) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		before, err := tx.FlowLimits(core.FlowKeyOf(ws, flowID))
		if err != nil {
			return err
		}
		clear(tx.Batch.Counts.Limits)
		tx.Batch.LimitsChanged = true
		n, err := tx.Queries.SetFlowLimits(tx.Ctx, gen.SetFlowLimitsParams{
			ID: flowID, WorkspaceID: ws, MaxRunning: l.MaxRunning, MaxQueued: l.MaxQueued,
			RunsPerDay: l.RunsPerDay, UsdPerDay: l.USDPerDay, AllowUnpriced: dbconn.BoolInt(l.AllowUnpriced), UpdatedAt: s.DB.NowMicros(),
		})
		if err := dbconn.MustAffect(n, err, "flow"); err != nil {
			return err
		}
		return countStarts(tx, ws, string(flowID), before.RunsPerDay, l.RunsPerDay)
	})
}

// countStarts counts today's runs of a flow or key when it first gets a budget of
// runs. Starts are counted continuously only for those that have a budget.
func countStarts(tx *core.Tx, ws flow.WorkspaceID, subject string, before, after int64) error {
	if before > 0 || after <= 0 {
		return nil
	}
	now := tx.Store.Config.Now()
	midnight := flow.NextDay(now).AddDate(0, 0, -1)
	from := flow.RunID(flow.FirstID(flow.PrefixRun, midnight))
	var n int64
	var err error
	if strings.HasPrefix(subject, flow.PrefixKey) {
		n, err = tx.Queries.CountStartsOfKeys(tx.Ctx, gen.CountStartsOfKeysParams{WorkspaceID: ws, KeyID: subject, FromID: from})
	} else {
		n, err = tx.Queries.CountStarts(tx.Ctx, gen.CountStartsParams{WorkspaceID: ws, Subject: subject, FromID: from})
	}
	if err == nil {
		err = tx.Queries.SetStarts(tx.Ctx, gen.SetStartsParams{WorkspaceID: ws, Subject: subject, Day: core.DayOf(now), Runs: n})
	}
	if err != nil {
		return fmt.Errorf("count the runs of %s today: %w", subject, err)
	}
	return nil
}

// FlowBudgets returns the budgets of a flow for this UTC day and their usage.
func (s *Budgets) FlowBudgets(ctx context.Context, f *flow.Flow) ([]flow.Budget, error) {
	return s.budgets(ctx, f.WorkspaceID, fairness.SpendingBudget{Budget: flow.Budget{FlowID: f.ID, Name: f.Name}}, f.RunsPerDay, int64(f.USDPerDay))
}

// KeyBudgets returns the budgets of a key for this UTC day and their usage, with that of
// the keys that it made.
func (s *Budgets) KeyBudgets(ctx context.Context, k *flow.Key) ([]flow.Budget, error) {
	return s.budgets(ctx, k.WorkspaceID, fairness.SpendingBudget{Budget: flow.Budget{KeyID: k.ID, Name: k.Name}, WithMade: k.MayMakeKeys()}, k.RunsPerDay, int64(k.USDPerDay))
}

// budgets returns the budgets that are set, dollars first.
func (s *Budgets) budgets(ctx context.Context, ws flow.WorkspaceID, base fairness.SpendingBudget, runs, usd int64) (list []flow.Budget, err error) {
	day, subject := s.DB.Config.Now(), base.KeyID+string(base.FlowID)
	if usd > 0 {
		b := base
		b.Unit, b.Limit = flow.BudgetUSD, usd
		b.Used, b.Lost, err = core.Spent(ctx, s.DB.Reads, ws, b, core.DayOf(day))
		list = append(list, b.Budget)
	}
	if err == nil && runs > 0 {
		b := base
		b.Unit, b.Limit = flow.BudgetRuns, runs
		b.Used, err = s.DB.Reads.FindStarts(ctx, gen.FindStartsParams{WorkspaceID: ws, Subject: subject, Day: core.DayOf(day)})
		if dbconn.IsNoRows(err) {
			err = nil
		}
		list = append(list, b.Budget)
	}
	if err != nil {
		return nil, fmt.Errorf("read today's usage of %s: %w", subject, err)
	}
	return list, nil
}

// UsedUpBudget returns the daily budget that keeps steps of a run from starting: that of its key, of a key above that, or of its
// flow. It is nil if none is used up.
func (s *Budgets) UsedUpBudget(ctx context.Context, r *flow.Run) (*flow.Budget, error) {
	keys, err := runKeys(ctx, s.DB.Reads, r)
	if err != nil {
		return nil, err
	}
	limits, err := s.DB.Reads.FindFlowLimits(ctx, gen.FindFlowLimitsParams{ID: r.FlowID, WorkspaceID: r.WorkspaceID})
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "flow")
	}
	list, err := s.budgets(ctx, r.WorkspaceID, fairness.SpendingBudget{Budget: flow.Budget{FlowID: r.FlowID}}, limits.RunsPerDay, int64(limits.UsdPerDay))
	for i := 0; i < len(keys) && err == nil; i++ {
		var more []flow.Budget
		more, err = s.KeyBudgets(ctx, &keys[i])
		list = append(list, more...)
	}
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].UsedUp() {
			return &list[i], nil
		}
	}
	return nil, nil
}

// runKeys returns the key of a run and those above it, or nothing if the key was deleted.
func runKeys(ctx context.Context, q *gen.Queries, r *flow.Run) ([]flow.Key, error) {
	if r.KeyID == "" {
		return nil, nil
	}
	row, err := q.FindKey(ctx, gen.FindKeyParams{ID: r.KeyID, WorkspaceID: r.WorkspaceID})
	if dbconn.IsNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the key of %s: %w", r.ID, err)
	}
	k := core.KeyOf(row)
	makers, err := core.MakersOf(ctx, q, r.WorkspaceID, &k)
	return append([]flow.Key{k}, makers...), err
}
