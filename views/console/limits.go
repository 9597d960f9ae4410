package console

import (
	"strings"

	"sluice/views/components"
)

// FlowSettings are the name, description, tags and limits of a flow.
type FlowSettings struct {
	FlowID, Name string
	LiveVersion  int64
	// TypedName, Description and Tags are the values of the form; tags are separated by commas.
	TypedName, Description, Tags string
	Limits                       LimitsForm
	MayEdit                      bool
	Errors                       components.Errors
}

// LimitsForm holds the limits of a flow as typed, and how much of them was used today.
type LimitsForm struct {
	FlowID, Name                                 string
	MaxRunning, MaxQueued, RunsPerDay, USDPerDay string
	AllowUnpriced                                bool
	Budgets                                      []UsageBudget
	// Unpriced are the models of the flow whose price is unknown.
	Unpriced []string
	MayEdit  bool
	Errors   components.Errors
}

// unpriced names the models without a price and says what that means for the budget: runs are
// refused, or their cost isn't counted.
func (f LimitsForm) unpriced() string {
	text := "The price of " + strings.Join(f.Unpriced, ", ") + " is unknown. "
	if f.AllowUnpriced {
		return text + "Its cost does not count toward the dollars per day. Set it with “sluice price set”."
	}
	return text + "Runs are rejected until you set it with “sluice price set” or allow models without a price."
}

// orNoLimit formats a limit for users who can't change it; text is empty for no limit.
func orNoLimit(text, before string) string {
	if text == "" {
		return "No limit"
	}
	return before + text
}
