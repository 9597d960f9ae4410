package editor

import (
	"sluice/flow/document"
	"sluice/nodes"
	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func builderSamples(theme layout.Theme) map[string]templ.Component {
	p := viewtest.Page("Route a support ticket", layout.SectionFlows, theme)
	p.Canvas = true
	b := sampleBuilder(sampleDraft)
	empty := sampleBuilder(`{"schema": "sluice.flow/v1", "name": "New flow", "nodes": [], "edges": []}`)
	read, small := b, empty
	read.ReadOnly, read.Outline.ReadOnly = true, true
	small.Outlined, small.Refused, small.TypedName = true, "A flow needs a name.", " "
	return map[string]templ.Component{
		"builder":          Builder(p, b),
		"builder-readonly": Builder(p, read),
		"builder-empty":    Builder(p, empty),
		"builder-refused":  Builder(p, small),
		"outline":          Outline(b.Outline),
	}
}

// sampleDraft has a bit of everything that a node can show.
const sampleDraft = `{"schema": "sluice.flow/v1", "name": "Route a support ticket", "description": "Finds the team.", "nodes": [
	{"id": "ticket", "kind": "input", "position": {"x": 0, "y": 60}, "config": {"name": "ticket", "type": "text"}},
	{"id": "tone", "kind": "input", "position": {"x": 0, "y": 330}, "config": {"name": "tone", "default": "friendly"}},
	{"id": "team", "kind": "classify", "label": "Which team", "position": {"x": 270, "y": 40}, "config": {"labels": ["billing", "legal", "technical"]}},
	{"id": "write", "kind": "chat", "label": "Write a reply", "position": {"x": 270, "y": 280}, "config": {"model": "ollama/llama3.2", "prompt": "Answer in a {{tone}} tone:\n{{ticket}}", "credential": {"credential": "gone"}}},
	{"id": "person", "kind": "condition", "label": "Needs a person?", "position": {"x": 540, "y": 170}, "config": {"expression": "value == \"legal\""}},
	{"id": "reply", "kind": "output", "position": {"x": 540, "y": 390}, "config": {"name": "reply"}},
	{"id": "tell", "kind": "http_request", "label": "Tell <legal>", "disabled": true, "position": {"x": 810, "y": 170}, "config": {"method": "POST", "url": "https://hooks.example.com/legal?x=1"}},
	{"id": "template_2", "kind": "template", "position": {"x": 810, "y": 330}, "config": {"template": "Dear {{customer}}"}},
	{"id": "note", "kind": "note", "position": {"x": 0, "y": 480}, "config": {"text": "Legal reads along.\nAsk Lin."}},
	{"id": "odd", "kind": "teleport", "position": {"x": 810, "y": 460}, "config": {}}
], "edges": [
	{"from": "ticket.value", "to": "team.text"}, {"from": "ticket.value", "to": "write.ticket"}, {"from": "tone.value", "to": "write.tone"},
	{"from": "team.label", "to": "person.value"}, {"from": "write.text", "to": "reply.value"}, {"from": "person.true", "to": "odd.there"}
]}`

func sampleBuilder(text string) BuilderPage {
	kinds := nodes.New(nodes.Deps{})
	d, _ := document.ParseDocument([]byte(text))
	problems := document.Validate(d, kinds)
	facts := FactsOf(d, problems)
	facts.Missing, facts.Pinned = map[string]bool{"gone": true}, map[string]bool{"team": true}
	b := BuilderPage{
		FlowID: "flow_1", Name: d.Name, Description: d.Description, Rev: 7, Pane: PaneNode, Document: string(d.Compact()), Palette: PaletteOf(kinds.List()),
		Problems: ProblemsOf("flow_1", d, kinds, problems, nil), Others: []layout.Person{{Name: "Lin Mei"}, {Name: "Ada Kowalski"}},
	}
	b.Outline = OutlinePanel{FlowID: "flow_1", Palette: b.Palette}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		face := FaceOf(n, kinds.For(n), facts)
		b.Nodes = append(b.Nodes, face)
		b.Outline.Nodes = append(b.Outline.Nodes, OutlineNode{ID: n.ID, Title: face.Title, KindTitle: face.KindTitle, Icon: face.Icon, Group: face.Group, Disabled: n.Disabled, Problems: len(face.Problems)})
	}
	if len(b.Outline.Nodes) > 3 {
		b.Outline.Open = &OutlineOpen{
			OutlineNode: b.Outline.Nodes[3], Label: "Write a reply",
			Ins:  []OutlinePort{{Ref: "write.ticket", Label: "ticket", Type: "any", Edges: []OutlineEdge{{From: "ticket.value", To: "write.ticket", Title: "ticket, value"}}}, {Ref: "write.system", Label: "system", Type: "text", Need: true, Hint: "“Be kind”", Choices: []components.Option{{Value: "ticket.value", Label: "ticket, value"}}}},
			Outs: []OutlinePort{{Ref: "write.text", Label: "text", Type: "text", Choices: []components.Option{{Value: "tell.body", Label: "Tell legal, body"}}}},
		}
	}
	return b
}
