package console

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func flowsSamples(theme layout.Theme) map[string]templ.Component {
	in := viewtest.Page("Flows", layout.SectionFlows, theme)
	archive := FlowsPage{Filter: FlowFilter{Archived: true}, Flows: sampleFlows()[:2], Now: viewtest.Noon, MayEdit: true, Archived: 2}
	for i := range archive.Flows {
		archive.Flows[i].Archived = true
	}
	emptied := FlowsPage{Filter: FlowFilter{Archived: true}, Now: viewtest.Noon, MayEdit: true}
	watching := FlowsPage{Flows: sampleFlows()[:1], Now: viewtest.Noon}
	needs := sampleStarters()
	for i := range needs {
		needs[i].Graph = sampleFlows()[i].Graph
	}
	needs = append(needs, Starter{ID: "draw", Icon: "image", Name: "Draw a picture", Text: "Makes a picture of a description.", Needs: "Replicate", Graph: sampleFlows()[3].Graph})
	return map[string]templ.Component{
		"flows-archive":       Flows(in, archive),
		"flows-archive-empty": Flows(in, emptied),
		"flows-viewer":        Flows(in, watching),
		"flows-viewer-empty":  Flows(in, FlowsPage{Now: viewtest.Noon, Archived: 1}),
		"flows-tags":          FlowTags(in, TagsForm{FlowID: "flow_1", Name: "Route a support ticket", Tags: "support, a tag that is much too long for any card", Known: []string{"billing", "nightly"}, Errors: components.Errors{"tags": "A tag has at most 32 characters; “a tag that is much too long for …” is longer."}}),
		"templates-needs":     Templates(in, TemplatesPage{Starters: needs, MayEdit: true}),
		"templates-viewer":    Templates(in, TemplatesPage{Starters: needs}),
		"import-report": ImportDone(viewtest.Page("Imported", layout.SectionFlows, theme), ImportReport{
			FlowID: "flow_1", Name: "Lakes", Graph: sampleFlows()[2].Graph, Nodes: 6, Edges: 4,
			Todo: []string{`"text" of speech is missing; type it or connect an edge to speech.text.`}, Noted: []string{"“ai-data-splitter” has no counterpart yet. Its settings are in a note in its place."},
			Lost:    []string{"The edge from “LLM” to “ai-data-splitter” is missing: “ai-data-splitter” is a note now.", "The edge from “ai-data-splitter” to “openai-text-to-speech” is missing: “ai-data-splitter” is a note now."},
			Changed: []string{"The output “the answer” is called “the_answer” here."}, Left: []string{"“url_input”: these settings have no place here: selectors, with_html_tags."},
			Mapped: []string{"“InputText” is now “Text”.", "“LLM” is now “Chat”."}, Passed: []string{"“transition” passes its value on, so its edges lead straight to the next node."},
			Needed: []NeededCredential{{Provider: "openai", Title: "OpenAI", Text: "2 nodes need a credential for it."}, {Provider: "replicate", Title: "Replicate", Have: true}},
		}),
		"import-clean": ImportDone(viewtest.Page("Imported", layout.SectionFlows, theme), ImportReport{FlowID: "flow_1", Name: "Lakes", Graph: sampleFlows()[3].Graph, Nodes: 3, Edges: 2, Mapped: []string{"“InputText” is now “Text”."}}),
	}
}

func flowListSamples(theme layout.Theme) map[string]templ.Component {
	in := viewtest.Page("Flows", layout.SectionFlows, theme)
	told := in
	told.Unsafe, told.Toasts = true, []layout.Toast{{Tone: components.ToneOK, Text: "“Summarize a text” is archived.", Undo: "/flows/flow_4/restore"}, {Tone: components.ToneBad, Text: "The webhook was not saved: the address has no host."}}
	many := FlowsPage{Flows: sampleFlows(), Tags: []string{"billing", "nightly", "support"}, Now: viewtest.Noon, Pages: components.Pages{Path: "/flows", After: "c_9"}, MayEdit: true, Archived: 2}
	table, none, nothing := many, many, FlowsPage{Now: viewtest.Noon, Starters: sampleStarters(), MayEdit: true}
	table.Filter = FlowFilter{Table: true, Sort: SortRuns}
	none.Flows, none.Pages, none.Filter = nil, components.Pages{}, FlowFilter{Query: "invoice <b>", Tag: "billing"}
	return map[string]templ.Component{
		"flows":         Flows(in, many),
		"flows-table":   Flows(in, table),
		"flows-toasts":  Flows(told, FlowsPage{Flows: sampleFlows()[:1], Now: viewtest.Noon, MayEdit: true}),
		"flows-none":    Flows(in, none),
		"flows-empty":   Flows(in, nothing),
		"flow-list":     FlowList(table),
		"templates":     Templates(viewtest.Page("Templates", layout.SectionFlows, theme), TemplatesPage{Starters: sampleStarters(), MayEdit: true}),
		"import":        ImportFlow(viewtest.Page("Import", layout.SectionFlows, theme), ImportForm{}),
		"import-errors": ImportFlow(viewtest.Page("Import", layout.SectionFlows, theme), ImportForm{Text: `{"schema": "sluice.flow/v1"}`, Problems: []ImportProblem{{"nodes.write", "The kind “chatt” does not exist; “chat” does."}, {"edges[2]", "“write.txt” is no output of “write”; it has “text” and “json”."}}}),
	}
}

