package webtest

import (
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
)

// inspectorFlow has a node for each form of the inspector: inputs, a list of labels, a model
// with a prompt, a hosted model with its own inputs, headers, and an output.
const inspectorFlow = `{"schema": "sluice.flow/v1", "name": "Route a support ticket", "nodes": [
	{"id": "ticket", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "ticket", "example": "It is broken."}},
	{"id": "tone", "kind": "input", "position": {"x": 0, "y": 220}, "config": {"name": "tone", "default": "friendly"}},
	{"id": "team", "kind": "classify", "label": "Which team", "position": {"x": 300, "y": 0}, "config": {"labels": ["billing", "delivery"]}},
	{"id": "write", "kind": "chat", "label": "Write a reply", "position": {"x": 600, "y": 60}, "config": {"model": "openai/gpt-5-nano", "prompt": "Answer {{ticket}}"}},
	{"id": "draw", "kind": "hosted_model", "position": {"x": 300, "y": 300}, "config": {"model": "acme/old", "input.steps": 3}},
	{"id": "call", "kind": "http_request", "position": {"x": 600, "y": 400}, "config": {"url": "https://example.com/{{ticket}}", "headers": {"Accept": "*/*"}}},
	{"id": "reply", "kind": "output", "position": {"x": 900, "y": 60}, "config": {"name": "reply"}}],
	"edges": [{"from": "ticket.value", "to": "team.text"}, {"from": "ticket.value", "to": "write.ticket"}, {"from": "write.text", "to": "reply.value"}, {"from": "ticket.value", "to": "call.ticket"}]}`

// Inspector is the builder in a browser, with the server behind it. ID is the flow.
type Inspector struct {
	*Env
	*chrome.Tab
	ID string
	T  *testing.T
}

// OpenInspector starts a server, signs an editor in and opens inspectorFlow. It returns when the
// canvas is ready and the inspector shows the flow.
func OpenInspector(t *testing.T, b *chrome.Browser) *Inspector {
	t.Helper()
	w := OpenInspectorOf(t, b, inspectorFlow)
	w.Has("#inspector h2", "Route a support ticket")
	return w
}

// OpenInspectorOf is OpenInspector for another document.
func OpenInspectorOf(t *testing.T, b *chrome.Browser, document string) *Inspector {
	t.Helper()
	h := Setup(t)
	w := &Inspector{T: t, Env: h, ID: h.Flow(document)}
	w.Tab = h.Open(b, flow.MemberEditor, "/flows/"+w.ID)
	w.Until(`document.querySelector("flow-canvas[ready]") !== null`)
	return w
}

// Pick chooses an option of a select, as a person does with the keyboard or the mouse.
func (w *Inspector) Pick(selector, value string) {
	w.T.Helper()
	w.There(selector)
	w.Eval(`(() => { const s = document.querySelector(` + string(flow.EncodeJSON(selector)) + `); s.focus(); s.value = ` + string(flow.EncodeJSON(value)) + `; s.dispatchEvent(new Event("input", { bubbles: true })); s.dispatchEvent(new Event("change", { bubbles: true })); })()`)
}

// Choose selects a node, waits for it in the inspector, and opens its optional settings.
func (w *Inspector) Choose(node string) {
	w.T.Helper()
	w.Eval(`document.querySelector("flow-canvas").selection.set(["` + node + `"])`)
	w.There(`#inspector .ins[data-node="` + node + `"]`)
	w.Eval(`(() => { const fold = document.querySelector("#inspector [data-fold=more]"); if (fold && !fold.open) fold.querySelector("summary").click(); })()`)
}

// Saved waits until the server has confirmed every edit of the canvas.
func (w *Inspector) Saved() {
	w.T.Helper()
	w.Until(`document.querySelector("flow-canvas").sync.waiting === 0`)
}

// UntilConfig waits until a field of a node has a value, in the page and on the server.
func (w *Inspector) UntilConfig(node, field, want string) {
	w.T.Helper()
	w.Until(`JSON.stringify(document.querySelector("flow-canvas").draft.nodes.get("` + node + `").config["` + field + `"] ?? null) === ` + string(flow.EncodeJSON(want)))
	w.Saved()
	if got := w.Config(w.ID, node, field); got != want {
		w.T.Errorf("%s of %s is %s on the server, want %s", field, node, got, want)
	}
}

// Field returns the CSS selector of the inspector's control for a field of a node.
func Field(name string) string { return `#inspector [data-set="` + name + `"]` }
