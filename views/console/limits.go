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
	Budgets                                      []UsageBudget
	// Unpriced are models of the flow whose cost nobody would know.
	Unpriced []string
	MayEdit  bool
	Errors   components.Errors
}

func (f LimitsForm) unpriced() string {
	them, prices := "What it costs counts as nothing, so it never uses", "a price"
	if len(f.Unpriced) > 1 {
		them, prices = "What they cost counts as nothing, so they never use", "prices"
	}
	return "No price is entered for " + strings.Join(f.Unpriced, ", ") + ". " + them + " up the dollars a day. Enter " + prices + " with “sluice price set”, or limit the runs a day."
}

// orNoLimit is for those who may only look.
func orNoLimit(text, before string) string {
	if text == "" {
		return "No limit"
	}
	return before + text
}