func sampleStarters() []Starter {
	return []Starter{
		{ID: "route", Icon: "tags", Name: "Route a support ticket", Text: "Finds the team a ticket belongs to."},
		{ID: "summarize", Icon: "scroll-text", Name: "Summarize a text", Text: "Picks the sentences that say most."},
		{ID: "answer", Icon: "text-search", Name: "Answer from a document", Text: "Finds the passages that answer a question."},
	}
}

func hours(counts, failed string) []components.Bar {
	bars := make([]components.Bar, len(counts))
	for i := range counts {
		bars[i] = components.Bar{Count: int(counts[i]-'0') * 7, Failed: int(failed[i] - '0')}
	}
	return bars
}

func sampleFlows() []FlowCard {
	route := components.Graph{
		Nodes: []components.GraphNode{{X: 0, Y: 0, Group: "api"}, {X: 0, Y: 300, Group: "api"}, {X: 280, Y: -20, Group: "builtin"}, {X: 560, Y: 120, Group: "control"}, {X: 280, Y: 240, Group: "model"}, {X: 840, Y: 340, Group: "api"}, {X: 840, Y: 40, Group: "api"}},
		Edges: [][2]int{{0, 2}, {0, 4}, {1, 4}, {2, 3}, {4, 5}, {3, 6}},
	}
	line := components.Graph{Nodes: []components.GraphNode{{X: 0, Y: 0, Group: "api", Icon: "log-in"}, {X: 280, Y: 0, Group: "builtin"}, {X: 560, Y: 0, Group: "api", Icon: "log-out"}}, Edges: [][2]int{{0, 1}, {1, 2}}}
	answer := components.Graph{
		Nodes: []components.GraphNode{{X: 0, Y: 0, Group: "api"}, {X: 0, Y: 200, Group: "api"}, {X: 280, Y: 0, Group: "source"}, {X: 560, Y: 100, Group: "builtin"}, {X: 840, Y: 100, Group: "model"}, {X: 1120, Y: 20, Group: "api"}, {X: 1120, Y: 200, Group: "api"}},
		Edges: [][2]int{{0, 2}, {2, 3}, {1, 3}, {3, 4}, {4, 5}, {3, 6}},
	}
	night := components.Graph{
		Nodes: []components.GraphNode{{X: 0, Y: 0, Group: "source"}, {X: 280, Y: 0, Group: "text"}, {X: 560, Y: 0, Group: "control"}, {X: 840, Y: -130, Group: "model"}, {X: 840, Y: 0, Group: "code"}, {X: 840, Y: 130, Group: "model"}, {X: 1120, Y: 0, Group: "api"}},
		Edges: [][2]int{{0, 1}, {1, 2}, {2, 3}, {2, 4}, {2, 5}, {3, 6}, {4, 6}, {5, 6}},
	}
	return []FlowCard{
		{ID: "flow_1", Name: "Route a support ticket", Description: "Finds the team a ticket belongs to and writes a first reply in the tone you choose.", Tags: []string{"support"}, Graph: route, Version: 3, Differs: true, EditedAt: viewtest.Noon.Add(-4 * time.Minute), EditedBy: "Lin", Day: FlowDay{hours("234311124567899876554343", "000000000000000200000000"), 1204, .997, 1900 * time.Millisecond, 412_300}},
		{ID: "flow_2", Name: "Answer from the handbook", Description: "Passages of the handbook that answer a question, and an answer that cites them.", Tags: []string{"support", "billing"}, Graph: answer, Version: 12, EditedAt: viewtest.Noon.Add(-26 * time.Hour), EditedBy: "Ada", Day: FlowDay{hours("000000011245432345310000", "000000010023320011100000"), 318, .846, 6400 * time.Millisecond, 3_402_000}},
		{ID: "flow_3", Name: "Nightly digest of releases", Description: "Reads the release pages of what we depend on and tells what changed.", Tags: []string{"nightly"}, Graph: night, Version: 1, EditedAt: viewtest.Noon.Add(-9 * 24 * time.Hour), EditedBy: "Ada", Day: FlowDay{hours("001000000000000000000000", "000000000000000000000000"), 7, 1, 83 * time.Second, 58}},
		{ID: "flow_4", Name: "Summarize a text", Description: "The sentences that say most, offline.", Graph: line, EditedAt: viewtest.Noon.Add(-40 * time.Second), EditedBy: "you", Day: FlowDay{Hours: make([]components.Bar, 24)}},
		{ID: "flow_5", Name: "A flow whose name is rather longer than any card would like it to be", Graph: components.Graph{}, EditedAt: viewtest.Noon.Add(-70 * 24 * time.Hour), Day: FlowDay{Hours: make([]components.Bar, 24)}},
	}
}
