package editor_test

import (
	"fmt"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// helpersFlow is an agent beside nodes that may become its tools.
const helpersFlow = `{"schema":"sluice.flow/v1","name":"Help","nodes":[
	{"id":"question","kind":"input","position":{"x":0,"y":0},"config":{"name":"question"}},
	{"id":"agent","kind":"agent","position":{"x":440,"y":0},"config":{"model":"fake/m","prompt":"{{question}}"}},
	{"id":"look","kind":"expression","position":{"x":0,"y":340},"tool":{"description":"Looks."},"config":{"expression":"1"}},
	{"id":"note","kind":"expression","position":{"x":220,"y":340},"tool":{"description":"Notes."},"config":{"expression":"2"}},
	{"id":"answer","kind":"output","position":{"x":800,"y":0},"config":{"name":"answer"}}],
	"edges":[{"from":"question.value","to":"agent.question"},{"from":"agent.text","to":"answer.value"}]}`

// toolsAre waits until the agent has tools, in this order.
func toolsAre(p *webtest.Tab, want string) {
	p.T.Helper()
	p.Until(`canvas.draft.edges.filter((e) => e.to === "agent.tools").map((e) => e.from).join(" ") === ` + fmt.Sprintf("%q", want))
}

// toolsOverlap is a JavaScript expression: the nodes that lie on each other, or "".
const toolsOverlap = `(() => {
	const boxes = [...canvas.scene.boxes.keys()].map((id) => ({ id, ...canvas.scene.box(id) }));
	return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height).map((b) => a.id + " " + b.id)).join(", ");
})()`

// TestTools_are_connected_by_mouse_and_keyboard: a port is dragged onto the agent, in both directions, and connected without a
// mouse. One undo takes one away.
func TestTools_are_connected_by_mouse_and_keyboard(t *testing.T) {
	t.Parallel()
	p := newHand(t, helpersFlow)
	p.steady()
	port := func(node, name, side string) webtest.Point {
		return p.Middle(fmt.Sprintf(`#node-%s [data-port=%q][data-side=%q]`, node, name, side))
	}
	p.do(`canvas.selection.set(["look"])`)
	p.Drag(port("look", "tool", "out"), port("agent", "tools", "in"))
	toolsAre(p.Tab, "look.tool")
	p.Saved()
	p.Until(`document.querySelector('[data-edge="look.tool>agent.tools"]').hasAttribute("data-tool")`) // dashed
	p.do(`canvas.keys.focus("note")`)
	p.Press("Enter")
	p.Until(`document.activeElement.closest("#node-note [data-port]")`)
	for _, end := range []string{`#node-note [data-port="tool"][data-side="out"]`, `#node-agent [data-port="tools"][data-side="in"]`} {
		at := fmt.Sprintf(`document.activeElement === document.querySelector('%s')`, end)
		for range 20 { // ports of the node, then those that fit
			if webtest.Value[bool](p.Tab, at) {
				break
			}
			p.Press("Down")
		}
		p.Until(at)
		p.Press("Enter")
	}
	toolsAre(p.Tab, "look.tool note.tool")
	p.Saved()
	p.Press("Ctrl+Z")
	toolsAre(p.Tab, "look.tool")
	p.Saved()
	p.Want(toolsOverlap, `""`)
	// The agent says what it may call, and when people are asked.
	p.do(`canvas.selection.set(["agent"])`)
	p.Until(`document.querySelector("#inspector .ins-tool")?.innerText.replace(/\s+/g, " ").trim() === "look look Read Never ask"`)
	// Its edge goes straight up: from the top of the tool to the bottom of the agent.
	p.Want(`(() => { const [a, b] = ["look", "agent"].map((id) => canvas.scene.box(id)), p = canvas.edges.path("look.tool>agent.tools"), s = p.getPointAtLength(0), t = p.getPointAtLength(p.getTotalLength()), near = (x, y) => Math.abs(x - y) < 8; return near(s.x, a.x + a.width / 2) && near(s.y, a.y) && near(t.x, b.x + b.width / 2) && near(t.y, b.y + b.height); })()`, `true`)
}

// TestTools_are_added_below_their_agent: nodes that are added from the port Tools lie below the agent and on no other node, also
// at the same place, and so does what Tidy makes of them.
func TestTools_are_added_below_their_agent(t *testing.T) {
	t.Parallel()
	p := newHand(t, helpersFlow)
	p.steady()
	for i, x := range []float64{640, 760, 1000} { // each new node would lie on the one before
		p.Drag(p.Middle(`#node-agent [data-port="tools"][data-side="in"]`), webtest.Point{X: x, Y: 640})
		p.Until(`document.getElementById("chooser")?.open`)
		p.Write("expression")
		p.Press("Enter")
		p.Until(fmt.Sprintf(`canvas.draft.edges.filter((e) => e.to === "agent.tools").length === %d && !document.getElementById("chooser")?.open`, i+1))
		p.Saved()
		p.steady()
	}
	below := `canvas.draft.edges.filter((e) => e.to === "agent.tools").every((e) => canvas.scene.box(e.from.split(".")[0]).y >= canvas.scene.box("agent").y + canvas.scene.box("agent").height)`
	p.Want(toolsOverlap, `""`)
	p.Want(below, `true`)
	p.do(`canvas.tidy().then(() => { window.tidied = true; })`)
	p.Until(`window.tidied`)
	p.Saved()
	p.Want(toolsOverlap, `""`)
	p.Want(below, `true`)
}

// TestTools_are_connected_on_a_phone by the outline.
func TestTools_are_connected_on_a_phone(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, helpersFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 375, 812).Builder("/flows/" + id)
	p.Click(`[data-line="look"]`)
	p.Until(`document.getElementById("connect-to-look.tool")`)
	webtest.Value[bool](p, `(() => { const s = document.getElementById("connect-to-look.tool"); s.value = "agent.tools"; s.form.requestSubmit(); return s.value === "agent.tools"; })()`)
	toolsAre(p, "look.tool")
	p.Saved()
	p.Want(`document.documentElement.scrollWidth`, `375`)
}
