package console

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func runsSamples(theme layout.Theme) map[string]templ.Component {
	p := viewtest.Page("Runs", layout.SectionRuns, theme)
	full := RunsPage{
		Now: viewtest.Noon, HasFlows: true, Rows: sampleRuns(), Pages: components.Pages{Path: "/runs", After: "run_1"},
		Flows: []components.Option{{Value: "flow_2", Label: "Answer from the handbook"}, {Value: "flow_1", Label: "Route a support ticket"}}, Keys: []components.Option{{Value: "key_1", Label: "production"}},
		Versions: []components.Option{{Value: "draft", Label: "Drafts"}},
	}
	narrow, none, wrong := full, full, full
	narrow.Filter = RunsFilter{Flow: "flow_1", States: []string{"failed", "canceled"}, Query: "charged", Time: "custom", From: "2026-11-01T00:00", Version: "3"}
	narrow.Versions, narrow.Looked, narrow.More, narrow.Rows = []components.Option{{Value: "3", Label: "v3"}, {Value: "draft", Label: "Draft"}}, 10_000, true, full.Rows[2:4]
	narrow.Reached = viewtest.Noon.Add(-26 * time.Hour)
	searching := narrow
	searching.Rows, searching.Looked = nil, 4_250
	searching.Pages.Next = "Search older runs"
	none.Rows, none.Filter, none.Pages, none.Looked = nil, RunsFilter{Query: "<b>"}, components.Pages{}, 4
	wrong.Rows, wrong.Filter = nil, RunsFilter{Time: "custom", From: "x", Errors: components.Errors{"from": "Choose a date and a time."}}
	return map[string]templ.Component{
		"runs": Runs(p, full), "runs-narrowed": Runs(p, narrow), "runs-searching": Runs(p, searching), "runs-none": Runs(p, none), "runs-errors": Runs(p, wrong),
		"runs-empty": Runs(p, RunsPage{Now: viewtest.Noon, HasFlows: true}), "runs-no-flows": Runs(p, RunsPage{Now: viewtest.Noon}),
	}
}

func sampleRuns() []RunLine {
	line := func(id, state string, ago, took time.Duration) RunLine {
		return RunLine{
			RunHead: components.RunHead{
				ID: "run_01jd6v0q8z" + id, State: state, FlowID: "flow_1", Version: 3, CreatedAt: viewtest.Noon.Add(-ago), Duration: took, Started: true,
				Usage: components.Usage{InputTokens: 1204, CostNanoUSD: 1_250_000},
			},
			Flow: "Route a support ticket", By: "production", InputSummary: "I was charged twice for October and need the second payment back before the end of the month, or I will cancel",
		}
	}
	failed := line("c", "failed", 4*time.Minute, 6420*time.Millisecond)
	failed.Failure, failed.FailureText = "provider_rate_limited", "openai limits the rate of requests. Try again later, or raise the limit of the account."
	queued := line("a", "queued", 0, 0)
	queued.Started, queued.Usage = false, components.Usage{}
	draft := line("e", "succeeded", 3*time.Hour, 14*time.Millisecond)
	draft.Version, draft.By, draft.Flow, draft.Usage = 0, "Builder", "Answer from the handbook of everything that a support team may be asked", components.Usage{}
	old := line("f", "succeeded", 40*24*time.Hour, time.Minute)
	old.Erased, old.InputSummary = true, ""
	return []RunLine{
		queued, line("b", "running", 2*time.Second, 2*time.Second), failed, line("d", "canceled", 50*time.Minute, time.Second),
		line("w", "waiting", 2*time.Hour, 2*time.Hour), draft, old,
	}
}
