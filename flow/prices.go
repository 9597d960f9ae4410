package flow

import "context"

// Price is the price of a model for a workspace, from its settings or a price list. It applies
// if the provider does not report the cost of calls.
type Price struct {
	WorkspaceID WorkspaceID
	Model       string  // provider/model
	Input       NanoUSD // per million tokens
	Output      NanoUSD // per million tokens
	Second      NanoUSD // of compute
	Call        NanoUSD
	// Tokens holds the prices of a price list, which replace the other fields. They apply to
	// chat and embeddings; images and speech have other units.
	Tokens *TokenPrices
}

// PriceStore stores prices. A model without a price is not an error.
type PriceStore interface {
	FindPrice(ctx context.Context, ws WorkspaceID, model string) (p Price, known bool, err error)
}

// TokenPrices are the prices of a model per million tokens of each category. A nil rate means
// that the tokens cost as much as other input or output tokens.
type TokenPrices struct {
	Input, Output  *TokenRate
	CacheRead      *TokenRate // input read from the provider's cache
	CacheWrite     *TokenRate // input written to it
	CacheWriteHour *TokenRate // input written to a cache that lasts an hour
	Reasoning      *TokenRate // hidden reasoning output
	Call           NanoUSD    // per call
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

// TokenUse is the number of tokens that a call used. Input includes cache reads and writes,
// Output includes reasoning.
type TokenUse struct {
	Input, Output                         int64
	CacheRead, CacheWrite, CacheWriteHour int64 // CacheWrite includes CacheWriteHour
	Reasoning                             int64
}

const million = 1_000_000

// Cost returns the cost of one call. seconds is the compute time of hosted models.
func (p *Price) Cost(u TokenUse, seconds float64) NanoUSD {
	if p.Tokens != nil {
		return p.Tokens.cost(u)
	}
	return p.Call + perMillion(u.Input, p.Input) + perMillion(u.Output, p.Output) + NanoUSD(seconds*float64(p.Second))
}

// cost adds up the categories of tokens, counting each token once. Tokens of a category without
// a rate count in the category that includes it.
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

// perMillion returns the cost of tokens, rounded. It multiplies whole millions separately, so
// that the product fits into 64 bits.
func perMillion(tokens int64, price NanoUSD) NanoUSD {
	return NanoUSD(tokens/million)*price + (NanoUSD(tokens%million)*price+million/2)/million
}
