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
		"run-map": Run(p, sampleMapRun(live)), "run": Run(p, run), "run-live": Run(p, live), "run-viewer": Run(p, seen), "run-erased": Run(p, gone),
	}
}

func sampleLink(step string) RunLink { return RunLink{RunID: "run_1", Step: step} }

// sampleMapRun is a run whose step tags the items of a list. Item 3 is selected.
func sampleMapRun(r RunPage) RunPage {
	link := RunLink{RunID: "run_1", Step: "each[3]", Of: "each"}
	fault := RunLink{RunID: "run_1", Step: "each[3]", Of: "each", State: "failed", Code: "http_failed"}
	r.Link, r.State, r.Awaits = link, "waiting", "for 3 child runs"
	r.Children = []ChildStep{{
		Path: "each", Name: "Tag each review", Icon: "list-tree", Group: "control", About: "Map · 2 at a time · keeps going when an item fails", Flow: "Tag a review", FlowPath: "/flows/flow_2", Cost: "$0.41",
		Total: 6, Done: 2, Running: 2, Failed: 1, Waiting: 1, Reused: 1, Left: "about 6 s left", Size: 1, Link: link,
		Cells:  []StripCell{{"done", 0, false}, {"done", 1, false}, {"running", 2, false}, {"failed", 3, true}, {"running", 4, false}, {"waiting", 5, false}},
		Groups: []ItemErrors{{Count: 1, Code: "http_failed", Message: "The server answered 503.", Advice: "Check the address.", Link: fault}},
		Items: []ChildItem{
			{Number: 3, State: "failed", Code: "http_failed", Input: "Strap snapped on day two.", Path: "/runs/run_5", Duration: "7.80 s", Cost: "$0", Tries: 3, Current: true, Link: link},
			{Number: 0, State: "reused", Input: "Fine.", Output: "positive", Path: "/runs/run_2", Duration: "–", Cost: "–", Link: link.WithStep("each[0]")},
		},
	}}
	r.Fall = Waterfall{Done: 1, Total: 3, Span: 10 * time.Second, Shared: true, Rows: []WaterfallRow{
		{Path: "each", Label: "Tag each review", State: "running", Began: true, Tries: 1, Duration: 10 * time.Second, Failures: []time.Duration{8 * time.Second}, Fold: &WaterfallFold{true, link.WithStep("each")}, Href: "#", Bars: []WaterfallBar{{0, 10 * time.Second, "running", "running"}}},
		{Path: "each[3]", Label: "Item 3", State: "failed", Depth: 1, Item: true, Current: true, Open: "/runs/run_5", Href: "#", Bars: []WaterfallBar{{0, 8 * time.Second, "failed", "failed"}}},
		{Path: "each[3]/call", Label: "Call", State: "failed", Depth: 2, Inside: true, Tries: 2, Href: "#", Bars: []WaterfallBar{{0, time.Second, "retrying", "attempt 1"}, {time.Second, 7 * time.Second, "pause", "waited 6 s"}, {7 * time.Second, 8 * time.Second, "failed", "attempt 2"}}},
	}}
	r.Step = &StepView{Path: "each[3]", Label: "Item 3", State: "failed", RunPath: "/runs/run_5", Error: &RunError{Code: "http_failed", Message: "The server answered 503.", Advice: "Check the address."}}
	return r
}

func samplePicture() components.Picture {
	link := func(step string) (templ.SafeURL, templ.Attributes) {
		return templ.SafeURL(StepPath("run_1", step)), sampleLink(step).Attrs()
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
		RunHead: components.RunHead{ID: "run_1", FlowID: "flow_1", State: "failed", Version: 3}, FlowName: "Route a support ticket", Parent: "run_0", From: "Write a reply", Error: failure,
		Facts:   []Fact{{Title: "Flow", Text: "v3", Href: "/flows/flow_1?version=3"}, {Title: "Started", At: at}, {Title: "Duration", Text: "2.4 s"}},
		Picture: samplePicture(),
		Fall: Waterfall{Done: 3, Total: 3, Span: 2400 * time.Millisecond, Rows: []WaterfallRow{
			{Path: "ticket", Label: "Ticket", State: "succeeded", Began: true, Tries: 1, Href: StepPath("run_1", "ticket"), Attrs: sampleLink("ticket").Attrs(), Bars: []WaterfallBar{{0, time.Millisecond, "succeeded", "1 ms"}}},
			{Path: "write", Label: "Write a reply to everybody", State: "failed", Began: true, Tries: 2, Duration: 2400 * time.Millisecond, Current: true, Href: StepPath("run_1", "write"), Attrs: sampleLink("write").Attrs(), Bars: []WaterfallBar{
				{0, time.Second, "retrying", "Attempt 1"}, {time.Second, 2 * time.Second, "pause", "Waited 1 s"}, {2 * time.Second, 2400 * time.Millisecond, "failed", "Attempt 2"},
			}},
			{Path: "reply", Label: "Reply", State: "skipped", Note: "Its input never came.", Href: StepPath("run_1", "reply"), Attrs: sampleLink("reply").Attrs()},
		}},
		Step: &StepView{
			Path: "write", Node: "write", Label: "Write a reply to everybody", State: "failed", About: "Chat · llama3.2", Error: failure, MayRerun: true,
			Inputs: []components.ValueView{{Name: "ticket", Value: "I was charged twice."}},
			Tries:  []TryLine{{1, at, "1 s", "The provider refused the key.", components.ToneWait, "", ""}, {2, at.Add(2 * time.Second), "400 ms", "The provider refused the key.", components.ToneBad, "", ""}},
		},
		Link: sampleLink("write"), Inputs: []components.ValueView{{Name: "ticket", Value: "I was charged twice."}}, Metadata: []components.ValueView{{Name: "customer", Value: "Ada"}},
		Deliveries: []DeliveryLine{{"dlv_1", "", "https://hooks.example.com/done", "pending", "Next try in 10 s", at}},
		CURL:       "curl https://flows.example.com/v1/flow/flow_1/run", MayRun: true, Seen: 12, Now: viewtest.Noon,
	}
}
