package editor_test

import (
	"fmt"
	"testing"

	"sluice/handlers/webtest"
)

// newTouchEdges opens, on a phone, a flow with nodes to connect and no edges.
func newTouchEdges(t *testing.T) *hand {
	t.Helper()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, `{"schema": "sluice.flow/v1", "name": "Fingers", "nodes": [
		{"id": "word", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "word"}},
		{"id": "photo", "kind": "input", "position": {"x": 0, "y": 260}, "config": {"name": "photo", "type": "file"}},
		{"id": "short", "kind": "summarize", "position": {"x": 300, "y": 0}, "config": {}},
		{"id": "mood", "kind": "sentiment", "position": {"x": 300, "y": 260}, "config": {}},
		{"id": "answer", "kind": "output", "position": {"x": 600, "y": 0}, "config": {"name": "answer"}}], "edges": []}`)
	return newPhone(t, h, id)
}

// port returns the middle of a port.
func (p *hand) port(node, name, side string) webtest.Point {
	p.T.Helper()
	return p.Middle(fmt.Sprintf(`#node-%s [data-port=%q][data-side=%q]`, node, name, side))
}

// edges waits until the flow has these edges and no connection is being made.
func (p *hand) edges(want string) {
	p.T.Helper()
	p.Until(fmt.Sprintf(`canvas.draft.edges.map((e) => e.from + ">" + e.to).sort().join(" ") === %q && !canvas.pane.hasAttribute("data-connecting")`, want))
}

// TestTouch_connects draws edges with a finger: by taps on two ports, by a drag, and from either end.
func TestTouch_connects(t *testing.T) {
	t.Parallel()
	p := newTouchEdges(t)
	const first, second = "word.value>short.text", "short.summary>answer.value"
	const glows = `[...document.querySelectorAll("[data-fit=yes]")].map((e) => e.dataset.nodeid + "." + e.dataset.port).sort().join(" ")`

	// Two taps. After the first, the ports that fit glow, and a hint without keys says what to do.
	p.look(`["word", "short"]`)
	p.tapAt(p.port("word", "value", "out"))
	p.Until(glows + ` === "answer.value mood.text short.text" && document.querySelector(".canvas-hint")?.textContent.includes("Tap a port")`)
	p.Want(`/Enter|Esc|rrow/.test(document.querySelector(".canvas-hint").textContent)`, `false`)
	p.onScreen(".canvas-hint")
	p.tapAt(p.port("short", "text", "in"))
	p.edges(first)
	p.Want(`document.querySelector(".canvas-hint")`, `null`)

	// A drag.
	p.look(`["short", "answer"]`)
	p.swipe(p.port("short", "summary", "out"), p.port("answer", "value", "in"))
	p.edges(second + " " + first)
	p.tap("#undo")
	p.edges(first)
	p.tap("#undo")
	p.edges("")

	// The same from the input, and onto the node instead of its port.
	p.tapAt(p.port("answer", "value", "in"))
	p.Until(`canvas.pane.dataset.connecting === "in"`)
	p.tapAt(p.port("short", "summary", "out"))
	p.edges(second)
	p.look(`["word", "short"]`)
	p.swipe(p.port("short", "text", "in"), p.port("word", "value", "out"))
	p.edges(second + " " + first)
	p.tap("#undo")
	p.edges(second)
	p.tapAt(p.port("word", "value", "out"))
	p.Until(`canvas.pane.dataset.connecting === "out"`)
	p.tapAt(p.head("short"))
	p.edges(second + " " + first)

	// A tap on empty canvas chooses nothing.
	p.tapAt(p.port("word", "value", "out"))
	p.Until(`canvas.pane.dataset.connecting === "out"`)
	p.tapAt(p.free())
	p.edges(second + " " + first)
	p.Saved()
}

