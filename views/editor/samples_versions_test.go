package editor

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func versionsSamples(theme layout.Theme) map[string]templ.Component {
	p := viewtest.Page("Route a support ticket", layout.SectionFlows, theme)
	form, full := samplePublish(), sampleVersions()
	first, problems, done, same := form, form, form, form
	first.State.Live, first.State.Next, first.Diff, first.Callers = 0, 1, sampleFirstDiff(), nil
	problems.Problems = []PublishProblem{{"write", "Write a reply", "Nothing is typed here."}, {"", "", "A flow needs at least one output."}}
	done.Done, done.State.Live, done.State.Changed = true, 4, false
	same.State.Changed = false
	wider := same
	wider.Diff, wider.Note, wider.State.Next = &Diff{}, "", 3
	wider.Agents, wider.Widened, wider.Callers, wider.State.Widened = nil, nil, nil, []WidenedTool{{Tool: "Look", More: []string{"sends data to hosts that are not fixed"}}}
	viewer := full
	viewer.State.ReadOnly, viewer.Restored = true, 0
	return map[string]templ.Component{
		"publish-gate": PublishPage(p, gated(GateMissing)), "publish-gate-running": PublishPage(p, gated(GateRunning)), "publish-gate-failed": PublishPage(p, gated(GateFailed)), "publish-gate-passed": PublishPage(p, gated(GatePassed)),
		"publish": PublishPage(p, form), "publish-first": PublishPage(p, first), "publish-problems": PublishPage(p, problems),
		"publish-done": PublishPage(p, done), "publish-same": PublishPage(p, same), "publish-wider": PublishPage(p, wider),
		"versions": Versions(p, full), "versions-viewer": Versions(p, viewer), "versions-none": Versions(p, VersionsPage{FlowID: "flow_1", Name: "New flow", State: first.State, EditedAt: viewtest.Noon, Now: viewtest.Noon}),
		"version-live": MakeLive(p, LiveForm{FlowID: "flow_1", Name: "Route a support ticket", Live: 3, Number: 2, Diff: form.Diff, Callers: form.Callers}),
		"compare":      Compare(p, sampleCompare(form)),
	}
}

func samplePublish() PublishForm {
	return PublishForm{
		FlowID: "flow_1", Name: "Route a support ticket", URL: "https://flows.example.com/v1/flow/flow_1/run", Draft: "sha256:1", Note: "Writes to legal too",
		State: PublishState{FlowID: "flow_1", Live: 3, Next: 4, Changed: true}, Diff: sampleDiff(),
		Callers: []Caller{{Name: "production", Prefix: "sk_live_7Q", Runs: 1204, LastDay: viewtest.Noon.Format(time.DateOnly)}},
		Agents: []AgentWrites{{Title: "Desk", Tools: []ToolWrites{
			{Title: "Refund", Approval: "always"}, {Title: "Note", Approval: "never"}, {Title: "Close", Approval: "amount > 50"},
			{Title: "Book", ClaimsRead: true, More: 2, Nodes: []WritingNode{{Flow: "flow_2", FlowName: "Book a room", Title: "Take the money"}, {Title: "Tell the guest"}}},
		}}},
		Widened: []WidenedTool{{FlowID: "flow_3", Name: "Support", Tool: "look", More: []string{"changes something", "sends data to api.example.com"}}},
	}
}

// gated is the dialog of a flow with a gate.
func gated(state string) PublishForm {
	f := samplePublish()
	f.Agents, f.Callers = nil, nil
	f.State.Now = viewtest.Noon
	f.Gate = &PublishGate{State: state, Report: "/flows/flow_1/tests/reports/test_1", Done: 12, Total: 43}
	switch state {
	case GateMissing:
		f.Gate.Pays, f.Gate.MayOverride = true, true
	case GateFailed:
		f.Gate.MayOverride, f.Gate.Reason, f.Gate.More = true, "The case is wrong", 7
		f.Gate.Problems = []GateProblem{{Case: "refund-late", Text: "Team equals: wanted \"billing\", got \"account\".", Path: "/flows/flow_1/tests/reports/test_1?case=refund-late"}, {Text: "A case costs $0.02; the limit is $0.01."}}
	}
	return f
}

