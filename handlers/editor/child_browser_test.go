package editor_test

import (
	"net/url"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// A selection becomes a published flow, and a node that runs it takes its place in one step: the
// outputs stay the same, undo puts the nodes back, and what cannot be a flow says why.
func TestNewChildInBrowser_replaces_the_selection(t *testing.T) {
	t.Parallel()
	b := chrome.Start(t)
	w := webtest.OpenInspectorOf(t, b, `{"schema": "sluice.flow/v1", "name": "Greet", "nodes": [
		{"id": "who", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "who"}},
		{"id": "polite", "kind": "template", "label": "Polite", "position": {"x": 300, "y": 0}, "config": {"template": "Dear {{who}}"}},
		{"id": "loud", "kind": "template", "label": "Loud", "position": {"x": 560, "y": 0}, "config": {"template": "{{text}}!"}},
		{"id": "twice", "kind": "template", "label": "Twice", "position": {"x": 820, "y": 0}, "config": {"template": "{{text}} {{text}}"}},
		{"id": "hello", "kind": "output", "position": {"x": 1080, "y": 0}, "config": {"name": "hello"}}],
		"edges": [{"from": "who.value", "to": "polite.who"}, {"from": "polite.text", "to": "loud.text"}, {"from": "loud.text", "to": "twice.text"}, {"from": "twice.text", "to": "hello.value"}]}`)
	w.Until(`document.getElementById("shortcuts") !== null`)
	want := func() {
		t.Helper()
		if run := w.RunDraft(w.As(flow.MemberEditor), w.ID, url.Values{"filled": {"1"}, "in.who": {"Ada"}}); string(flow.EncodeJSON(run.Outputs)) != `{"hello":"Dear Ada! Dear Ada!"}` {
			t.Errorf("the run gave %s, %v", flow.EncodeJSON(run.Outputs), run.Error)
		}
	}
	ask := func(nodes string) {
		t.Helper()
		w.Eval(`document.querySelector("flow-canvas").selection.set(` + nodes + `)`)
		w.Eval(`document.querySelector("flow-canvas").keys.focus("polite")`)
		w.Click(`#selection-bar [data-command="menu"]`)
		w.Click(`.float-menu [role=menuitem]:has(use[href$="#workflow"])`)
		w.There("#child-dialog[open] #child-name")
	}
	want()
	ask(`["polite", "twice"]`)
	w.Allow("status of 422")
	w.Click("#child-dialog .primary")
	w.Has("#child-dialog .error", "Loud runs between the selected nodes. Select it too.")
	w.Eval(`document.querySelector("#child-dialog").close()`)

	ask(`["polite", "loud"]`)
	w.Until(`document.querySelector("#child-name").value === "Polite and Loud"`)
	w.Shot("child-dialog")
	w.Type("#child-name", "Polite greeting")
	w.Click("#child-dialog .primary")
	w.Until(`document.querySelector("flow-canvas").draft.edges.map((e) => e.from + ">" + e.to).sort().join(" ") === "subflow.loud>twice.text twice.text>hello.value who.value>subflow.input.who"`)
	w.There(`#node-subflow [data-port="input.who"]`)
	w.There(`#node-subflow [data-port="loud"]`)
	w.Has("#node-subflow [data-title]", "Polite greeting")
	w.Saved()
	w.Has("#toasts", "is a flow of its own now")
	w.Shot("child")
	w.Until(`document.getElementById("problem-count").textContent === ""`)
	want()
	w.Click("#undo")
	w.Until(`document.querySelector("flow-canvas").draft.nodes.size === 5`)
	w.Saved()
	want()
	w.Click("#redo")
	w.Until(`document.querySelector("flow-canvas").draft.nodes.size === 4`)
	w.Saved()
	want()
	w.Click("#node-subflow header")
	w.Click(webtest.Field("flow") + " a.btn")
	w.Has(".crumb-parent", "Greet")
	w.Until(`document.querySelector("flow-canvas[ready]") !== null && document.querySelector("#flow-name").value === "Polite greeting"`)
}