// TestTouch_explains_refusals: under a finger a port is green where the edge fits; where it does not, the port is red and the reason stands
// above the finger. Loops, wrong types and a second edge into a port are refused by drags and by taps.
func TestTouch_explains_refusals(t *testing.T) {
	t.Parallel()
	p := newTouchEdges(t)
	const both = "short.summary>answer.value word.value>short.text"

	p.look(`["word", "short"]`)
	from, to := p.port("word", "value", "out"), p.port("short", "text", "in")
	p.carry([]webtest.Point{from}, []webtest.Point{{X: to.X - 9, Y: to.Y + 9}}) // snaps
	p.Until(`document.querySelector('#node-short [data-port="text"]').dataset.verdict === "valid" && document.querySelector(".canvas-connecting").dataset.valid === "true"`)
	p.Until(`((s) => s.backgroundColor === s.color && s.borderTopStyle === "solid")(getComputedStyle(document.querySelector('#node-short [data-port="text"]')))`) // filled
	p.Want(`document.querySelector(".canvas-reason")`, `null`)
	p.lift()
	p.edges("word.value>short.text")
	p.Want(`document.querySelector("[data-verdict]")`, `null`)

	// refused carries a finger from one port to another that does not fit, and then taps both.
	refused := func(from, to [3]string, reason, edges string) {
		t.Helper()
		p.look(fmt.Sprintf(`[%q, %q]`, from[0], to[0]))
		a, b := p.port(from[0], from[1], from[2]), p.port(to[0], to[1], to[2])
		p.carry([]webtest.Point{a}, []webtest.Point{b})
		p.Until(fmt.Sprintf(`document.querySelector('#node-%s [data-port=%q][data-side=%q]').dataset.verdict === "invalid" && document.querySelector(".canvas-reason")?.textContent.includes(%q)`, to[0], to[1], to[2], reason))
		p.onScreen(".canvas-reason")
		p.Want(fmt.Sprintf(`(({ bottom, top }) => bottom <= %v - 20 || top >= %v + 20)(document.querySelector(".canvas-reason").getBoundingClientRect())`, b.Y, b.Y), `true`) // not under the finger
		p.lift()
		p.edges(edges)
		p.Until(fmt.Sprintf(`document.getElementById("toasts").textContent.includes(%q)`, reason))
		p.onScreen(".toast")
		p.do(`document.getElementById("toasts").replaceChildren()`)
		p.tapAt(a)
		p.Until(`canvas.pane.hasAttribute("data-connecting")`)
		p.tapAt(b)
		p.edges(edges)
		p.Until(fmt.Sprintf(`document.getElementById("toasts").textContent.includes(%q)`, reason))
		p.do(`document.getElementById("toasts").replaceChildren()`)
	}
	refused([3]string{"photo", "value", "out"}, [3]string{"mood", "text", "in"}, "Type mismatch", "word.value>short.text")
	p.look(`["short", "answer"]`)
	p.swipe(p.port("short", "summary", "out"), p.port("answer", "value", "in"))
	p.edges(both)
	refused([3]string{"word", "value", "out"}, [3]string{"short", "text", "in"}, "already connected", both)
	p.do(`canvas.commit("Connect", [{ op: "disconnect", edge: { from: "word.value", to: "short.text" } }, { op: "connect", edge: { from: "word.value", to: "mood.text" } }, { op: "connect", edge: { from: "mood.label", to: "short.text" } }])`)
	refused([3]string{"short", "summary", "out"}, [3]string{"mood", "text", "in"}, "loop", "mood.label>short.text short.summary>answer.value word.value>mood.text")
	p.Saved()
}

// TestTouch_follows_edges: a tap on a node lights its edges, a tap on an edge marks its ends, and links in the settings lead along the edges.
func TestTouch_follows_edges(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := newPhone(t, h, h.Flow(greeting))
	lit := func(want string) {
		t.Helper()
		p.Until(fmt.Sprintf(`[...document.querySelectorAll("[data-edge][data-lit]")].map((e) => e.dataset.edge).sort().join(" ") === %q`, want))
	}
	p.look(`["who", "hello"]`)
	p.tapAt(p.head("who"))
	lit("who.value>hello.name")
	p.tapAt(p.head("hello"))
	lit("hello.text>out.value who.value>hello.name")
	p.tapAt(p.free())
	lit("")
	p.tapAt(p.onEdge("who.value>hello.name"))
	p.Until(`document.querySelectorAll("[data-port][data-pointed]").length === 2 && canvas.selection.edges.has("who.value>hello.name")`)

	p.twoTaps(p.head("hello"))
	p.Until(`document.querySelector(".builder").hasAttribute("data-sheet")`)
	p.tap("#inspector [data-node=hello] [data-jump=who]")
	p.Until(`canvas.selection.nodes.has("who")`)
	lit("who.value>hello.name")
}

// onScreen fails the test unless all elements of a selector are visible and within the window.
func (p *hand) onScreen(selector string) {
	p.T.Helper()
	p.Middle(selector) // has stopped moving
	p.Want(fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect()).map((r) => [r.left, r.top, innerWidth - r.right, innerHeight - r.bottom].every((n) => n >= 0) ? "" : [r.left, r.top, r.right, r.bottom].map(Math.round).join(" "))`, selector), `[""]`)
}
