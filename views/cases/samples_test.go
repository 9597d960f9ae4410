package cases

import (
	"testing"
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

var samples = viewtest.Merge(caseSamples)

func TestMain(m *testing.M) { viewtest.Main(m, samples) }

func TestGolden(t *testing.T) { viewtest.Golden(t, samples) }

func TestMarkup(t *testing.T) { viewtest.Markup(t, samples) }

func TestTemplates(t *testing.T) {
	t.Parallel()
	viewtest.Templates(t)
}

func sampleList() ListPage {
	return ListPage{
		FlowID: "flow_1", Flow: "Route a support ticket", LiveVersion: 7, MayEdit: true, Filter: Filter{Open: "refund-late", Show: ShownCases}, Total: 43, Matching: 6, Failed: 3, Mode: "fill", Now: viewtest.Noon, AtMost: "12 calls, 31 recorded, at most $0.02.", Writers: []components.Option{{Value: "send", Label: "Send a letter"}},
		Gate:  "Publishing needs every case tagged must to pass.",
		Pills: []Pill{{Label: "All", Count: 43}, {Label: "Failed", State: "failed", Count: 2}, {Label: "Stale", State: "stale", Count: 1}, {Label: "Passed", State: "passed", Count: 40}, {Label: "must", Tag: "must", Count: 12}},
		Rows: []Row{
			{ID: "refund-late", Title: "refund-late", State: "failed", Message: "team equals: wanted \"billing\", got \"account\"", Tags: []string{"must"}, Passed: 2, Checks: 4, Took: 2200 * time.Millisecond, Micros: 300, Detail: &Detail{
				Inputs: []components.ValueView{{Name: "ticket", Value: "You promised the money two weeks ago. Where is it?"}, {Name: "customer", Value: "Mia"}},
				Checks: []CheckResult{
					{Subject: "team", Text: "is billing", Reason: "Wanted \"billing\", got \"account\".", State: "failed"}, {Subject: "reply", Text: "says when the money arrives", Reason: "No date in the reply.", State: "errored", Watch: true},
					{Subject: "reply", Text: "doesn’t contain “unfortunately”", State: "passed"}, {Subject: "run", Text: "costs at most $0.002", State: "passed"},
				},
				Outputs: []components.ValueView{{Name: "team", Value: "account"}}, RunID: "run_1", Expect: true, Notes: "From a complaint in May.", Source: "run_2",
			}},
			{ID: "vat-id", Title: "VAT number", State: "failed", Message: "reply contains: no VAT number", Passed: 2, Checks: 3, Took: 1900 * time.Millisecond, Micros: 300, Old: true, Flaky: "flaky, passes 7 of 10"},
			{ID: "two-topics", Title: "two-topics", State: "stale", Message: "answer: input prompt changed at character 212"},
			{ID: "charged-twice", Title: "charged-twice", State: "passed", Tags: []string{"must"}, Passed: 4, Checks: 4, Took: 2 * time.Second, FromRun: true},
			{ID: "parcel-lost", Title: "parcel-lost", State: "running"},
			{ID: "empty-ticket", Title: "empty-ticket"},
		},
		Reports: []ReportRow{{ID: "test_1", State: "failed", Summary: "Draft 41 of 43, v7 43 of 43", Mode: "fill", Cases: 43, At: viewtest.Noon.Add(-time.Hour)}, {ID: "test_0", State: "passed", Summary: "Draft 43 of 43", Mode: "replay", Cases: 43, At: viewtest.Noon.Add(-48 * time.Hour)}},
	}
}

func sampleForm() FormPage {
	options := []components.Option{{Value: "team", Label: "team"}, {Value: "reply", Label: "reply"}}
	return FormPage{
		FlowID: "flow_1", Flow: "Route a support ticket", LiveVersion: 7, ID: "refund-late", Title: "Refund is late", Name: "Refund is late", Tags: "must, refunds", Errors: components.Errors{},
		Inputs: []InputField{
			{RunField: components.RunField{Type: "text", Field: components.Field{ID: "run-ticket", Name: "in.ticket", Label: "ticket", Value: "Where is my money?"}}},
			{RunField: components.RunField{Type: "secret", Field: components.Field{ID: "run-token", Name: "in.token", Label: "token", Value: "crm"}}, Credentials: []components.Option{{Value: "", Label: "No credential"}, {Value: "crm", Label: "crm"}}},
		},
		Gone: []string{"customer"}, Outputs: options,
		Checks:   []CheckRow{{Output: "team", Kind: "equals", Value: "billing"}, {Output: "reply", Kind: "not_contains", Value: "unfortunately", Watch: true}, {Kind: "limits", Value: "usd: 0.002"}, {Output: "reply", Kind: "judge", Value: "Is polite.", Model: "openai/gpt-5-mini", Min: "0.8", Votes: "3", Against: true}, {}},
		Expected: []ValueField{{Name: "team", Value: "billing"}, {Name: "reply"}},
		Answers:  []AnswerField{{Node: "ask", Label: "Refund?", Decision: "approved", Values: `{"amount":5}`}},
		Stubs:    []StubField{{Node: "post", Label: "Post the refund", Mode: "outputs", Value: `{"status":200}`}, {Node: "answer", Label: "Answer"}},
		Repeat:   "3", Pass: "2", Now: "2026-01-01T12:00:00Z", Notes: "From a complaint in May.",
	}
}

func caseSamples(theme layout.Theme) map[string]templ.Component {
	p := viewtest.Page("Tests of Route a support ticket", layout.SectionFlows, theme)
	list := sampleList()
	live := list
	live.Live, live.Filter = &Progress{TestID: "test_2", Done: 12, Total: 43}, Filter{State: "failed"}
	live.Rows, live.Matching = list.Rows[1:2], 120
	viewer := list
	viewer.MayEdit, viewer.Reports = false, nil
	filtered := list
	filtered.Rows, filtered.Filter, filtered.Problem = nil, Filter{State: "stale", Tag: "must"}, "Reply: Choose a model."
	form := sampleForm()
	fresh := FormPage{FlowID: "flow_1", Flow: "Route a support ticket", Errors: components.Errors{}, Checks: []CheckRow{{}, {}}, FromRun: "run_1", Unrecorded: []string{"sign-in"}}
	wrong := form
	wrong.Errors, wrong.Problems = components.Errors{"": "The case is invalid.", "name": "Enter a name.", "repeat": "Enter a whole number."}, []string{"The flow has no node refund."}
	wrong.Checks = []CheckRow{{Output: "team", Kind: "matches", Value: "(", Error: "Must be a regular expression (RE2)."}}
	return map[string]templ.Component{
		"cases": List(p, list), "cases-live": List(p, live), "cases-viewer": List(p, viewer), "cases-filtered": List(p, filtered), "cases-none": List(p, ListPage{FlowID: "flow_1", Flow: "Route a support ticket", MayEdit: true, Now: viewtest.Noon}),
		"report": Report(p, sampleReport()), "report-live": Report(p, liveReport()), "report-expected": Report(p, expectedReport()),
		"compare": Compare(p, ComparePage{FlowID: "flow_1", Flow: "Route a support ticket", LiveVersion: 7, Cases: 43, Draft: true, Mode: "fill", Baseline: "live", MaxUSD: "much", Errors: components.Errors{"": "Choose a node and enter a model.", "max_usd": "Enter an amount such as 5 or 0.50."},
			Versions: []CompareVersion{{7, "v7, live", false}, {6, "v6", true}}, Baselines: []components.Option{{Value: "none", Label: "Nothing"}, {Value: "live", Label: "v7, live"}}, Fields: []components.Option{{Value: "", Label: "Choose…"}, {Value: "reply.model", Label: "Reply: openai/gpt-4.1-mini"}},
			Models: []ModelRow{{Field: "reply.model", Error: "Choose a node and enter a model."}, {}}}),
		"grid": Grid(p, GridPage{FlowID: "flow_1", Flow: "Route a support ticket", LiveVersion: 7, Set: "hash", Most: 1000, Text: "id\tname\tin.ticket\n", Columns: []GridColumn{{"name", "Name", ""}, {"in.ticket", "ticket", "text"}, {"out.team", "team", "expected"}},
			Rows: []GridRow{{"refund-late", []string{"Refund is late", "Where is my money?", "billing"}}, {"", []string{"new", "", ""}}}}),
		"grid-errors": Grid(p, GridPage{FlowID: "flow_1", Flow: "Route a support ticket", Columns: []GridColumn{{"name", "Name", ""}}, Answer: GridAnswer{Message: "The cases were changed meanwhile.", Errors: []GridError{{Row: 1, Column: 0, Label: "Name", Text: "Enter a name."}}}}),
		"case":        Form(p, form), "case-new": Form(p, fresh), "case-errors": Form(p, wrong),
	}
}

func sampleReport() ReportPage {
	cell := func(state string, passed, checks int) ReportCell {
		return ReportCell{State: state, Passed: passed, Checks: checks, Took: 2300 * time.Millisecond, Micros: 300}
	}
	return ReportPage{
		FlowID: "flow_1", Flow: "Route a support ticket", LiveVersion: 7, MayEdit: true, ID: "test_1", RunID: "run_1", State: "succeeded", At: viewtest.Noon.Add(-time.Hour), Now: viewtest.Noon, Mode: "fill", Cases: 43, Spent: 210_000, Baseline: 1,
		Lines: []ReportLine{{"The draft: 2 cases got worse than version 7 (refund-late, vat-id).", "41 of 43 pass. $0.12, +9 %. p95 2.1 s, −0.3 s."}, {"The draft with answer.model = anthropic/claude-haiku-4.5: 1 case got worse than version 7 (vat-id).", "42 of 43 pass. $0.05, −55 %. p95 1.4 s, −1.0 s."}},
		Candidates: []CandidateCard{
			{Label: "Draft", Passed: 41, Total: 43, Worse: 2, Compared: true, Clear: true, Micros: 120_000, Cost: "+9 %", P95: 2100 * time.Millisecond, Time: "−0.3 s"},
			{Label: "v7", About: "live, baseline", Passed: 43, Total: 43, Micros: 110_000, P95: 2400 * time.Millisecond, Recorded: true},
			{Label: "Draft with anthropic/claude-haiku-4.5", Passed: 42, Total: 43, Worse: 1, Compared: true, Micros: 50_000, Cost: "−55 %", P95: 1400 * time.Millisecond, Time: "−1.0 s", MayDraft: true},
		},
		Pills:  []ReportPill{{Label: "All", Count: 43}, {Label: "Worse", Cases: "worse", Count: 2}, {Label: "Stale", Cases: "stale", Count: 1}, {Label: "Passed", Cases: "passed", Count: 40}, {Label: "must", Tag: "must", Count: 12}},
		Filter: ReportFilter{Open: "refund-late", Show: ShownCases}, Matching: 43, Again: 2,
		Rows: []ReportCase{
			{ID: "refund-late", Title: "refund-late", Tags: []string{"must"}, Cells: []ReportCell{cell("failed", 2, 4), cell("passed", 4, 4), cell("failed", 3, 4)}, Change: "worse"},
			{ID: "two-topics", Title: "two-topics", Cells: []ReportCell{{State: "stale"}, cell("passed", 2, 2), {State: "errored"}}},
			{ID: "angry", Title: "Angry customer", Cells: []ReportCell{cell("passed", 3, 3), cell("failed", 2, 3), cell("passed", 3, 3)}, Change: "better"},
		},
		Open: &OpenCase{
			ID: "refund-late", Title: "refund-late", Tags: []string{"must"}, Exists: true, Inputs: []components.ValueView{{Name: "ticket", Value: "You promised the money two weeks ago. Where is it?"}}, Before: "v7", BeforeRun: "run_2", After: "Draft", AfterRun: "run_3", State: "failed",
			Message: "Team equals: wanted \"billing\", got \"account\".", Next: "two-topics", Previous: "angry", Expect: true, Judges: []JudgeVerdict{{Check: "judge", Name: "says when the money arrives", State: "failed", Reason: "No date.", Marked: "right", Agreement: "People agree with 18 of 20 verdicts.", Warning: "It cannot decide a gate alone: that needs 95 %."}}, Choices: []Choice{{Label: "Draft", Current: true}, {Label: "Draft with anthropic/claude-haiku-4.5", Candidate: 2}},
			Outputs: []OutputDiff{{Name: "reply", Before: []Piece{{Text: "Hello Mia,\n\nYour refund of $42.00 "}, {Text: "left us on October 14.", Changed: true}}, After: []Piece{{Text: "Hello Mia,\n\nYour refund of $42.00 "}, {Text: "is being looked at.", Changed: true}}}},
			Checks: []CheckPair{
				{Subject: "team", Text: "is billing", Before: &CheckResult{State: "passed"}, After: &CheckResult{State: "failed", Reason: "Wanted \"billing\", got \"account\"."}},
				{Subject: "reply", Text: "says when the money arrives", After: &CheckResult{State: "failed", Reason: "No date.", Score: "0.2", Watch: true}},
			},
		},
	}
}

func liveReport() ReportPage {
	r := sampleReport()
	r.Live, r.Open, r.State, r.Rows, r.Filter = &Progress{TestID: "test_1", Done: 40, Total: 129}, nil, "waiting", nil, ReportFilter{Cases: "worse"}
	return r
}

func expectedReport() ReportPage {
	r := sampleReport()
	r.Baseline, r.Candidates, r.MayEdit, r.State, r.Matching, r.Filter = -1, r.Candidates[:1], false, "canceled", 300, ReportFilter{Tag: "must", Open: "refund-late", With: 1}
	open := *r.Open
	open.Before, open.BeforeRun, open.Choices, open.Outputs = "", "", nil, nil
	r.Notes = "The new prompt is shorter."
	r.Open = &open
	for i := range r.Rows {
		r.Rows[i].Cells = r.Rows[i].Cells[:1]
	}
	return r
}
