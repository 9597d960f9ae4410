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
	live.Live, live.State, live.Error, live.Missing = true, "running", nil, "The outputs appear here when the run is done."
	live.Facts = []Fact{{Title: "Time so far", Text: "2.4 s", Grows: true, Elapsed: 2400 * time.Millisecond}}
	live.Asks = []RunQuestion{{Title: "Send this reply?", Path: "/approvals/run_1/ask"}}
	seen.MayRun = false
	gone.Erased, gone.Step, gone.Inputs, gone.Fall = "It was kept for 30 days.", nil, nil, Waterfall{}
	return map[string]templ.Component{
		"run-map": Run(p, sampleMapRun(run)), "run": Run(p, run), "run-live": Run(p, live), "run-viewer": Run(p, seen), "run-erased": Run(p, gone), "run-done": Run(p.WithSheet("knowledge.css"), sampleDoneRun(run)),
	}
}

func sampleLink(step string) RunLink { return RunLink{RunID: "run_1", Step: step} }

// sampleMapRun is a run whose step tags the items of a list. Item 3 has failed and is selected.
func sampleMapRun(r RunPage) RunPage {
	link := RunLink{RunID: "run_1", Step: "each[3]", Of: "each"}
	fault := RunLink{RunID: "run_1", Step: "each[3]", Of: "each", State: "failed", Code: "http_failed"}
	retry := &ItemRetry{Failed: 1, Left: 2, Others: 5}
	r.Link, r.HasChildren, r.Missing = link, true, "No outputs: stopped at Tag each review. 3 finished items can be reused."
	r.Error = &RunError{Code: "http_failed", Message: "The server answered 503.", Advice: "Check the URL.", Node: "each", Label: "Tag each review", Item: &ItemRef{Number: 3, Path: "each[3]"}, Retry: retry}
	r.Fall = Waterfall{Span: 10 * time.Second, States: map[string]int{"failed": 1, "pending": 1}, Rows: []WaterfallRow{
		{Path: "each", Label: "Tag each review", Icon: "list-tree", Group: "control", State: "failed", Began: true, Tries: 1, Duration: 10 * time.Second, Failures: []time.Duration{8 * time.Second}, Unfolds: true, Open: true, Link: link.WithStep("each"), Bars: []WaterfallBar{{0, 10 * time.Second, "failed", "failed", ""}}},
		{Path: "each[3]", Label: "Item 3", Icon: "workflow", Group: "api", State: "failed", Depth: 1, Inside: true, Current: true, Link: link, Bars: []WaterfallBar{{0, 8 * time.Second, "failed", "failed", ""}}},
		{Path: "each[3]/call", Label: "Call", Icon: "plug", Group: "source", State: "failed", Depth: 2, Inside: true, Tries: 2, Link: link.WithStep("each[3]/call"), Bars: []WaterfallBar{{0, time.Second, "retrying", "attempt 1", ""}, {time.Second, 7 * time.Second, "pause", "waited 6 s", ""}, {7 * time.Second, 8 * time.Second, "failed", "attempt 2", ""}}},
		{Path: "each:canceled", Label: "1 canceled item", Icon: "boxes", Group: "canvas", State: "canceled", Depth: 1, Inside: true, Link: fault},
		{Path: "report", Label: "Report", Icon: "log-out", Group: "api", State: "pending", Note: "Not started", Link: link.WithStep("report")},
	}}
	r.Step = &StepView{
		Path: "each[3]", Label: "Item 3", State: "failed", Icon: "workflow", Group: "api", Above: "in Tag each review", RunPath: "/runs/run_5", Tab: "attempts", Error: &RunError{Code: "http_failed", Message: "The server answered 503.", Advice: "Check the address."},
		Tries: []TryLine{{Number: 1, At: viewtest.Noon, Duration: "400 ms", Code: "http_failed", Text: "The server answered 503.", State: "failed", Pause: "6.00 s"}, {Number: 2, At: viewtest.Noon, Duration: "400 ms", Code: "http_failed", Text: "The server answered 503.", State: "failed"}},
		Items: &ChildStep{
			Path: "each", Name: "Tag each review", About: "2 at a time · stops when an item fails", Flow: "Tag a review", FlowPath: "/flows/flow_2", Cost: "$0.41",
			Total: 6, Done: 3, Failed: 1, Canceled: 1, NotStarted: 1, Reused: 1, Size: 1, Link: link, Retry: retry,
			Cells:  []StripCell{{"done", 0, false}, {"done", 1, false}, {"canceled", 2, false}, {"failed", 3, true}, {"done", 4, false}, {"waiting", 5, false}},
			Groups: []ItemErrors{{Count: 1, Code: "http_failed", Message: "The server answered 503.", Advice: "Check the address.", Link: fault}, {Count: 1, Code: "step_timeout", Message: "It took too long.", Advice: "Give it more time.", Link: fault}},
			Items: []ChildItem{
				{Number: 3, State: "failed", Code: "http_failed", Input: "Strap snapped on day two.", Path: "/runs/run_5", Duration: "7.80 s", Cost: "$0", Tries: 3, Current: true, MayRepeat: true, Link: link},
				{Number: 2, State: "canceled", Input: "Box was open.", Path: "/runs/run_6", Duration: "600 ms", Cost: "$0", Tries: 1, Link: link.WithStep("each[2]")},
				{Number: 0, State: "reused", Input: "Fine.", Output: "positive", Path: "/runs/run_2", Duration: "–", Cost: "–", Link: link.WithStep("each[0]")},
			},
		},
	}
	return r
}

