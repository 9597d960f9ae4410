package console

import (
	"strings"

	"sluice/views/components"
)

// FlowSettings are what a flow is called, and its limits.
type FlowSettings struct {
	FlowID, Name string
	// TypedName, Description and Tags are the values of the form; tags have commas between.
	TypedName, Description, Tags string
	Limits                       LimitsForm
	MayEdit                      bool
	Errors                       components.Errors
}

// LimitsForm is how much a flow may do, as it was typed, and what of it is used
// today.
type LimitsForm struct {
	FlowID, Name                                 string
	MaxRunning, MaxQueued, RunsPerDay, USDPerDay string
	AllowUnpriced                                bool
	Budgets                                      []UsageBudget
	// Unpriced are models of the flow whose cost nobody would know.
	Unpriced []string
	MayEdit  bool
	Errors   components.Errors
}

// unpriced names the models without a price and says what that means for the budget in
// dollars: starts are refused, or the budget misses their cost.
func (f LimitsForm) unpriced() string {
	text := "The price of " + strings.Join(f.Unpriced, ", ") + " is unknown. "
	if f.AllowUnpriced {
		return text + "Its cost does not count towards the dollars a day. Set it with “sluice price set”."
	}
	return text + "Starts are refused until you set it with “sluice price set” or allow models without a price."
}

// orNoLimit is for those who may only look.
func orNoLimit(text, before string) string {
	if text == "" {
		return "No limit"
	}
	return before + text
}
