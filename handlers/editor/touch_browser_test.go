package editor_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// newPhone opens the canvas of a flow on a touch screen 375 pixels wide.
func newPhone(t *testing.T, h *webtest.Env, id string) *hand {
	t.Helper()
	p := newTouch(t, h, id, 375, 812)
	p.tap("[data-command=show-canvas]")
	return p
}

// newTouch opens a flow on a touch screen as an editor.
func newTouch(t *testing.T, h *webtest.Env, id string, width, height int64) *hand {
	t.Helper()
	return newTouchAs(t, h, flow.MemberEditor, id, width, height)
}

func newTouchAs(t *testing.T, h *webtest.Env, role flow.MemberRole, id string, width, height int64) *hand {
	t.Helper()
	tab := h.As(role).Tab(webtest.Chromium(t), width, height)
	tab.Do(chromedp.EmulateViewport(width, height, chromedp.EmulateMobile, chromedp.EmulateTouch))
	return &hand{tab.Builder("/flows/" + id), id}
}

// tap puts a finger on an element and lifts it.
func (p *hand) tap(selector string) { p.T.Helper(); at := p.Middle(selector); p.tapAt(at) }

func (p *hand) tapAt(at webtest.Point) {
	p.T.Helper()
	p.touch([]webtest.Point{at}, nil)
}

// swipe moves a finger from one element to another place.
func (p *hand) swipe(from, to webtest.Point) {
	p.T.Helper()
	p.touch([]webtest.Point{from}, []webtest.Point{to})
}

// look shows nodes.
func (p *hand) look(ids string) {
	p.T.Helper()
	p.do(`canvas.view.fit(` + ids + `, 0)`)
	p.steady()
}

// onEdge returns the middle of an edge.
func (p *hand) onEdge(edge string) webtest.Point {
	p.T.Helper()
	return webtest.Value[webtest.Point](p.Tab, fmt.Sprintf(`(() => { const l = canvas.edges.path(%q), q = l.getPointAtLength(l.getTotalLength() / 2), z = new DOMPoint(q.x, q.y).matrixTransform(l.getScreenCTM()); return { X: z.x, Y: z.y }; })()`, edge))
}

// TestTouch_draws_on_a_phone inserts, connects, moves and sets up nodes with a finger.
func TestTouch_draws_on_a_phone(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	child := h.Flow(mapChild)
	h.Publish(child)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, `{"schema": "sluice.flow/v1", "name": "Fingers", "nodes": [
		{"id": "word", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "word"}},
		{"id": "mood", "kind": "sentiment", "position": {"x": 300, "y": 0}, "config": {}},
		{"id": "answer", "kind": "output", "position": {"x": 600, "y": 0}, "config": {"name": "answer"}},
		{"id": "reviews", "kind": "input", "position": {"x": 0, "y": 300}, "config": {"name": "reviews", "type": "list"}},
		{"id": "each", "kind": "map", "position": {"x": 300, "y": 300}, "config": {"flow": "`+child+`", "over": ["brand"], "contract": {"inputs": [{"name": "brand", "type": "text"}, {"name": "text", "type": "text", "required": true}], "outputs": [{"name": "topic", "type": "any"}]}}},
		{"id": "check", "kind": "condition", "position": {"x": 600, "y": 300}, "config": {"expression": "value.label == \"negative\""}}
	], "edges": [{"from": "word.value", "to": "mood.text"}, {"from": "mood.label", "to": "answer.value"}]}`)
	p := newPhone(t, h, id)

	// An edge is selected, takes a node, and the nodes behind it make room.
	p.look(`["mood", "answer"]`)
	p.tapAt(p.onEdge("mood.label>answer.value"))
	p.Until(`document.querySelector(".canvas-edge-plus")`)
	p.tap(".canvas-edge-plus")
	p.Until(`document.getElementById("chooser")?.open`)
	p.Want(`[...document.querySelectorAll("#chooser [role=option]")].some((o) => o.textContent.includes("Webhook"))`, `false`) // its only input is where to send
	p.tap("#chooser [role=option]")
	p.Until(`canvas.draft.nodes.size === 7 && canvas.draft.edges.length === 3 && canvas.draft.position("answer").x > 700`)
	p.Saved()
	p.Want(crowded, `""`)
	p.tap("#undo")
	p.Until(`canvas.draft.nodes.size === 6`)
	p.Saved()

	// A port that has a value asks, with buttons for fingers.
	p.look(`["mood", "answer"]`)
	p.tap(`#node-mood [data-side=out]:not([data-port=label])`)
	p.tap(`#node-answer [data-port=value]`)
	p.Until(`document.querySelector(".canvas-choice button:last-child")?.getBoundingClientRect().height >= 40`)
	p.tap(".canvas-choice button:last-child")
	p.Until(`canvas.draft.edgesInto("answer.value").map((e) => e.from.split(".")[0]).join() === "mood,mood"`)

	// A wire on nothing offers what fits; an end of an edge is moved to another port.
	p.look(`["word", "mood"]`)
	p.swipe(p.Middle(`#node-mood [data-port=label]`), webtest.Point{X: 200, Y: 640})
	p.Until(`document.getElementById("chooser")?.open`)
	p.Press("Escape")
	p.Until(`!document.getElementById("chooser").open`)
	p.look(`["mood", "answer"]`)
	p.tapAt(p.onEdge("mood.label>answer.value"))
	p.Until(`document.querySelectorAll(".canvas-edge-grip").length === 2`)
	at := webtest.Value[webtest.Point](p.Tab, `(() => { const r = document.querySelectorAll(".canvas-edge-grip")[1].getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }; })()`)
	p.swipe(at, webtest.Point{X: at.X, Y: at.Y + 160})
	p.Until(`canvas.draft.edgesInto("answer.value").length === 1`)

	// A list on a map loops over an input.
	p.look(`["reviews", "each"]`)
	p.swipe(p.Middle(`#node-reviews [data-port=value]`), p.Middle(`#node-each [data-port="input.text"]`))
	p.Until(`canvas.draft.hasEdge({ from: "reviews.value", to: "each.input.text" }) && String(canvas.draft.nodes.get("each").config.over) === "text"`)

	// A node is moved, and has a menu.
	at = p.Middle("#node-reviews header")
	p.swipe(at, webtest.Point{X: at.X, Y: at.Y - 60})
	p.Until(`canvas.draft.position("reviews").y < 290`)
	p.hold(p.Middle("#node-reviews header"), ".float-menu:popover-open")
}

