package flow

import "context"

// Price is what a workspace pays for the use of a model: as it entered it, or from a
// price list. It counts where the provider does not report a cost itself.
type Price struct {
	WorkspaceID WorkspaceID
	Model       string  // provider/model
	Input       NanoUSD // per million tokens
	Output      NanoUSD // per million tokens
	Second      NanoUSD // of compute
	Call        NanoUSD
	// Tokens are the prices of a price list, which count in place of the others.
	// They are of chat and embeddings: pictures and speech have other units.
	Tokens *TokenPrices
}

// PriceStore keeps prices. A model without a price is no error.
type PriceStore interface {
	FindPrice(ctx context.Context, ws WorkspaceID, model string) (p Price, known bool, err error)
}

// TokenPrices are the prices of a model for the kinds of tokens, per million. A nil
// rate means that such tokens cost what the other input or output tokens cost.
type TokenPrices struct {
	Input, Output  *TokenRate
	CacheRead      *TokenRate // input read from the provider's cache
	CacheWrite     *TokenRate // input written to it
	CacheWriteHour *TokenRate // input written to it for an hour
	Reasoning      *TokenRate // output that the model thinks and does not show
	Call           NanoUSD    // each call
}

// TokenRate is a price per million tokens. Some depend on the length of the prompt.
type TokenRate struct {
	Price NanoUSD
	Tiers []TokenTier // ascending
}

// TokenTier is the price of all tokens of a call with more than Above input tokens.
type TokenTier struct {
	Above int64
	Price NanoUSD
}

// TokenUse is how many tokens a call used. Input includes what was read from and
// written to a cache, Output includes reasoning.
type TokenUse struct {
	Input, Output                         int64
	CacheRead, CacheWrite, CacheWriteHour int64 // CacheWrite includes CacheWriteHour
	Reasoning                             int64
}

const million = 1_000_000

// Cost is what one call costs. Seconds are of compute, for hosted models.
func (p *Price) Cost(u TokenUse, seconds float64) NanoUSD {
	if p.Tokens != nil {
		return p.Tokens.cost(u)
	}
	return p.Call + perMillion(u.Input, p.Input) + perMillion(u.Output, p.Output) + NanoUSD(seconds*float64(p.Second))
}

// cost adds up the kinds of tokens, each counted once: tokens of a kind without a rate
// of its own stay in the kind that includes it.
func (t *TokenPrices) cost(u TokenUse) NanoUSD {
	input, written, output := u.Input, u.CacheWrite, u.Output
	sum := t.Call
	take := func(from *int64, n int64, r *TokenRate) {
		if n = min(n, *from); r != nil && n > 0 {
			*from -= n
			sum += perMillion(n, r.at(u.Input))
		}
	}
	if t.CacheWrite != nil {
		hour := min(u.CacheWriteHour, written)
		if t.CacheWriteHour == nil {
			hour = 0
		}
		take(&input, hour, t.CacheWriteHour)
		take(&input, written-hour, t.CacheWrite)
	}
	take(&input, u.CacheRead, t.CacheRead)
	take(&output, u.Reasoning, t.Reasoning)
	take(&input, input, t.Input)
	take(&output, output, t.Output)
	return sum
}

// at returns the price for a call with a number of input tokens.
func (r *TokenRate) at(input int64) NanoUSD {
	price := r.Price
	for _, t := range r.Tiers {
		if input > t.Above {
			price = t.Price
		}
	}
	return price
}

// perMillion is what tokens cost, rounded; whole millions are counted apart so that
// the product fits into 64 bits.
func perMillion(tokens int64, price NanoUSD) NanoUSD {
	return NanoUSD(tokens/million)*price + (NanoUSD(tokens%million)*price+million/2)/million
}
