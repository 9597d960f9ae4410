package editor_test

import (
	"net/url"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestTouch_runs runs a flow with a finger, and looks at its result and at the values of a node.
func TestTouch_runs(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(greeting)
	h.RunDraft(b, id, url.Values{"filled": {"1"}, "in.who": {"Ada"}})
	p := newPhone(t, h, id)
	p.tap("#run-button")
	p.Until(`document.getElementById("run-dialog").open`)
	p.tap("#run-dialog footer .primary, #run-dialog .primary")
	p.Until(`document.querySelector(".run-bar")?.dataset.state === "succeeded" && document.querySelector("#node-hello").dataset.state === "succeeded"`)
	p.Until(`document.querySelector(".builder").hasAttribute("data-sheet") && document.querySelector("#flow-result .result-output")?.textContent.includes("Hello")`)
	p.tap(".pane-close")
	p.Until(`!document.querySelector(".builder").hasAttribute("data-sheet")`)
	p.Until(`document.querySelector('[data-edge="hello.text>out.value"]').dataset.state === "carried"`)

	// Data of a node.
	p.look(`["who", "hello"]`)
	p.tapAt(p.head("hello"))
	p.Until(`canvas.selection.nodes.has("hello")`)
	p.tap("#tab-data")
	p.Until(`document.querySelector("#node-data").textContent.includes("Hello")`)
}
