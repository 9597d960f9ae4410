package web

import (
	"time"

	"sluice/flow"
	"sluice/views/components"
)

// RunHead converts a run for any page. now ends the duration of a run in progress.
func RunHead(r *flow.Run, now time.Time) components.RunHead {
	return components.RunHead{
		ID: string(r.ID), FlowID: string(r.FlowID), State: string(r.State), Trigger: string(r.Trigger), Version: r.Version, Draft: r.Draft,
		Done: r.Progress.Done, All: r.Progress.Total, Usage: UsageView(r.Usage), CreatedAt: r.CreatedAt, Started: !r.StartedAt.IsZero(), Duration: r.Duration(now),
	}
}

// UsageView converts the usage of a step or run.
func UsageView(u flow.Usage) components.Usage {
	return components.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CostNanoUSD: int64(u.CostNanoUSD), Unpriced: u.UnpricedSteps}
}
