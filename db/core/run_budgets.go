package core

import (
	"fmt"
	"slices"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// runSpending is what a step has cost, for one budget of a run. lost is an estimate, for a call whose
// bill is unknown.
type runSpending struct {
	id         flow.RunBudgetID
	cost, lost flow.NanoUSD
}

// AddRunBudget creates a budget unless it exists.
func AddRunBudget(tx *Tx, id flow.RunBudgetID, most flow.NanoUSD) error {
	runID, path := id.Split()
	if err := tx.Queries.AddRunBudget(tx.Ctx, gen.AddRunBudgetParams{RunID: runID, Path: path, MaxNanoUsd: most}); err != nil {
		return fmt.Errorf("add the budget %s: %w", id, err)
	}
	return nil
}

// addRunSpending counts what a step has cost for the budgets that it counts against.
func (b *batch) addRunSpending(r *flow.Run, step *flow.Step, cost, lost flow.NanoUSD) {
	if cost == 0 && lost == 0 {
		return
	}
	for _, id := range r.Budgets {
		b.ofRuns = append(b.ofRuns, runSpending{id, cost, lost})
	}
	if step != nil && step.InBudget {
		b.ofRuns = append(b.ofRuns, runSpending{flow.BudgetOfStep(r.ID, step.Path), cost, lost})
	}
}

// flushRunSpending stores what runs have spent, in a fixed order so that transactions cannot
// deadlock.
func flushRunSpending(tx *Tx) error {
	compare := func(a, b runSpending) int { return dbconn.CompareTexts(string(a.id), string(b.id)) }
	for _, e := range mergeEqual(tx.Batch.ofRuns, compare, func(sum, e *runSpending) { sum.cost, sum.lost = sum.cost+e.cost, sum.lost+e.lost }) {
		runID, path := e.id.Split()
		if err := tx.Queries.AddRunSpending(tx.Ctx, gen.AddRunSpendingParams{RunID: runID, Path: path, Spent: e.cost + e.lost, Lost: e.lost}); err != nil {
			return err
		}
	}
	return nil
}

// checkRunBudgets returns an error if one of the budgets of a run does not allow a reservation. The rule is that of
// Tx.ReserveSpending. It locks the budgets in the order of flushRunSpending.
func checkRunBudgets(tx *Tx, r flow.Reservation) error {
	ids := slices.Clone(r.RunBudgets)
	if r.StepBudget > 0 {
		id := flow.BudgetOfStep(r.RunID, r.Path)
		if err := AddRunBudget(tx, id, r.StepBudget); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b flow.RunBudgetID) int { return dbconn.CompareTexts(string(a), string(b)) })
	var busy error
	for _, id := range ids {
		runID, path := id.Split()
		n, err := tx.Queries.LockRunBudget(tx.Ctx, gen.LockRunBudgetParams{RunID: runID, Path: path})
		if err != nil {
			return fmt.Errorf("lock the budget %s: %w", id, err)
		}
		if n == 0 {
			continue // the run was deleted
		}
		b, reserved, err := findRunBudget(tx, id, r)
		switch {
		case err != nil:
			return err
		case b.Spent >= b.Max:
			return b.Refusal(r.RunID)
		case reserved > 0 && b.Spent+reserved+r.Amount > b.Max:
			busy = flow.ErrRunBudgetReserved
		}
	}
	return busy
}

// findRunBudget returns a budget, and what other steps than that of r have reserved of it. It adds the costs
// of steps that end in this transaction, which are stored only at its end.
func findRunBudget(tx *Tx, id flow.RunBudgetID, r flow.Reservation) (b flow.RunBudget, reserved flow.NanoUSD, err error) {
	runID, path := id.Split()
	prefix := path + flow.SubSeparator // no path begins with the separator
	row, err := tx.Queries.FindRunBudget(tx.Ctx, gen.FindRunBudgetParams{
		RunID: runID, Path: path, WorkspaceID: r.WorkspaceID, Budget: string(id), Prefix: prefix, PrefixLength: int32(len(prefix)),
		AskingRunID: r.RunID, AskingPath: r.Path,
	})
	if err != nil {
		return b, 0, fmt.Errorf("read the budget %s: %w", id, err)
	}
	b = flow.RunBudget{ID: id, Max: row.MaxNanoUsd, Spent: row.SpentNanoUsd, Lost: row.LostNanoUsd}
	for i := range tx.Batch.ofRuns {
		if e := &tx.Batch.ofRuns[i]; e.id == id {
			b.Spent += e.cost + e.lost
		}
	}
	return b, flow.NanoUSD(row.Reserved), nil
}