// sampleDoneRun is a run that succeeded, with outputs.
func sampleDoneRun(r RunPage) RunPage {
	r.State, r.Error, r.Missing, r.Parent = "succeeded", nil, "", ""
	r.Outputs = []components.OutputView{
		{ValueView: components.ValueView{Name: "team", Value: "billing"}, From: "Which team?", Scores: []components.LabelScore{{Label: "billing", Score: 0.91}, {Label: "account", Score: 0.05}}},
		{ValueView: components.ValueView{Name: "reply", Value: "Hello **Sam**"}, Rendered: "<p>Hello <strong>Sam</strong></p>"},
		{ValueView: components.ValueView{Name: "hits", Value: []any{}}, Hits: []components.Hit{
			{Title: "Refunds and returns of customers of the European Union, second edition", Headings: "When you get your money › Card payments and their very long names", Text: []components.Span{{Text: "A "}, {Text: "refund", Marked: true}, {Text: " takes up to five working days after we receive the parcel."}}, RankWords: 1, RankMeaning: 2, Meaning: "0.71", Path: "/knowledge/help-center/documents/doc_2?after=3"},
			{Title: "Refund policy", Text: []components.Span{{Text: "No later than 14 days."}}, RankMeaning: 1, Meaning: "0.74", Page: 3},
		}},
	}
	r.Fall.States = map[string]int{"succeeded": 8, "skipped": 1}
	s := *r.Step
	next := sampleLink("reply")
	s.State, s.Error, s.Tab, s.Tries, s.Outputs, s.Next = "succeeded", nil, "output", nil, r.Outputs[1:], &next
	s.UsedBy, s.Kept, s.EditPath = []StepRef{{Label: "Reply", Icon: "log-out", Group: "api", Link: next}}, 6, "/flows/flow_1/node/write"
	r.Step, r.Outputs = &s, r.Outputs[:2]
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
	previous := sampleLink("ticket")
	return RunPage{
		RunHead: components.RunHead{ID: "run_1", FlowID: "flow_1", State: "failed", Version: 3}, FlowName: "Route a support ticket", LiveVersion: 3, Parent: "run_0", From: "Write a reply", Error: failure,
		Facts:   []Fact{{Title: "Version", Text: "v3", Href: "/flows/flow_1?version=3"}, {Title: "Started", At: at}, {Title: "Duration", Text: "2.4 s"}, {Title: "Cost", Text: "$0", More: "· 9 steps without a price"}},
		Missing: "No outputs: stopped at Write a reply to everybody.",
		Picture: samplePicture(),
		Fall: Waterfall{Span: 2400 * time.Millisecond, States: map[string]int{"succeeded": 1, "failed": 1, "skipped": 1}, Rows: []WaterfallRow{
			{Path: "ticket", Label: "Ticket", Icon: "log-in", Group: "api", State: "succeeded", Began: true, Tries: 1, Link: sampleLink("ticket"), Bars: []WaterfallBar{{0, time.Millisecond, "succeeded", "1 ms", ""}}},
			{Path: "write", Label: "Write a reply to everybody", Icon: "message-square", Group: "model", State: "failed", Began: true, Tries: 2, Duration: 2400 * time.Millisecond, Cost: "$0.0003", Current: true, Link: sampleLink("write"), Bars: []WaterfallBar{
				{0, time.Second, "retrying", "Attempt 1", ""}, {time.Second, 2 * time.Second, "pause", "Waited 1 s", ""}, {2 * time.Second, 2400 * time.Millisecond, "failed", "Attempt 2", ""},
			}},
			{Path: "reply", Label: "Reply", Icon: "log-out", Group: "api", State: "skipped", Note: "Skipped: the condition was true", Link: sampleLink("reply")},
		}},
		Step: &StepView{
			Path: "write", Node: "write", Label: "Write a reply to everybody", State: "failed", Icon: "message-square", Group: "model", Meta: []string{"Chat", "llama3.2"}, Error: failure, MayRerun: true, Kept: 1, Tab: "attempts", Previous: &previous,
			Inputs: []components.ValueView{{Name: "ticket", Value: "I was charged twice."}},
			Tries:  []TryLine{{Number: 1, At: at, Duration: "1 s", Code: "provider_auth", Text: "The provider refused the key.", State: "failed", Pause: "1.00 s"}, {Number: 2, At: at.Add(2 * time.Second), Duration: "400 ms", Code: "provider_auth", Text: "The provider refused the key.", State: "failed"}},
		},
		Link: sampleLink("write"), Inputs: []components.ValueView{{Name: "ticket", Value: "I was charged twice."}}, Metadata: []components.ValueView{{Name: "customer", Value: "Ada"}},
		Deliveries: []DeliveryLine{{"dlv_1", "", "https://hooks.example.com/done", "pending", "Next try in 10 s", at}},
		CURL:       "curl https://flows.example.com/v1/flow/flow_1/run", MayRun: true, Seen: 12, Now: viewtest.Noon,
	}
}
