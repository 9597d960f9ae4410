package nodes

import "sluice/flow"

// share is a part of a price, in percent.
type share int64

// of returns the part of an amount.
func (s share) of(cost flow.NanoUSD) flow.NanoUSD { return (cost*flow.NanoUSD(s) + 50) / 100 }

// tierPrice returns the part of the listed price that a provider charges for a call in a tier of
// service, as its answer names it. known is false if the price of the tier is unknown. listed
// means that the price is from a price list; an entered price may be for another tier, so that
// only the usual tiers have it.
func tierPrice(provider, tier string, listed bool) (part share, known bool) {
	switch tier {
	case "", "default", "standard", "auto":
		return 100, true
	}
	switch {
	case provider == "groq" && (tier == "on_demand" || tier == "flex"): // flex fails more often, for the same price
		return 100, true
	case provider == "openai" && tier == "flex" && listed: // as the Batch API
		return 50, true
	case provider == "anthropic" && tier == "batch" && listed:
		return 50, true
	}
	return 0, false // priority has a price of its own for each model
}
