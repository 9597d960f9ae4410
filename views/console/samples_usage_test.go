package console

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func usageSamples(theme layout.Theme) map[string]templ.Component {
	p := viewtest.Page("Usage", layout.SectionUsage, theme)
	full := UsagePage{
		Filter: UsageFilter{Range: "30"}, Days: sampleDays(30),
		Flows: []components.Option{{Value: "flow_1", Label: "Route a support ticket"}}, Keys: []components.Option{{Value: "key_1", Label: "production"}}, Models: []components.Option{{Value: "openai/gpt-x", Label: "openai/gpt-x"}},
		Previous:  UsageSum{Runs: 3100, Succeeded: 3000, Failed: 90, Canceled: 10, Median: 900 * time.Millisecond, P95: 4 * time.Second, InputTokens: 800_000, OutputTokens: 90_000, Micros: 12_400_000},
		TopFlows:  []UsagePart{{"Route a support ticket", "/usage?flow=flow_1", "$9.10", .72}, {"Answer from the handbook of everything that a support team may be asked", "/usage?flow=flow_2", "$3.54", .28}},
		TopKeys:   []UsagePart{{"production", "/usage?key=key_1", "$11.00", .87}, {"No key", "", "$1.64", .13}},
		TopModels: []UsagePart{{"openai/gpt-x", "/usage?model=openai%2Fgpt-x", "$12.64", 1}},
		Budgets: []UsageBudget{
			{Name: "Route a support ticket", Href: "/flows/flow_1/limits", Used: 41_000_000, Allowed: 50_000_000},
			{Name: "Route a support ticket", Href: "/flows/flow_1/limits", Runs: true, Used: 1204, Allowed: 5000},
			{Name: "staging", Key: true, Used: 0, Allowed: 5_000_000}, {Name: "old", Key: true, Runs: true, Used: 500, Allowed: 500},
		},
	}
	full.Quotas = []UsageQuota{{"bytes", 1 << 30, 1 << 30}, {"flows", 34, 100}, {"runs", 9214, 10_000}}
	for _, d := range full.Days {
		full.Total.Runs, full.Total.Succeeded, full.Total.Failed = full.Total.Runs+d.Runs, full.Total.Succeeded+d.Succeeded, full.Total.Failed+d.Failed
		full.Total.InputTokens, full.Total.OutputTokens, full.Total.Micros = full.Total.InputTokens+d.InputTokens, full.Total.OutputTokens+d.OutputTokens, full.Total.Micros+d.Micros
	}
	full.Total.Median, full.Total.P95 = 1100*time.Millisecond, 5*time.Second
	model, wrong := full, UsagePage{Filter: UsageFilter{Range: "custom", From: "x", Until: "2026-01-01", Errors: components.Errors{"from": "Choose a day."}}}
	model.Filter, model.Budgets, model.TopModels = UsageFilter{Range: "7", Model: "openai/gpt-x"}, nil, nil
	model.Quotas = []UsageQuota{{"bytes", 734_003_200, 0}, {"flows", 3, 0}, {"runs", 12_345, 0}}
	model.Days = full.Days[23:]
	return map[string]templ.Component{"usage": Usage(p, full), "usage-model": Usage(p, model), "usage-errors": Usage(p, wrong), "usage-empty": Usage(p, UsagePage{Filter: UsageFilter{Range: "30"}})}
}

// sampleDays rise and fall over the week, and two of them are empty.
func sampleDays(n int) []UsageDay {
	days := make([]UsageDay, n)
	for i := range days {
		days[i].Day = viewtest.Noon.Truncate(24*time.Hour).AddDate(0, 0, i+1-n)
		if i == 4 || i == 5 {
			continue
		}
		runs := int64(90 + 37*(i%7) + 5*i)
		failed := runs / int64(9+i%11)
		days[i].UsageSum = UsageSum{
			Runs: runs, Succeeded: runs - failed - runs/40, Failed: failed, Canceled: runs / 40, Median: time.Duration(600+i*30) * time.Millisecond, P95: time.Duration(2000+i%9*700) * time.Millisecond,
			InputTokens: runs * 312, OutputTokens: runs * 48, Micros: runs * 4100,
		}
	}
	return days
}
