package views

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"sluice/flow"
	"sluice/nodes"
)

func init() {
	sampleSets = append(sampleSets, func(theme Theme) map[string]templ.Component {
		p := page("Route a support ticket", SectionFlows, theme)
		form, full, run := samplePublish(), sampleVersions(), sampleRunPage()
		first, problems, done, same := form, form, form, form
		first.State.Live, first.State.Next, first.Diff, first.Callers = 0, 1, sampleFirstDiff(), nil
		problems.Problems = []PublishProblem{{"write", "Write a reply", "Nothing is typed here."}, {"", "", "A flow needs at least one output."}}
		done.Done, done.State.Live, done.State.Changed = true, 4, false
		same.State.Changed = false
		viewer := full
		viewer.State.ReadOnly, viewer.Restored = true, 0
		live, seen, gone := run, run, run
		live.Live, live.State, live.Error, live.Step = true, "running", nil, nil
		seen.MayRun = false
		gone.Erased, gone.Step, gone.Inputs, gone.Outputs = "It was kept for 30 days.", nil, nil, nil
		return map[string]templ.Component{
			"publish": PublishPage(p, form), "publish-first": PublishPage(p, first), "publish-problems": PublishPage(p, problems),
			"publish-done": PublishPage(p, done), "publish-same": PublishPage(p, same),
			"versions": Versions(p, full), "versions-viewer": Versions(p, viewer), "versions-none": Versions(p, VersionsPage{FlowID: "flow_1", Name: "New flow", State: first.State, EditedAt: noon, Now: noon}),
			"version-live": MakeLive(p, LiveForm{FlowID: "flow_1", Name: "Route a support ticket", Live: 3, Number: 2, Diff: form.Diff, Callers: form.Callers}),
			"compare":      Compare(p, sampleCompare(form)),
			"run":          Run(p, run), "run-live": Run(p, live), "run-viewer": Run(p, seen), "run-erased": Run(p, gone),
		}
	})
}

func samplePublish() PublishForm {
	return PublishForm{
		FlowID: "flow_1", Name: "Route a support ticket", URL: "https://flows.example.com/v1/flow/flow_1/run", Draft: "sha256:1", Note: "Writes to legal too",
		State: PublishState{FlowID: "flow_1", Live: 3, Next: 4, Changed: true}, Diff: sampleDiff(),
		Callers: []flow.Caller{{Name: "production", Prefix: "sk_live_7Q", Runs: 1204, LastDay: noon.Format(time.DateOnly)}},
	}
}

func sampleFirstDiff() *flow.Diff { return sampleChange(nil, sampleDraft) }

// sampleDiff adds, changes and removes something, and breaks what programs call.
func sampleDiff() *flow.Diff {
	now := strings.NewReplacer(`"labels": ["billing", "legal", "technical"]`, `"labels": ["billing", "legal"]`, `{"name": "tone", "default": "friendly"}`, `{"name": "mood"}`,
		`"config": {"name": "reply"}`, `"config": {"name": "answer"}`).Replace(sampleDraft)
	was := sampleDraft
	return sampleChange(&was, now)
}

func sampleChange(was *string, now string) *flow.Diff {
	var old *flow.Document
	if was != nil {
		old, _ = flow.ParseDocument([]byte(*was))
	}
	d, _ := flow.ParseDocument([]byte(now))
	return flow.Compare(old, d, nodes.New(nodes.Deps{}))
}

func sampleVersions() VersionsPage {
	f := samplePublish()
	return VersionsPage{
		FlowID: f.FlowID, Name: f.Name, State: f.State, Draft: f.Diff, EditedAt: noon.Add(-4 * time.Minute), URL: f.URL, Now: noon, Most: true, Restored: 2, RestoreTx: "tx_1",
		List: []VersionLine{
			{Number: 3, At: noon.Add(-26 * time.Hour), By: "Ada", Summary: "Legal tickets go to a person", Live: true, Runs: 12_043},
			{Number: 2, At: noon.Add(-9 * 24 * time.Hour), By: "you", Same: true, Runs: 1},
			{Number: 1, At: noon.Add(-70 * 24 * time.Hour), By: "the command line"},
		},
	}
}

func sampleCompare(f PublishForm) ComparePage {
	c := ComparePage{
		FlowID: f.FlowID, Name: f.Name, From: 3, Diff: f.Diff, Callers: f.Callers, LiveBreaks: true,
		Choices: []Option{{"draft", "Draft"}, {"3", "v3 (live)"}, {"2", "v2"}}, Picture: samplePicture(),
	}
	c.Picture.Nodes[0].Mark, c.Picture.Nodes[1].Mark, c.Picture.Nodes[0].Detail, c.Picture.Nodes[1].Detail = "changed", "added", "", ""
	c.Nodes = []NodeDiff{{Change: flow.ChangeChanged, Label: "Write a reply", Kind: "Chat", Fields: []FieldDiff{
		{Title: "Prompt", Had: true, Has: true, Pieces: []Piece{{"", "Answer in a "}, {flow.ChangeRemoved, "friendly"}, {flow.ChangeAdded, "<calm>"}, {"", " tone"}}},
		{Title: "Temperature", Has: true, After: "0.4"},
		{Title: "Model", Had: true, Has: true, Before: "ollama/llama3.2", After: "ollama/qwen3"},
	}}}
	return c
}

func samplePicture() Picture {
	link := func(step string) (templ.SafeURL, templ.Attributes) {
		return templ.SafeURL(StepPath("run_1", step)), StepAttrs("run_1", step)
	}
	p := Picture{Label: "The flow with what each node did", Edges: []PictureEdge{{0, 1, "carried"}, {1, 2, "idle"}}, Nodes: []PictureNode{
		{Name: "Ticket", Kind: "Input", Group: "api", Mark: "succeeded", Detail: "0 ms"},
		{X: 280, Name: "Write a reply to everybody", Kind: "Chat", Group: "model", Mark: "failed", Detail: "after 3 tries", Current: true},
		{X: 560, Name: "Reply", Kind: "Output", Group: "api", Mark: "skipped"},
	}}
	p.Nodes[0].Href, p.Nodes[0].Attrs = link("ticket")
	p.Nodes[1].Href, p.Nodes[1].Attrs = link("write")
	return p
}

func sampleRunPage() RunPage {
	at := noon.Add(-8*time.Second + 731_472*time.Microsecond)
	failure := &RunError{Code: string(flow.CodeProviderAuth), Message: "The provider refused the key.", Advice: "Check the credential.", Node: "write", Label: "Write a reply to everybody", Reused: 1}
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
			Inputs: []ValueView{{Name: "ticket", Value: "I was charged twice."}},
			Tries:  []TryLine{{1, at, "1 s", "The provider refused the key.", ToneWait}, {2, at.Add(2 * time.Second), "400 ms", "The provider refused the key.", ToneBad}},
		},
		Selected: "write", Inputs: []ValueView{{Name: "ticket", Value: "I was charged twice."}}, Metadata: []ValueView{{Name: "customer", Value: "Ada"}},
		Deliveries: []DeliveryLine{{"dlv_1", "", "https://hooks.example.com/done", "pending", "Next try in 10 s", at}},
		CURL:       "curl https://flows.example.com/v1/flow/flow_1/run", MayRun: true, Seen: 12, Now: noon,
	}
}
