package flow

import "context"

// Price is what a workspace pays for the use of a model, as it entered it. It
// counts where the provider does not report a cost itself.
type Price struct {
	WorkspaceID WorkspaceID
	Model       string  // provider/model
	Input       NanoUSD // per million tokens
	Output      NanoUSD // per million tokens
	Second      NanoUSD // of compute
	Call        NanoUSD
}

// PriceStore keeps prices. A model without a price is no error.
type PriceStore interface {
	FindPrice(ctx context.Context, ws WorkspaceID, model string) (p Price, known bool, err error)
}

const million = 1_000_000

// Cost is what one call costs.
func (p *Price) Cost(inputTokens, outputTokens int64, seconds float64) NanoUSD {
	return p.Call + NanoUSD(inputTokens)*p.Input/million + NanoUSD(outputTokens)*p.Output/million + NanoUSD(seconds*float64(p.Second))
}
