package editor

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func runningSamples(theme layout.Theme) map[string]templ.Component {
	mark := RunMark{RunHead: components.RunHead{FlowID: "flow_1", ID: "run_7qxk0m2a9zzz3f", State: "running", Draft: true, Trigger: "builder", Done: 3, All: 6, Duration: 1800 * time.Millisecond, Usage: Usage{InputTokens: 312, OutputTokens: 48, CostNanoUSD: 412_000}, CreatedAt: viewtest.Noon.Add(-3 * time.Minute)}, MayRun: true}
	failed := mark
	failed.ID, failed.State, failed.Version, failed.Draft, failed.Trigger = "run_8", "failed", 3, false, "api"
	failed.Error = &Failure{Code: "provider_auth", Text: "The provider refused the key.", Do: "Check the credential that the node uses under Credentials, then run from here.", Node: "write"}
	step := DataPanel{FlowID: "flow_1", Node: "write", Title: "Write a reply", Run: &mark, State: "succeeded", Attempts: 2, Duration: 1200 * time.Millisecond, Usage: mark.Usage, Now: viewtest.Noon, MayPin: true, CanPin: true, Typed: `{"text": "Thanks"}`,
		Inputs: []components.ValueView{{Name: "ticket", Value: "I was charged twice."}}, Outputs: []components.ValueView{{Name: "text", Value: "Thanks"}}}
	pinned, none, broken := step, DataPanel{FlowID: "flow_1", Node: "write", Title: "Write a reply"}, step
	pinned.HasPin, pinned.State, pinned.Pinned, pinned.PinError = true, "reused", step.Outputs, "This is not JSON."
	broken.State, broken.Outputs, broken.Error, broken.MayPin = "failed", nil, failed.Error, false
	done := mark
	done.State, done.Done = "succeeded", 6
	result := ResultPane{FlowID: "flow_1", Run: &done, Now: viewtest.Noon, Publish: 1, Inputs: step.Inputs, Outputs: []components.OutputView{
		{ValueView: components.ValueView{Name: "team", Value: "billing"}, From: "Which team?", Scores: []components.LabelScore{{Label: "billing", Score: 0.9134071588}, {Label: "account", Score: 0.05}}}, {ValueView: components.ValueView{Name: "confidence", Value: json.Number("0.9134071588")}},
		{ValueView: components.ValueView{Name: "reply", Value: "Hello Sam,\n\nthank you for writing about **billing**.\n\n- A colleague looks at it.\n- You don't need to send anything else.\n"},
			Rendered: "<p>Hello Sam,</p>\n<p>thank you for writing about <strong>billing</strong>.</p>\n<ul>\n<li>A colleague looks at it.</li>\n<li>You don't need to send anything else.</li>\n</ul>\n"},
		{ValueView: components.ValueView{Name: "items", Value: []any{map[string]any{"sku": "A1", "count": json.Number("2")}}}}}}
	within := func(parts ...templ.Component) templ.Component {
		parts = append([]templ.Component{templ.Raw("<h1>Running</h1>")}, parts...)
		return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
			return layout.Layout(viewtest.Page("Running", layout.SectionFlows, theme)).Render(templ.WithChildren(ctx, templ.Join(parts...)), w)
		})
	}
	return map[string]templ.Component{
		"run-form":       RunFormPage(viewtest.Page("Run", layout.SectionFlows, theme), sampleRunForm()),
		"run-problems":   RunFormPage(viewtest.Page("Run", layout.SectionFlows, theme), RunForm{FlowID: "flow_1", Flow: "Route", Problems: ProblemsPanel{FlowID: "flow_1", List: []ProblemLine{{Text: "A flow needs at least one node."}, {Node: "write", Title: "Write a reply", Field: "prompt", Text: "Nothing is typed here."}}}}),
		"run-until":      RunFormPage(viewtest.Page("Run", layout.SectionFlows, theme), RunForm{FlowID: "flow_1", Flow: "Route", Until: "tell", Node: "Tell legal", Sends: true, Error: "The queue is full. Try again in a moment."}),
		"run-bar":        within(RunBar(mark, 0)),
		"run-bar-failed": within(RunBar(failed, 0)),
		"run-list":       within(FlowRuns(RunList{FlowID: "flow_1", Runs: []RunMark{mark, failed}, MayRun: true, Now: viewtest.Noon})),
		"run-list-empty": within(FlowRuns(RunList{FlowID: "flow_1", MayRun: true, Now: viewtest.Noon})),
		"result":         within(Result(result)),
		"result-failed":  within(Result(ResultPane{FlowID: "flow_1", Run: &failed, Failed: "Write a reply", Now: viewtest.Noon})),
		"result-none":    within(Result(ResultPane{FlowID: "flow_1"})),
		"result-example": within(Result(ResultPane{FlowID: "flow_1", MayRun: true, Runnable: true, Example: true, Inputs: step.Inputs})),
		"data":           within(Data(step)),
		"data-pinned":    within(Data(pinned)),
		"data-none":      within(Data(none)),
		"data-failed":    within(Data(broken)),
	}
}

func sampleRunForm() RunForm {
	field := func(name, t string, set func(*components.RunField)) components.RunField {
		f := components.RunField{Type: t, Field: components.Field{ID: "run-" + name, Name: "in." + name, Label: name}}
		set(&f)
		return f
	}
	return RunForm{FlowID: "flow_1", Flow: "Route a support ticket", Webhooks: 1, Ran: true, Fields: []components.RunField{
		field("ticket", "text", func(f *components.RunField) {
			f.Help, f.Example, f.Value, f.Error = "The ticket as it came.", "I was charged twice.", "typed", "The flow needs this."
		}),
		field("times", "number", func(f *components.RunField) { f.Field.Type, f.Value, f.Optional = "number", "2", true }),
		field("urgent", "boolean", func(f *components.RunField) { f.Checked = true }),
		field("labels", "list", func(f *components.RunField) { f.Value, f.Mono = "billing\ntechnical", true }),
		field("tone", "text", func(f *components.RunField) {
			f.Options = []components.Option{{Value: "friendly", Label: "friendly"}, {Value: "formal", Label: "formal"}}
		}),
		field("invoice", "file", func(f *components.RunField) {
			f.Last = &components.FileView{ID: "file_1", Name: "invoice.pdf", MIME: "application/pdf", Size: 48213}
		}),
	}}
}
