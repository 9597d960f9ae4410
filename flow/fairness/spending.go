package fairness

import (
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
)

// Spending holds the daily cost limits that a run counts against, in nano-dollars: those
// of its flow, of the flows above it, and of its keys. 0 means no limit.
type Spending struct {
	WorkspaceID flow.WorkspaceID
	FlowID      flow.FlowID
	FlowUSD     flow.NanoUSD
	// FlowUnpriced reports whether models without a price may be used although there
	// is a limit.
	FlowUnpriced bool
	Keys         []*flow.Key     // the run's key, then the keys that created it; empty without a key
	Above        []SpendingAbove // of a child run: the flows that started it
}

// SpendingAbove is the limit of a flow that started a child run, directly or not.
type SpendingAbove struct {
	FlowID   flow.FlowID
	Name     string
	USD      flow.NanoUSD
	Unpriced bool
}

// SpendingBudget is a budget in dollars.
type SpendingBudget struct {
	flow.Budget
	WithMade bool // of a key: it includes the spending of the keys that it created
}

// NeedsPrices reports whether models without a price must not be used.
func (s *Spending) NeedsPrices() bool {
	return s.FlowUSD > 0 && !s.FlowUnpriced ||
		slices.ContainsFunc(s.Above, func(a SpendingAbove) bool { return a.USD > 0 && !a.Unpriced }) ||
		slices.ContainsFunc(s.Keys, (*flow.Key).NeedsPrices)
}

// Budgets returns the budgets with a limit: of the key, of the keys that created it, then
// of the flows by ID. All transactions lock them in this order, which prevents deadlocks.
func (s *Spending) Budgets() (list []SpendingBudget) {
	for _, k := range s.Keys {
		if k.USDPerDay > 0 {
			list = append(list, SpendingBudget{flow.Budget{KeyID: k.ID, Name: k.Name, Unit: flow.BudgetUSD, Limit: int64(k.USDPerDay)}, k.MayMakeKeys()})
		}
	}
	if s.FlowUSD > 0 {
		list = append(list, SpendingBudget{Budget: flow.Budget{FlowID: s.FlowID, Unit: flow.BudgetUSD, Limit: int64(s.FlowUSD)}})
	}
	for _, a := range s.Above {
		if a.USD > 0 {
			list = append(list, SpendingBudget{Budget: flow.Budget{FlowID: a.FlowID, Name: a.Name, Unit: flow.BudgetUSD, Limit: int64(a.USD)}})
		}
	}
	sorting.By(list, func(a, b SpendingBudget) int { return strings.Compare(string(a.FlowID), string(b.FlowID)) })
	return list
}