func sampleFirstDiff() *Diff {
	return &Diff{Breaking: []string(nil), Changes: 19, Moved: 0, Summary: "2 inputs added, 1 output added, 10 nodes added, 6 edges added.", Groups: []ChangeGroup{
		{Title: "API", Lines: []ChangeLine{
			{Change: "added", Text: `The input "ticket" was added and is required: requests without it are rejected.`, Breaking: false},
			{Change: "added", Text: `The input "tone" was added and is optional.`, Breaking: false},
			{Change: "added", Text: `The output "reply" was added.`, Breaking: false},
		}},
		{Title: "Nodes", Lines: []ChangeLine{
			{Change: "added", Text: `"ticket" (Input) was added.`, Breaking: false},
			{Change: "added", Text: `"tone" (Input) was added.`, Breaking: false},
			{Change: "added", Text: `"Which team" (Classify) was added.`, Breaking: false},
			{Change: "added", Text: `"Write a reply" (Chat) was added.`, Breaking: false},
			{Change: "added", Text: `"Needs a person?" (Condition) was added.`, Breaking: false},
			{Change: "added", Text: `"reply" (Output) was added.`, Breaking: false},
			{Change: "added", Text: `"Tell <legal>" (HTTP request) was added.`, Breaking: false},
			{Change: "added", Text: `"template_2" (Template) was added.`, Breaking: false},
			{Change: "added", Text: `"note" (Note) was added.`, Breaking: false},
			{Change: "added", Text: `"odd" (teleport) was added.`, Breaking: false},
		}},
		{Title: "Edges", Lines: []ChangeLine{
			{Change: "added", Text: `Connected ticket.value to team.text.`, Breaking: false},
			{Change: "added", Text: `Connected ticket.value to write.ticket.`, Breaking: false},
			{Change: "added", Text: `Connected tone.value to write.tone.`, Breaking: false},
			{Change: "added", Text: `Connected team.label to person.value.`, Breaking: false},
			{Change: "added", Text: `Connected write.text to reply.value.`, Breaking: false},
			{Change: "added", Text: `Connected person.true to odd.there.`, Breaking: false},
		}},
	}}
}

// sampleDiff adds, changes and removes something, and breaks what programs call.
func sampleDiff() *Diff {
	return &Diff{Breaking: []string{"The input \"tone\" was removed: requests that send it are rejected.", "The input \"mood\" was added and is required: requests without it are rejected.", "The output \"reply\" was removed: clients reading it will break."}, Changes: 7, Moved: 0, Summary: "1 input removed, 1 input added, 1 output removed, 1 output added, 3 nodes changed.", Groups: []ChangeGroup{
		{Title: "API", Lines: []ChangeLine{
			{Change: "removed", Text: `The input "tone" was removed: requests that send it are rejected.`, Breaking: true},
			{Change: "added", Text: `The input "mood" was added and is required: requests without it are rejected.`, Breaking: true},
			{Change: "removed", Text: `The output "reply" was removed: clients reading it will break.`, Breaking: true},
			{Change: "added", Text: `The output "answer" was added.`, Breaking: false},
		}},
		{Title: "Nodes", Lines: []ChangeLine{
			{Change: "changed", Text: `"tone" (Input) changed: Default, Name.`, Breaking: false},
			{Change: "changed", Text: `"Which team" (Classify) changed: Labels.`, Breaking: false},
			{Change: "changed", Text: `"reply" (Output) changed: Name.`, Breaking: false},
		}},
	}}
}

func sampleVersions() VersionsPage {
	f := samplePublish()
	return VersionsPage{
		FlowID: f.FlowID, Name: f.Name, State: f.State, Draft: f.Diff, EditedAt: viewtest.Noon.Add(-4 * time.Minute), URL: f.URL, Now: viewtest.Noon, Most: true, Restored: 2, RestoreTx: "tx_1",
		List: []VersionLine{
			{Number: 3, At: viewtest.Noon.Add(-26 * time.Hour), By: "Ada", Summary: "Legal tickets go to a person", Live: true, Runs: 12_043},
			{Number: 2, At: viewtest.Noon.Add(-9 * 24 * time.Hour), By: "you", Same: true, Runs: 1},
			{Number: 1, At: viewtest.Noon.Add(-70 * 24 * time.Hour), By: "the command line"},
		},
	}
}

func sampleCompare(f PublishForm) ComparePage {
	c := ComparePage{
		FlowID: f.FlowID, Name: f.Name, From: 3, Diff: f.Diff, Callers: f.Callers, LiveBreaks: true,
		Choices: []components.Option{{Value: "draft", Label: "Draft"}, {Value: "3", Label: "v3 (live)"}, {Value: "2", Label: "v2"}}, Picture: sampleComparedPicture(),
	}
	c.Nodes = []NodeDiff{{Change: ChangeChanged, Label: "Write a reply", Kind: "Chat", Fields: []FieldDiff{
		{Title: "Prompt", WasSet: true, IsSet: true, Pieces: []Piece{{"", "Answer in a "}, {ChangeRemoved, "friendly"}, {ChangeAdded, "<calm>"}, {"", " tone"}}},
		{Title: "Temperature", IsSet: true, After: "0.4"},
		{Title: "Model", WasSet: true, IsSet: true, Before: "ollama/llama3.2", After: "ollama/qwen3"},
	}}}
	return c
}

func sampleComparedPicture() components.Picture {
	return components.Picture{Label: "The flow with what changed", Edges: []components.PictureEdge{{From: 0, To: 1, Mark: "carried"}, {From: 1, To: 2, Mark: "idle"}}, Nodes: []components.PictureNode{
		{Name: "Ticket", Kind: "Input", Group: "api", Mark: "changed"},
		{X: 280, Name: "Write a reply to everybody", Kind: "Chat", Group: "model", Mark: "added", Current: true},
		{X: 560, Name: "Reply", Kind: "Output", Group: "api", Mark: "skipped"},
	}}
}
