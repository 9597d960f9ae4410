package editor_test

import (
	"testing"

	"sluice/e2e/chrome"
	"sluice/handlers/webtest"
)

// mapChild is a flow with a required text and an optional brand.
const mapChild = `{"schema": "sluice.flow/v1", "name": "Sort reviews", "nodes": [
	{"id": "brand", "kind": "input", "config": {"name": "brand", "default": "Northwind"}},
	{"id": "text", "kind": "input", "config": {"name": "text"}},
	{"id": "join", "kind": "template", "config": {"template": "{{brand}}: {{text}}"}},
	{"id": "topic", "kind": "output", "config": {"name": "topic"}}],
	"edges": [{"from": "brand.value", "to": "join.brand"}, {"from": "text.value", "to": "join.text"}, {"from": "join.text", "to": "topic.value"}]}`

// mapParent has a list.
const mapParent = `{"schema": "sluice.flow/v1", "name": "Watch reviews", "nodes": [
	{"id": "reviews", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "reviews", "type": "list"}}], "edges": []}`

func TestMapInBrowser_loops_over_a_dropped_list(t *testing.T) {
	t.Parallel()
	b := chrome.Start(t)
	w := webtest.OpenInspectorOf(t, b, mapParent)
	child := w.Flow(mapChild)
	w.Publish(child)
	w.Eval(`document.querySelector("flow-canvas").commit("Add", [{ op: "add", node: { id: "each", kind: "map", position: { x: 360, y: 0 }, config: {} } }])`)
	w.Saved()
	w.Choose("each")
	w.Pick("#set-flow", child)
	w.UntilConfig("each", "over", `["text"]`)
	w.Until(`document.querySelector("#set-over-1").checked && !document.querySelector("#set-over-0").checked`)
	w.Has("#node-each .node-more", "+")
	for _, hidden := range []string{"file", "errors", "succeeded", "failed"} {
		w.Until(`!document.querySelector("#node-each [data-port=` + hidden + `]")`)
	}
	w.There(`#node-each [data-port=topic]`)
	w.There(`#node-each [data-port=results]`)
	w.Shot("map")
	w.Theme("dark")
	w.Shot("map-dark")

	// A list dropped on an input that takes one item loops over it.
	w.Eval(`document.querySelector("flow-canvas").commit("Clear", [{ op: "set", node: "each", field: "over", value: ["brand"] }])`)
	w.Saved()
	w.There(`#node-each [data-port="input.text"][data-type=text]`)
	w.Drag(w.Middle(`#node-reviews [data-port=value]`), w.Middle(`#node-each [data-port="input.text"]`))
	w.Until(`document.querySelector("flow-canvas").draft.hasEdge({ from: "reviews.value", to: "each.input.text" })`)
	w.UntilConfig("each", "over", `["text"]`)
	w.There(`#node-each [data-port="input.text"][data-type=list]`)
	w.Eval(`document.querySelector("flow-canvas").history.undo()`)
	w.UntilConfig("each", "over", `["brand"]`)
	w.Until(`!document.querySelector("flow-canvas").draft.hasEdge({ from: "reviews.value", to: "each.input.text" })`)

	w.Choose("each")
	w.Click(webtest.Field("flow") + " a.btn")
	w.Has(".crumb-parent", "Watch reviews")
	w.Until(`document.querySelector("flow-canvas[ready]") !== null && document.querySelector("#flow-name").value === "Sort reviews"`)
	w.Click(".crumb-parent")
	w.Until(`document.querySelector("#flow-name")?.value === "Watch reviews"`)
	if w.Draft(child).Node("join") == nil {
		t.Error("the child flow was changed")
	}
}
