package views

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/a-h/templ"
	"sluice/flow"
)

func init() {
	sampleSets = append(sampleSets, func(theme Theme) map[string]templ.Component {
		return map[string]templ.Component{"values": within(Layout(page("Values", SectionRuns, theme)), templ.Raw("<h1>Values</h1>"), Values("Output", sampleValues()))}
	})
}

// sampleValues has one value of each shape.
func sampleValues() []ValueView {
	const more = "/flows/flow_1/data/write?run=run_1&side=output&port="
	value := func(name string, v any) ValueView { return ValueView{Name: name, Value: v, More: more + name} }
	vector := make([]any, 384)
	for i := range vector {
		vector[i] = json.Number(fmt.Sprint(float64(i) / 7))
	}
	many := make([]any, 70)
	for i := range many {
		many[i] = []any{json.Number(fmt.Sprint(i))}
	}
	return []ValueView{
		value("text", "Thanks for letting us know.\n\n<b>Not bold</b>, and sorry about the double charge."),
		value("long", strings.Repeat("A sentence that goes on. ", 200)),
		value("empty", ""), value("none", nil), value("sure", true), value("score", json.Number("0.8213")),
		value("scores", []any{map[string]any{"label": "billing", "score": json.Number("0.8213001")}, map[string]any{"label": "technical", "score": json.Number("0.21")}}),
		value("vector", vector), value("many", many),
		value("picture", map[string]any{"file": "file_1", "name": "invoice.png", "mime": "image/png", "size": json.Number("48213")}),
		value("voice", map[string]any{"file": "file_2", "name": "reply.mp3", "mime": "audio/mpeg", "size": json.Number("1048576")}),
		value("drawing", map[string]any{"file": "file_3", "name": "plan.svg", "mime": "image/svg+xml", "size": json.Number("900")}),
		value("object", map[string]any{
			"customer": map[string]any{"name": "Ada", "since": json.Number("2019")}, "tags": []any{"billing", "urgent"}, "open": false,
			"history": map[string]any{"notes": strings.Repeat("x", 9000), "more": map[string]any{"a": json.Number("1")}},
		}),
	}
}

func init() {
	sampleSets = append(sampleSets, func(theme Theme) map[string]templ.Component {
		mark := RunMark{FlowID: "flow_1", ID: "run_7qxk0m2a9zzz3f", State: flow.RunRunning, Draft: true, Trigger: flow.TriggerBuilder, Done: 3, All: 6, Took: 1800 * time.Millisecond, Usage: flow.Usage{InputTokens: 312, OutputTokens: 48, CostNanoUSD: 412_000}, CreatedAt: noon.Add(-3 * time.Minute), MayRun: true}
		failed := mark
		failed.ID, failed.State, failed.Version, failed.Draft, failed.Trigger = "run_8", flow.RunFailed, 3, false, flow.TriggerAPI
		failed.Error = TroubleOf(&flow.Error{Code: flow.CodeProviderAuth, Message: "the provider refused the key", Node: "write"})
		step := DataPanel{FlowID: "flow_1", Node: "write", Title: "Write a reply", Run: &mark, State: flow.StepSucceeded, Attempts: 2, Took: 1200 * time.Millisecond, Usage: mark.Usage, Now: noon, MayPin: true, CanPin: true, Typed: `{"text": "Thanks"}`,
			Inputs: []ValueView{{Name: "ticket", Value: "I was charged twice."}}, Outputs: []ValueView{{Name: "text", Value: "Thanks"}}}
		pinned, none, broken := step, DataPanel{FlowID: "flow_1", Node: "write", Title: "Write a reply"}, step
		pinned.HasPin, pinned.State, pinned.Pinned, pinned.PinError = true, flow.StepReused, step.Outputs, "This is not JSON."
		broken.State, broken.Outputs, broken.Error, broken.MayPin = flow.StepFailed, nil, failed.Error, false
		within := func(parts ...templ.Component) templ.Component {
			return within(Layout(page("Running", SectionFlows, theme)), append([]templ.Component{templ.Raw("<h1>Running</h1>")}, parts...)...)
		}
		return map[string]templ.Component{
			"run-form":       RunFormPage(page("Run", SectionFlows, theme), sampleRunForm()),
			"run-problems":   RunFormPage(page("Run", SectionFlows, theme), RunForm{FlowID: "flow_1", Flow: "Route", Problems: ProblemsPanel{FlowID: "flow_1", List: []ProblemLine{{"", "", "", "A flow needs at least one node."}, {"write", "Write a reply", "prompt", "Nothing is typed here."}}}}),
			"run-until":      RunFormPage(page("Run", SectionFlows, theme), RunForm{FlowID: "flow_1", Flow: "Route", Until: "tell", Node: "Tell legal", Sends: true, Error: "The queue is full. Try again in a moment."}),
			"run-bar":        within(RunBar(mark, 0)),
			"run-bar-failed": within(RunBar(failed, 0)),
			"run-list":       within(FlowRuns(RunList{FlowID: "flow_1", Runs: []RunMark{mark, failed}, MayRun: true, Now: noon})),
			"run-list-empty": within(FlowRuns(RunList{FlowID: "flow_1", MayRun: true, Now: noon})),
			"run-replay":     within(ReplayNote(Replay{Run: failed, Differs: true, Now: noon})),
			"data":           within(Data(step)),
			"data-pinned":    within(Data(pinned)),
			"data-none":      within(Data(none)),
			"data-failed":    within(Data(broken)),
		}
	})
}

func sampleRunForm() RunForm {
	field := func(name string, t flow.Type, set func(*RunField)) RunField {
		f := RunField{Type: t, Field: Field{ID: "run-" + name, Name: "in." + name, Label: name}}
		set(&f)
		return f
	}
	return RunForm{FlowID: "flow_1", Flow: "Route a support ticket", Webhooks: 1, Ran: true, Fields: []RunField{
		field("ticket", flow.TypeText, func(f *RunField) {
			f.Help, f.Example, f.Value, f.Error = "The ticket as it came.", "I was charged twice.", "typed", "The flow needs this."
		}),
		field("times", flow.TypeNumber, func(f *RunField) { f.Field.Type, f.Value, f.Optional = "number", "2", true }),
		field("urgent", flow.TypeBoolean, func(f *RunField) { f.Checked = true }),
		field("labels", flow.TypeList, func(f *RunField) { f.Value, f.Mono = "billing\ntechnical", true }),
		field("tone", flow.TypeText, func(f *RunField) { f.Options = []Option{{"friendly", "friendly"}, {"formal", "formal"}} }),
		field("invoice", flow.TypeFile, func(f *RunField) {
			f.Last = &FileView{ID: "file_1", Name: "invoice.pdf", MIME: "application/pdf", Size: 48213}
		}),
	}}
}
