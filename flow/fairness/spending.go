package fairness

import (
	"slices"
	"strings"

	"sluice/flow"
)

// Spending holds the daily cost limits of a flow and a key, in nano-dollars. 0
// means no limit.
type Spending struct {
	WorkspaceID     flow.WorkspaceID
	FlowID          string
	KeyID, KeyName  string // empty without a key
	FlowUSD, KeyUSD flow.NanoUSD
	// FlowUnpriced and KeyUnpriced report whether models without a price may be used
	// although there is a limit.
	FlowUnpriced, KeyUnpriced bool
	Above                     []SpendingAbove // of a child run
}

// SpendingAbove is the limit of a flow above a child run.
type SpendingAbove struct {
	FlowID, Name string
	USD          flow.NanoUSD
	Unpriced     bool
}

// NeedsPrices reports whether models without a price must not be used.
func (s *Spending) NeedsPrices() bool {
	above := slices.ContainsFunc(s.Above, func(a SpendingAbove) bool { return a.USD > 0 && !a.Unpriced })
	return above || s.FlowUSD > 0 && !s.FlowUnpriced || s.KeyUSD > 0 && !s.KeyUnpriced
}

// Budgets returns the budgets with a limit: that of the key first, then those of the
// flows by ID. All transactions lock them in this order.
func (s *Spending) Budgets() (list []flow.Budget) {
	if s.KeyUSD > 0 {
		list = append(list, flow.Budget{KeyID: s.KeyID, Name: s.KeyName, Unit: flow.BudgetUSD, Limit: int64(s.KeyUSD)})
	}
	if s.FlowUSD > 0 {
		list = append(list, flow.Budget{FlowID: s.FlowID, Unit: flow.BudgetUSD, Limit: int64(s.FlowUSD)})
	}
	for _, a := range s.Above {
		if a.USD > 0 {
			list = append(list, flow.Budget{FlowID: a.FlowID, Name: a.Name, Unit: flow.BudgetUSD, Limit: int64(a.USD)})
		}
	}
	slices.SortFunc(list, func(a, b flow.Budget) int { return strings.Compare(a.FlowID, b.FlowID) })
	return list
}
