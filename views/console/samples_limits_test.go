package console

import (
	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func limitsSamples(theme layout.Theme) map[string]templ.Component {
	p := viewtest.Page("Limits", layout.SectionFlows, theme)
	f := LimitsForm{FlowID: "flow_1", Name: "Route a support ticket", RunsPerDay: "500", USDPerDay: "5", MayEdit: true,
		Budgets:  []UsageBudget{{Name: "Route a support ticket", Used: 4_100_000, Allowed: 5_000_000}, {Name: "Route a support ticket", Runs: true, Used: 500, Allowed: 500}},
		Unpriced: []string{"openai/gpt-x", "replicate/black-forest-labs/flux-schnell"}}
	wrong := LimitsForm{FlowID: "flow_1", Name: "Route a support ticket", MaxRunning: "-1", USDPerDay: "five", MayEdit: true, Errors: components.Errors{"max_running": "A whole number from 1 to 1,000,000,000. Leave it empty for no limit.", "usd_per_day": "An amount up to a million dollars. Leave it empty for no limit."}}
	seen := f
	seen.MayEdit, seen.Unpriced, seen.Budgets = false, nil, nil
	return map[string]templ.Component{"limits": FlowLimits(p, f), "limits-errors": FlowLimits(p, wrong), "limits-viewer": FlowLimits(p, seen)}
}