// hold rests a finger until an element is there.
func (p *hand) hold(at webtest.Point, until string) {
	p.T.Helper()
	p.fingers(input.DispatchTouchEventTypeTouchStart, at)
	p.Until(fmt.Sprintf(`document.querySelector(%q)`, until))
	p.fingers(input.DispatchTouchEventTypeTouchEnd)
}

// TestTouch_answers_on_a_phone runs a flow that asks, and answers it in place.
func TestTouch_answers_on_a_phone(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := newPhone(t, h, h.Flow(asking))
	p.tap("#run-button")
	p.Until(`document.querySelector(".run-bar")?.dataset.state === "waiting" && document.querySelector("#flow-result .approval-card.open")`)
	p.Until(`document.querySelector(".builder").hasAttribute("data-sheet")`)
	p.tap("#flow-result .approval-card textarea")
	p.Until(`document.activeElement.matches(".approval-card textarea")`)
	p.Press("Ctrl+A")
	p.Write("Hello Sam")
	p.Want(`document.querySelector(".approval-card [value=approved]").getBoundingClientRect().height >= 44`, `true`)
	p.tap(".approval-card [value=approved]")
	p.Until(`document.querySelector(".run-bar")?.dataset.state === "succeeded"`)
	p.Until(`document.querySelector("#flow-result .result-output")?.textContent.includes("Hello Sam")`)
	p.Want(`document.documentElement.scrollWidth`, `375`)
}

// TestTouch_undoes_with_repeated_taps: the buttons of the header keep their places while others come and go, so that a finger that taps one place undoes
// again and again.
func TestTouch_undoes_with_repeated_taps(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := newPhone(t, h, h.Flow(webtest.SampleFlow))
	count := `canvas.draft.nodes.size`
	n := int(p.number(count))
	for i := range 3 {
		p.tap(".zoom .add-node")
		p.Until(`document.getElementById("chooser")?.open`)
		p.tap("#chooser [role=option]")
		p.Until(fmt.Sprintf(`%s === %d && !document.getElementById("chooser")?.open`, count, n+1+i))
	}
	first := p.Middle("#undo")
	p.Saved()
	p.Until(`document.querySelector("#publish-button :enabled, #publish-button a")?.checkVisibility()`)
	for i := range 3 {
		if now := p.Middle("#undo"); now != first {
			t.Errorf("Undo is at %v, and was at %v", now, first)
		}
		p.tapAt(first)
		p.Until(fmt.Sprintf(`%s === %d`, count, n+2-i))
	}
	p.Until(`document.querySelector("#undo").disabled`)
	p.tap("#redo")
	p.Until(fmt.Sprintf(`%s === %d`, count, n+1))
}
