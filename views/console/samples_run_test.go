package console

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func runSamples(theme layout.Theme) map[string]templ.Component {
	p, run := viewtest.Page("Route a support ticket", layout.SectionFlows, theme), sampleRunPage()
	live, seen, gone := run, run, run
	live.Live, live.State, live.Error, live.Step = true, "running", nil, nil
	seen.MayRun = false
	gone.Erased, gone.Step, gone.Inputs, gone.Outputs = "It was kept for 30 days.", nil, nil, nil
	return map[string]templ.Component{
		"run": Run(p, run), "run-live": Run(p, live), "run-viewer": Run(p, seen), "run-erased": Run(p, gone),
	}
}

func samplePicture() components.Picture {
	link := func(step string) (templ.SafeURL, templ.Attributes) {
		return templ.SafeURL(StepPath("run_1", step)), StepAttrs("run_1", step)
	}
	p := components.Picture{Label: "The flow with what each node did", Edges: []components.PictureEdge{{From: 0, To: 1, Mark: "carried"}, {From: 1, To: 2, Mark: "idle"}}, Nodes: []components.PictureNode{
		{Name: "Ticket", Kind: "Input", Group: "api", Icon: "log-in", Mark: "succeeded", Detail: "0 ms"},
		{X: 280, Name: "Write a reply to everybody", Kind: "Chat", Group: "model", Icon: "message-square", Mark: "failed", Detail: "after 3 tries", Current: true},
		{X: 560, Name: "Reply", Kind: "Output", Group: "api", Mark: "skipped"},
	}}
	p.Nodes[0].Href, p.Nodes[0].Attrs = link("ticket")
	p.Nodes[1].Href, p.Nodes[1].Attrs = link("write")
	return p
}

func sampleRunPage() RunPage {
	at := viewtest.Noon.Add(-8*time.Second + 731_472*time.Microsecond)
	failure := &RunError{Code: "provider_auth", Message: "The provider refused the key.", Advice: "Check the credential.", Node: "write", Label: "Write a reply to everybody", Reused: 1}
	return RunPage{
		ID: "run_1", FlowID: "flow_1", FlowName: "Route a support ticket", State: "failed", Version: 3, Parent: "run_0", From: "Write a reply", Error: failure,
		Facts:   []Fact{{Title: "Flow", Text: "v3", Href: "/flows/flow_1?version=3"}, {Title: "Started", At: at}, {Title: "Took", Text: "2.4 s"}},
		Picture: samplePicture(),
		Fall: Waterfall{Done: 3, Total: 3, Span: 2400 * time.Millisecond, Rows: []FallRow{
			{Path: "ticket", Label: "Ticket", State: "succeeded", Began: true, Tries: 1, Href: StepPath("run_1", "ticket"), Attrs: StepAttrs("run_1", "ticket"), Bars: []FallBar{{0, time.Millisecond, "succeeded", "1 ms"}}},
			{Path: "write", Label: "Write a reply to everybody", State: "failed", Began: true, Tries: 2, Took: 2400 * time.Millisecond, Current: true, Href: StepPath("run_1", "write"), Attrs: StepAttrs("run_1", "write"), Bars: []FallBar{
				{0, time.Second, "retrying", "Attempt 1"}, {time.Second, 2 * time.Second, "pause", "Waited 1 s"}, {2 * time.Second, 2400 * time.Millisecond, "failed", "Attempt 2"},
			}},
			{Path: "reply", Label: "Reply", State: "skipped", Note: "Its input never came.", Href: StepPath("run_1", "reply"), Attrs: StepAttrs("run_1", "reply")},
		}},
		Step: &StepView{
			Path: "write", Node: "write", Label: "Write a reply to everybody", State: "failed", About: "Chat · llama3.2", Error: failure, MayRerun: true,
			Inputs: []components.ValueView{{Name: "ticket", Value: "I was charged twice."}},
			Tries:  []TryLine{{1, at, "1 s", "The provider refused the key.", components.ToneWait, "", ""}, {2, at.Add(2 * time.Second), "400 ms", "The provider refused the key.", components.ToneBad, "", ""}},
		},
		Selected: "write", Inputs: []components.ValueView{{Name: "ticket", Value: "I was charged twice."}}, Metadata: []components.ValueView{{Name: "customer", Value: "Ada"}},
		Deliveries: []DeliveryLine{{"dlv_1", "", "https://hooks.example.com/done", "pending", "Next try in 10 s", at}},
		CURL:       "curl https://flows.example.com/v1/flow/flow_1/run", MayRun: true, Seen: 12, Now: viewtest.Noon,
	}
}
