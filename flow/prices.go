package flow

import "context"

// Price is what a workspace pays for the use of a model, as it entered it. It
// counts where the provider does not report a cost itself. All amounts are in
// nano-dollars (1e-9 USD).
type Price struct {
	WorkspaceID WorkspaceID
	Model       string // provider/model
	Input       int64  // per million tokens
	Output      int64  // per million tokens
	Second      int64  // of compute
	Call        int64
}

// PriceStore keeps prices. A model without a price is no error.
type PriceStore interface {
	FindPrice(ctx context.Context, ws WorkspaceID, model string) (p Price, known bool, err error)
}

const million = 1_000_000

// Cost is what one call costs.
func (p *Price) Cost(inputTokens, outputTokens int64, seconds float64) int64 {
	return p.Call + inputTokens*p.Input/million + outputTokens*p.Output/million + int64(seconds*float64(p.Second))
}
