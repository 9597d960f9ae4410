package views

import "github.com/a-h/templ"

func init() {
	sampleSets = append(sampleSets, func(theme Theme) map[string]templ.Component {
		in := page("Flows", SectionFlows, theme)
		archive := FlowsPage{Filter: FlowFilter{Archived: true}, Flows: sampleFlows()[:2], Now: noon, MayEdit: true, Archived: 2}
		for i := range archive.Flows {
			archive.Flows[i].Archived = true
		}
		emptied := FlowsPage{Filter: FlowFilter{Archived: true}, Now: noon, MayEdit: true}
		watching := FlowsPage{Flows: sampleFlows()[:1], Now: noon}
		needs := sampleStarters()
		for i := range needs {
			needs[i].Graph = sampleFlows()[i].Graph
		}
		needs = append(needs, Starter{ID: "draw", Icon: "image", Name: "Draw a picture", Text: "Makes a picture of a description.", Needs: "Replicate", Graph: sampleFlows()[3].Graph})
		return map[string]templ.Component{
			"flows-archive":       Flows(in, archive),
			"flows-archive-empty": Flows(in, emptied),
			"flows-viewer":        Flows(in, watching),
			"flows-viewer-empty":  Flows(in, FlowsPage{Now: noon, Archived: 1}),
			"flows-tags":          FlowTags(in, TagsForm{FlowID: "flow_1", Name: "Route a support ticket", Tags: "support, a tag that is much too long for any card", Known: []string{"billing", "nightly"}, Errors: Errors{"tags": "A tag has at most 32 characters; “a tag that is much too long for …” is longer."}}),
			"templates-needs":     Templates(in, TemplatesPage{Starters: needs, MayEdit: true}),
			"templates-viewer":    Templates(in, TemplatesPage{Starters: needs}),
			"import-report": ImportDone(page("Imported", SectionFlows, theme), ImportReport{
				FlowID: "flow_1", Name: "Lakes", Graph: sampleFlows()[2].Graph, Nodes: 6, Edges: 4,
				Todo: []string{`"text" of speech is missing; type it or connect an edge to speech.text.`}, Noted: []string{"“ai-data-splitter” has no counterpart yet. Its settings are in a note in its place."},
				Lost:    []string{"The edge from “LLM” to “ai-data-splitter” is missing: “ai-data-splitter” is a note now.", "The edge from “ai-data-splitter” to “openai-text-to-speech” is missing: “ai-data-splitter” is a note now."},
				Changed: []string{"The output “the answer” is called “the_answer” here."}, Left: []string{"“url_input”: these settings have no place here: selectors, with_html_tags."},
				Mapped: []string{"“InputText” is now “Text”.", "“LLM” is now “Chat”."}, Passed: []string{"“transition” passes its value on, so its edges lead straight to the next node."},
				Needed: []NeededCredential{{Provider: "openai", Title: "OpenAI", Text: "2 nodes need a credential for it."}, {Provider: "replicate", Title: "Replicate", Have: true}},
			}),
			"import-clean": ImportDone(page("Imported", SectionFlows, theme), ImportReport{FlowID: "flow_1", Name: "Lakes", Graph: sampleFlows()[3].Graph, Nodes: 3, Edges: 2, Mapped: []string{"“InputText” is now “Text”."}}),
		}
	})
}
