package pages

import (
	"net/http"
	"testing"

	"sluice/flow"
)

// sampleFlow has an input, a node with a template, a branch and an output.
const sampleFlow = `{"schema": "sluice.flow/v1", "name": "Answer a ticket", "nodes": [
	{"id": "ticket", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "ticket", "type": "text"}},
	{"id": "team", "kind": "classify", "label": "Which team", "position": {"x": 300, "y": 0}, "config": {"labels": ["billing", "shipping"]}},
	{"id": "reply", "kind": "template", "position": {"x": 600, "y": 0}, "config": {"template": "Hello, {{team}}."}},
	{"id": "answer", "kind": "output", "position": {"x": 900, "y": 0}, "config": {"name": "answer"}}
], "edges": [
	{"from": "ticket.value", "to": "team.text"}, {"from": "team.label", "to": "reply.team"}, {"from": "reply.text", "to": "answer.value"}
]}`

func TestBuilder(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(sampleFlow)
	t.Run("shows the flow to an editor", func(t *testing.T) {
		page := h.as(flow.MemberEditor).get("/flows/" + id).is(http.StatusOK)
		page.has(`<flow-canvas id="canvas" flow="`+id+`" rev="`, `id="node-team"`, "Which team", `id="palette"`, `data-kind="chat"`, `id="problems"`, `id="outline"`, "Nothing keeps this flow from running")
	})
	t.Run("shows a viewer everything and nothing to change it with", func(t *testing.T) {
		page := h.as(flow.MemberViewer).get("/flows/" + id).is(http.StatusOK)
		page.has("data-readonly", `id="node-team"`, "Read only").lacks(`id="palette"`, "/edit\"", `data-command="tidy"`, `data-command="undo"`)
	})
	t.Run("is not there for another workspace", func(t *testing.T) {
		b := h.as(flow.MemberEditor)
		other, unknown := b.get("/flows/"+h.flowElsewhere()), b.get("/flows/flow_01JD6V0Q8ZW3YH1M4F6B8C2D5E")
		other.is(http.StatusNotFound)
		unknown.is(http.StatusNotFound)
		if other.body != unknown.body {
			t.Error("somebody else's flow and one that never was look different")
		}
	})
}
