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
	settings := FlowSettings{FlowID: "flow_1", Name: f.Name, TypedName: f.Name, Description: "Finds the team.", Tags: "mail, eu", Limits: f, MayEdit: true}
	failed := FlowSettings{FlowID: "flow_1", Name: f.Name, Limits: wrong, MayEdit: true, Errors: components.Errors{"name": "Enter a name."}}
	return map[string]templ.Component{
		"limits": FlowSettingsPage(p, settings), "limits-errors": FlowSettingsPage(p, failed),
		"limits-viewer": FlowSettingsPage(p, FlowSettings{FlowID: "flow_1", Name: f.Name, Limits: seen}),
	}
}
