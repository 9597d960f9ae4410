package db

import (
	"context"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// CheckSpending refuses what would cost money once the flow, or the key if
// there is one, has cost what it may cost on this UTC day. It counts what is
// recorded, open runs included. A budget that was set meanwhile holds at once.
func (s Budgets) CheckSpending(ctx context.Context, ws, flowID, keyID string) error {
	l, err := s.Reads.FindSpendingLimits(ctx, gen.FindSpendingLimitsParams{WorkspaceID: ws, FlowID: flowID, KeyID: keyID})
	if err != nil {
		return dbconn.NotFoundErr(err, "flow")
	}
	return core.CheckSpending(ctx, s.Reads, core.NewSpending(ws, flowID, keyID, l.KeyName, l.FlowUsd, l.KeyUsd), s.Config.Now())
}

// SetFlowLimits bounds the runs of a flow.
func (s Budgets) SetFlowLimits(ctx context.Context, ws, flowID string, l flow.Limits) error {
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		before, err := tx.FlowLimits(core.FlowKeyOf(ws, flowID))
		if err != nil {
			return err
		}
		clear(tx.Batch.Counts.Limits)
		n, err := tx.SetFlowLimits(tx.Ctx, gen.SetFlowLimitsParams{
			ID: flowID, WorkspaceID: ws, MaxRunning: l.MaxRunning, MaxQueued: l.MaxQueued,
			RunsPerDay: l.RunsPerDay, UsdPerDay: l.USDPerDay, UpdatedAt: s.NowMicros(),
		})
		if err := dbconn.MustAffect(n, err, "flow"); err != nil {
			return err
		}
		return countStarts(tx, ws, flowID, before.RunsPerDay, l.RunsPerDay)
	})
}

// countStarts finds out how many runs of a flow or key this day has seen, when
// it is given a budget of them: starts are counted only for those that have one.
func countStarts(tx *core.Tx, ws, subject string, before, after int64) error {
	if before > 0 || after <= 0 {
		return nil
	}
	now := tx.Store.Config.Now()
	midnight := flow.NextDay(now).AddDate(0, 0, -1)
	n, err := tx.CountStarts(tx.Ctx, gen.CountStartsParams{WorkspaceID: ws, Subject: subject, FromID: flow.FirstID(flow.PrefixRun, midnight)})
	if err == nil {
		err = tx.SetStarts(tx.Ctx, gen.SetStartsParams{WorkspaceID: ws, Subject: subject, Day: core.DayOf(now), Runs: n})
	}
	if err != nil {
		return fmt.Errorf("count the runs of %s today: %w", subject, err)
	}
	return nil
}

// FlowBudgets are what the flow may use on this UTC day and has used of it.
func (s Budgets) FlowBudgets(ctx context.Context, f *flow.Flow) ([]flow.Budget, error) {
	return s.budgets(ctx, f.WorkspaceID, flow.Budget{FlowID: f.ID, Name: f.Name}, f.RunsPerDay, f.USDPerDay)
}

// KeyBudgets are what the key may use on this UTC day and has used of it.
func (s Budgets) KeyBudgets(ctx context.Context, k *flow.Key) ([]flow.Budget, error) {
	return s.budgets(ctx, k.WorkspaceID, flow.Budget{KeyID: k.ID, Name: k.Name}, k.RunsPerDay, k.USDPerDay)
}

// budgets are those that there are, of dollars first.
func (s Budgets) budgets(ctx context.Context, ws string, of flow.Budget, runs, usd int64) (list []flow.Budget, err error) {
	day, subject := s.Config.Now(), of.KeyID+of.FlowID
	if usd > 0 {
		b := of
		b.Unit, b.Limit = flow.BudgetUSD, usd
		b.Used, err = core.Spent(ctx, s.Reads, ws, b, core.DayOf(day))
		list = append(list, b)
	}
	if err == nil && runs > 0 {
		b := of
		b.Unit, b.Limit = flow.BudgetRuns, runs
		b.Used, err = s.Reads.FindStarts(ctx, gen.FindStartsParams{WorkspaceID: ws, Subject: subject, Day: core.DayOf(day)})
		if dbconn.IsNoRows(err) {
			err = nil
		}
		list = append(list, b)
	}
	if err != nil {
		return nil, fmt.Errorf("read what %s has used today: %w", subject, err)
	}
	return list, nil
}
