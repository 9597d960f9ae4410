package editor_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// Modifier keys of the DevTools protocol.
const (
	altKey   = 1
	ctrlKey  = 2
	shiftKey = 8
)

// hand uses the mouse, wheel and fingers on an open flow.
type hand struct {
	*webtest.Tab
	id string
}

// newHand opens a flow in the builder.
func newHand(t *testing.T, document string) *hand {
	t.Helper()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	if document != "" {
		setDraft(h, id, document)
	}
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	return &hand{p, id}
}

// event sends one mouse event.
func (p *hand) event(kind input.DispatchMouseEventType, at webtest.Point, button input.MouseButton, keys int64) {
	p.T.Helper()
	e := input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y, Button: button, ClickCount: 1, Modifiers: keys}
	if kind == input.DispatchMouseEventTypeMouseMoved && button == input.MouseButtonNone {
		e.ClickCount = 0
	} else if kind == input.DispatchMouseEventTypeMouseMoved {
		e.Buttons = map[input.MouseButton]int64{input.MouseButtonLeft: 1, input.MouseButtonMiddle: 4}[button]
	}
	webtest.Send(p.Tab, input.DispatchMouseEvent, e)
}

// drag moves the mouse with a button and keys held down.
func (p *hand) drag(button input.MouseButton, keys int64, from, to webtest.Point) {
	p.T.Helper()
	p.event(input.DispatchMouseEventTypeMousePressed, from, button, keys)
	for i := 1.0; i <= 8; i++ {
		p.event(input.DispatchMouseEventTypeMouseMoved, webtest.Point{X: from.X + (to.X-from.X)*i/8, Y: from.Y + (to.Y-from.Y)*i/8}, button, keys)
	}
	p.event(input.DispatchMouseEventTypeMouseReleased, to, button, keys)
}

// click clicks with keys held down.
func (p *hand) click(keys int64, at webtest.Point) {
	p.T.Helper()
	p.event(input.DispatchMouseEventTypeMousePressed, at, input.MouseButtonLeft, keys)
	p.event(input.DispatchMouseEventTypeMouseReleased, at, input.MouseButtonLeft, keys)
}

// wheel turns the wheel.
func (p *hand) wheel(at webtest.Point, keys int64, dx, dy float64) {
	p.T.Helper()
	webtest.Send(p.Tab, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: at.X, Y: at.Y, DeltaX: dx, DeltaY: dy, Modifiers: keys})
}

// touch puts fingers down, moves them to other places and lifts them; without other places they rest.
func (p *hand) touch(from, to []webtest.Point) {
	p.T.Helper()
	p.carry(from, to)
	p.lift()
}

// carry is touch without lifting the fingers.
func (p *hand) carry(from, to []webtest.Point) {
	p.T.Helper()
	p.fingers(input.DispatchTouchEventTypeTouchStart, from...)
	for i := 1.0; i <= 8 && len(to) > 0; i++ {
		var at []webtest.Point
		for n := range from {
			at = append(at, webtest.Point{X: from[n].X + (to[n].X-from[n].X)*i/8, Y: from[n].Y + (to[n].Y-from[n].Y)*i/8})
		}
		p.fingers(input.DispatchTouchEventTypeTouchMove, at...)
	}
	if len(to) > 0 {
		// A finger rests before it is lifted. Otherwise the browser takes the move for a fling, and the next tap only stops that.
		p.do(`window.rested = performance.now() + 150`)
		p.Until(`performance.now() > window.rested`)
	}
}

// lift ends a touch that carry began.
func (p *hand) lift() { p.T.Helper(); p.fingers(input.DispatchTouchEventTypeTouchEnd) }

// fingers sends one touch event.
func (p *hand) fingers(kind input.DispatchTouchEventType, at ...webtest.Point) {
	p.T.Helper()
	points := []*input.TouchPoint{}
	for i := range at {
		id := float64(i)
		points = append(points, &input.TouchPoint{X: at[i].X, Y: at[i].Y, ID: &id})
	}
	webtest.Send(p.Tab, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points})
}

// number evaluates an expression.
func (p *hand) number(js string) float64 { p.T.Helper(); return webtest.Value[float64](p.Tab, js) }

// do executes a statement in the page.
func (p *hand) do(js string) { p.T.Helper(); webtest.Value[bool](p.Tab, `(`+js+`, true)`) }

// steady waits until the view has stopped moving.
func (p *hand) steady() {
	p.T.Helper()
	p.Until(`(() => { const now = canvas.view.transform.join(); window.rest = now === window.last ? (window.rest ?? 0) + 1 : 0; window.last = now; return window.rest > 8; })()`)
}

// empty returns an empty spot on the canvas.
var empty = webtest.Point{X: 500, Y: 700}

// TestInteractions_view pans and zooms in every way, and remembers the view.
func TestInteractions_view(t *testing.T) {
	t.Parallel()
	p := newHand(t, "")
	const x, y, zoom = `canvas.view.transform[0]`, `canvas.view.transform[1]`, `canvas.view.transform[2]`
	moved := func(what string, do func()) {
		t.Helper()
		p.steady()
		was, k := p.number(x)+p.number(y), p.number(zoom)
		do()
		p.steady()
		if p.number(x)+p.number(y) == was || p.number(zoom) != k {
			t.Errorf("%s moved the view by %g and zoomed from %g to %g", what, p.number(x)+p.number(y)-was, k, p.number(zoom))
		}
	}
	moved("the wheel", func() { p.wheel(empty, 0, 30, 40) })
	moved("a drag of empty space", func() {
		p.drag(input.MouseButtonLeft, 0, empty, webtest.Point{X: 580, Y: 680})
	})
	moved("the middle button", func() {
		p.drag(input.MouseButtonMiddle, 0, empty, webtest.Point{X: 580, Y: 680})
	})
	moved("a drag of a node with Space", func() {
		p.do(`canvas.pane.focus()`)
		webtest.Send(p.Tab, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: " ", Code: "Space", WindowsVirtualKeyCode: 32, Text: " "})
		at := p.Middle("#node-team header")
		p.drag(input.MouseButtonLeft, 0, at, webtest.Point{X: at.X + 40, Y: at.Y + 30})
		webtest.Send(p.Tab, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: " ", Code: "Space", WindowsVirtualKeyCode: 32})
	})
	p.Want(`canvas.draft.position("team").x`, `300`)

	at := p.Middle("#node-team header")
	p.wheel(at, ctrlKey, 0.01, -80)
	p.steady()
	if now := p.Middle("#node-team header"); now.X < at.X-3 || now.X > at.X+3 {
		t.Errorf("Ctrl and the wheel moved what is under the pointer from %v to %v", at, now)
	}
	p.do(`canvas.keys.focus("team")`)
	p.do(`canvas.selection.set(["team"])`)
	for _, c := range []struct{ key, want string }{{"Ctrl+0", zoom + ` === 1`}, {"=", zoom + ` > 1.1`}, {"-", zoom + ` < 1.1`}, {"Shift+2", zoom + ` <= 1`}, {"Shift+1", zoom + ` <= 1`}} {
		p.Press(c.key)
		p.Until(c.want)
		p.steady()
	}
	p.do(`canvas.view.panZoom.scaleTo(2.4)`)
	p.steady()
	p.Want(`document.querySelector(".canvas-minimap").checkVisibility()`, `true`)
	moved("a click on the minimap", func() { p.Click(".canvas-minimap") })
	moved("a drag on the minimap", func() {
		m := p.Middle(".canvas-minimap")
		p.Drag(m, webtest.Point{X: m.X + 30, Y: m.Y + 10})
	})
	k := p.number(zoom)
	p.wheel(p.Middle(".canvas-minimap"), 0, 0.01, 60)
	p.Until(fmt.Sprintf(`%s !== %v`, zoom, k))

	p.do(`canvas.view.panZoom.scaleTo(0.4)`)
	p.Until(`canvas.pane.hasAttribute("data-far") && !canvas.pane.hasAttribute("data-tiles")`)
	p.do(`canvas.view.panZoom.scaleTo(0.1)`)
	p.Until(`canvas.pane.hasAttribute("data-tiles")`)
	p.do(`canvas.view.panZoom.scaleTo(0.7)`)
	p.wheel(empty, 0, 10, 10)
	p.steady()
	p.Until(`Object.keys(localStorage).some((k) => localStorage[k].includes('"zoom":0.7'))`)
	p.Builder("/flows/" + p.id)
	p.Until(`Math.abs(` + zoom + ` - 0.7) < 0.001`)
}

// TestInteractions_nodes moves, copies, aligns, groups and disables nodes.
func TestInteractions_nodes(t *testing.T) {
	t.Parallel()
	p := newHand(t, "")
	position := func(id string) string {
		return fmt.Sprintf(`[canvas.draft.position(%q).x, canvas.draft.position(%q).y]`, id, id)
	}
	p.do(`canvas.view.panZoom.scaleTo(0.7)`)
	p.steady()
	at := p.Middle("#node-reply header")
	p.drag(input.MouseButtonLeft, 0, at, webtest.Point{X: at.X + 33, Y: at.Y + 147})
	p.Want(position("reply")+`.every((n) => n % 10 === 0)`, `true`)
	p.Want(position("reply")+`[1] > 150`, `true`)
	at = p.Middle("#node-reply header")
	was := p.number(position("reply") + `[1]`)
	p.drag(input.MouseButtonLeft, shiftKey, at, webtest.Point{X: at.X + 80, Y: at.Y + 17})
	p.Want(position("reply")+`[1]`, fmt.Sprint(was))

	p.do(`canvas.selection.set(["team", "reply"])`)
	p.do(`canvas.keys.focus("team")`)
	before := webtest.Value[[]float64](p.Tab, position("team"))
	apart := p.number(position("reply") + `[0] - ` + position("team") + `[0]`)
	at = p.Middle("#node-team header")
	p.drag(input.MouseButtonLeft, 0, at, webtest.Point{X: at.X + 20, Y: at.Y - 35})
	p.Want(position("reply")+`[0] - `+position("team")+`[0]`, fmt.Sprint(apart))
	p.Press("Ctrl+Z")
	p.Until(position("team") + `[1] === ` + fmt.Sprint(before[1]))
	p.do(`canvas.selection.set(["team", "reply"])`)
	p.Until(`document.querySelector("#selection-bar [data-several]").checkVisibility()`)
	p.steady()
	p.Click(`#selection-bar [data-command="align-top"]`)
	p.Until(position("team") + `[1] === ` + position("reply") + `[1]`)

	p.do(`canvas.selection.set(["team"])`)
	p.do(`canvas.keys.focus("team")`)
	was = p.number(position("team") + `[1]`)
	p.Press("Down")
	p.Until(position("team") + fmt.Sprintf(`[1] === %v`, was+10))
	p.Press("Shift+Down")
	p.Until(position("team") + fmt.Sprintf(`[1] === %v`, was+50))
	p.Until(`document.querySelector(".canvas-live").textContent !== ""`)
	p.Press("D")
	p.Until(`document.querySelector("#node-team").hasAttribute("data-disabled")`)
	p.Press("D")
	p.Until(`!document.querySelector("#node-team").hasAttribute("data-disabled")`)

	p.Press("Ctrl+D")
	p.Until(`canvas.draft.nodes.size === 5`)
	p.Press("Delete")
	p.Until(`canvas.draft.nodes.size === 4 && document.activeElement?.closest("flow-canvas") !== null`) // the focus stays in the canvas
	at = p.Middle("#node-answer header")
	p.drag(input.MouseButtonLeft, altKey, at, webtest.Point{X: at.X, Y: at.Y + 160})
	p.Until(`canvas.draft.nodes.size === 5 && canvas.draft.position("answer").y === 0`)
	p.Press("Ctrl+Z")
	p.Until(`canvas.draft.nodes.size === 4`)

	p.do(`canvas.selection.set(["team", "reply"])`)
	p.do(`canvas.keys.focus("team")`)
	p.Press("Ctrl+G")
	p.Until(`document.querySelectorAll(".canvas-group").length === 1`)
	p.do(`document.querySelector(".canvas-group-fold").click()`)
	p.Until(`document.querySelector(".canvas-group[data-folded]") && !document.querySelector("#node-team").checkVisibility()`)
	p.do(`document.querySelector(".canvas-group-fold").click()`)
	p.Until(`document.querySelector("#node-team").checkVisibility()`)
	p.do(`canvas.selection.set(["team", "reply"])`)
	p.do(`canvas.keys.focus("team")`)
	p.Press("Ctrl+Shift+G")
	p.Until(`document.querySelectorAll(".canvas-group").length === 0`)

	at = p.Middle("#node-team header")
	for count := range 2 {
		press := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMousePressed, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, ClickCount: int64(count + 1)}
		webtest.Send(p.Tab, input.DispatchMouseEvent, press)
		press.Type = input.DispatchMouseEventTypeMouseReleased
		webtest.Send(p.Tab, input.DispatchMouseEvent, press)
	}
	p.Until(`document.querySelector("#tab-node").ariaSelected === "true" && document.querySelector("#inspector [data-node=team]")`)
	p.do(`canvas.keys.focus("team")`)
	p.Press("Shift+F10")
	p.Until(`document.querySelector(".float-menu")?.matches(":popover-open")`)
	p.Press("Escape")
	p.Want(`document.querySelector("#selection-bar").checkVisibility()`, `true`)

	p.do(`canvas.keys.focus("team")`)
	p.do(`canvas.selection.clear()`)
	p.Press("T") // without a selection, everything
	p.Until(`canvas.draft.position("ticket").x < canvas.draft.position("team").x && canvas.draft.position("reply").x < canvas.draft.position("answer").x`)
	p.Saved()
}

// TestInteractions_clipboard copies nodes as text, with the edge between them, and pastes and
// cuts them.
func TestInteractions_clipboard(t *testing.T) {
	t.Parallel()
	p := newHand(t, "")
	p.do(`canvas.selection.set(["team", "reply"])`)
	p.do(`canvas.keys.focus("team")`)
	p.do(`(() => { window.data = new DataTransfer(); document.activeElement.dispatchEvent(new ClipboardEvent("copy", { clipboardData: data, bubbles: true, cancelable: true })); })()`)
	p.Want(`JSON.parse(data.getData("text/plain")).nodes.length`, `2`)
	paste := `(() => { document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })); })()`
	p.do(paste)
	p.Until(`canvas.draft.nodes.size === 6 && canvas.draft.edges.length === 4`) // with the edge between them
	p.do(`(() => { document.activeElement.dispatchEvent(new ClipboardEvent("cut", { clipboardData: data, bubbles: true, cancelable: true })); })()`)
	p.Until(`canvas.draft.nodes.size === 4`)
	p.Saved()
}

// TestInteractions_edges connects from both ends, explains refusals, and moves, inserts,
// reconnects and deletes edges.
func TestInteractions_edges(t *testing.T) {
	t.Parallel()
	p := newHand(t, `{"schema":"sluice.flow/v1","name":"Edges","nodes":[
		{"id":"ticket","kind":"input","position":{"x":0,"y":0},"config":{"name":"ticket","type":"text"}},
		{"id":"photo","kind":"input","position":{"x":0,"y":220},"config":{"name":"photo","type":"file"}},
		{"id":"short","kind":"summarize","position":{"x":260,"y":0},"config":{}},
		{"id":"mood","kind":"sentiment","position":{"x":260,"y":220},"config":{}},
		{"id":"answer","kind":"output","position":{"x":560,"y":0},"config":{"name":"answer"}}],"edges":[]}`)
	port := func(node, name, side string) webtest.Point {
		return p.Middle(fmt.Sprintf(`#node-%s [data-port=%q][data-side=%q]`, node, name, side))
	}
	edges := func(want string) {
		t.Helper()
		p.Until(`canvas.draft.edges.map((e) => e.from + ">" + e.to).sort().join(" ") === ` + fmt.Sprintf("%q", want))
	}
	p.steady()
	p.Drag(port("ticket", "value", "out"), port("short", "text", "in"))
	edges("ticket.value>short.text")
	p.Drag(port("answer", "value", "in"), port("short", "summary", "out")) // backward
	edges("short.summary>answer.value ticket.value>short.text")

	from, to := port("photo", "value", "out"), port("mood", "text", "in")
	p.Mouse(input.DispatchMouseEventTypeMousePressed, from)
	for i := 1.0; i <= 8; i++ {
		p.Mouse(input.DispatchMouseEventTypeMouseMoved, webtest.Point{X: from.X + (to.X-from.X)*i/8, Y: from.Y + (to.Y-from.Y)*i/8})
	}
	p.Until(`document.querySelector('#node-mood [data-port="text"]').dataset.verdict === "invalid" && document.querySelector(".canvas-reason")?.textContent.length > 10`)
	p.Want(`document.querySelector('#node-mood [data-port="text"]').dataset.fit`, `"no"`)
	p.Mouse(input.DispatchMouseEventTypeMouseReleased, to)
	edges("short.summary>answer.value ticket.value>short.text")

	middle := func(key string) webtest.Point {
		return webtest.Value[webtest.Point](p.Tab, fmt.Sprintf(`(() => { const l = canvas.edges.path(%q), m = l.getPointAtLength(l.getTotalLength() / 2), [x, y, k] = canvas.view.transform, r = canvas.pane.getBoundingClientRect(); return { X: r.x + m.x * k + x, Y: r.y + m.y * k + y }; })()`, key))
	}
	p.Want(`document.querySelector('[data-edge="ticket.value>short.text"]').getAttribute("aria-label").includes("to")`, `true`)
	p.do(`canvas.selection.set(["ticket"])`)
	p.Until(`document.querySelector('[data-edge="ticket.value>short.text"]').hasAttribute("data-lit")`)
	p.do(`canvas.selection.clear()`)

	at := middle("ticket.value>short.text")
	p.click(0, at)
	p.Until(`document.querySelector('[data-edge="ticket.value>short.text"]').hasAttribute("data-selected")`)
	p.Until(`document.querySelector(".canvas-edge-plus")`)
	end := p.Middle(`.canvas-edge-grip[data-end="to"]`)
	p.Drag(end, port("mood", "text", "in")) // to another port
	edges("short.summary>answer.value ticket.value>mood.text")
	p.click(0, middle("ticket.value>mood.text"))
	p.Until(`document.querySelector(".canvas-edge-grip")`)
	p.Drag(p.Middle(`.canvas-edge-grip[data-end="to"]`), webtest.Point{X: 700, Y: 740}) // to nothing
	edges("short.summary>answer.value")
	p.Drag(port("ticket", "value", "out"), port("short", "text", "in"))
	edges("short.summary>answer.value ticket.value>short.text")

	p.click(0, middle("short.summary>answer.value"))
	p.Until(`document.querySelector(".canvas-edge-plus")`)
	p.Click(".canvas-edge-plus circle")
	p.Until(`document.getElementById("chooser")?.open`)
	p.Write("template")
	p.Press("Enter")
	p.Until(`canvas.draft.nodes.has("template") && canvas.draft.edges.length === 3`)
	p.do(`canvas.keys.focus("short")`)
	p.do(`canvas.selection.set(["short"])`)
	p.Press("Shift+Delete") // its neighbors are connected
	p.Until(`!canvas.draft.nodes.has("short") && canvas.draft.edges.some((e) => e.from === "ticket.value" && e.to.startsWith("template."))`)
	p.do(`canvas.keys.focus("ticket")`)
	webtest.Send(p.Tab, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: "ArrowRight", Code: "ArrowRight", WindowsVirtualKeyCode: 39, Modifiers: altKey})
	p.Until(`document.activeElement?.id === "node-template"`) // along the edge
	p.Saved()
}

// TestInteractions_select selects by click, rectangle and keys, finds nodes, and is
// announced to screen readers.
func TestInteractions_select(t *testing.T) {
	t.Parallel()
	p := newHand(t, "")
	chosen := func(want string) {
		t.Helper()
		p.Until(`[...canvas.selection.nodes].sort().join() === ` + fmt.Sprintf("%q", want))
	}
	p.steady()
	p.click(0, p.Middle("#node-team header"))
	chosen("team")
	p.click(shiftKey, p.Middle("#node-reply header"))
	chosen("reply,team")
	p.click(ctrlKey, p.Middle("#node-team header"))
	chosen("reply")
	p.Press("Ctrl+A")
	chosen("answer,reply,team,ticket")
	p.Press("Escape")
	chosen("")
	a, b := p.Middle("#node-ticket"), p.Middle("#node-team")
	p.drag(input.MouseButtonLeft, shiftKey, webtest.Point{X: a.X - 90, Y: a.Y - 120}, webtest.Point{X: b.X + 30, Y: b.Y + 150})
	chosen("team,ticket")

	p.Want(`document.querySelectorAll("flow-canvas article[tabindex='0']").length`, `1`)
	p.Want(`[document.querySelector("#node-team").localName, document.querySelector("#node-team").getAttribute("aria-roledescription")]`, `["article","node"]`)
	p.Want(`document.querySelector("#node-team").getAttribute("aria-label").includes("Which team")`, `true`)
	p.Want(`[...document.querySelectorAll("[role=application]")].map((e) => e.localName)`, `["flow-canvas"]`)
	p.do(`canvas.view.panZoom.setViewport({ x: -3000, y: 0, zoom: 1 })`)
	p.steady()
	p.do(`canvas.keys.focus("ticket")`)
	p.steady()
	p.Until(`(() => { const r = document.querySelector("#node-ticket").getBoundingClientRect(), c = canvas.pane.getBoundingClientRect(); return r.left >= c.left && r.right <= c.right; })()`)

	p.Press("Ctrl+F")
	p.Until(`document.getElementById("chooser")?.open`)
	p.Write("which")
	p.Press("Enter")
	chosen("team")
	p.Press("Ctrl+K")
	p.Until(`document.querySelector("dialog[open] [role=combobox]") === document.activeElement`)
	p.Until(`[...document.querySelectorAll("#chooser [role=option] b")].slice(0, 2).map((b) => b.textContent).join() === "Run draft,Publish"`)
	p.Press("Escape")
	p.do(`canvas.keys.focus("team")`)
	p.Press("?")
	p.Until(`document.querySelector("dialog.shortcuts[open], dialog[open] .shortcuts, #shortcuts[open]")`)
	p.Press("Escape")
	p.Until(`!document.querySelector("dialog[open]") && document.activeElement?.id === "node-team"`) // the focus returns
}

// TestInteractions_touch pans, drags, zooms, connects and selects with fingers.
func TestInteractions_touch(t *testing.T) {
	t.Parallel()
	p := newHand(t, `{"schema":"sluice.flow/v1","name":"Touch","nodes":[
		{"id":"ticket","kind":"input","position":{"x":0,"y":0},"config":{"name":"ticket","type":"text"}},
		{"id":"short","kind":"summarize","position":{"x":300,"y":0},"config":{}}],"edges":[]}`)
	webtest.Send(p.Tab, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true, MaxTouchPoints: 5})
	p.Builder("/flows/" + p.id)
	p.steady()
	x := p.number(`canvas.view.transform[0]`)
	p.touch([]webtest.Point{empty}, []webtest.Point{{X: empty.X + 80, Y: empty.Y}})
	p.Until(fmt.Sprintf(`canvas.view.transform[0] > %v`, x+40))
	p.steady()
	at := p.Middle("#node-ticket header")
	p.touch([]webtest.Point{at}, []webtest.Point{{X: at.X, Y: at.Y - 100}})
	p.Until(`canvas.draft.position("ticket").y < -50`)
	k := p.number(`canvas.view.transform[2]`)
	p.touch([]webtest.Point{{X: 460, Y: 700}, {X: 540, Y: 700}}, []webtest.Point{{X: 380, Y: 700}, {X: 620, Y: 700}})
	p.Until(fmt.Sprintf(`canvas.view.transform[2] > %v`, k*1.2))
	p.Press("Escape")
	p.do(`canvas.view.fit(undefined, 0)`)
	p.steady()
	for _, selector := range []string{`#node-ticket [data-port="value"]`, `#node-short [data-port="text"]`} {
		at := p.Middle(selector)
		p.touch([]webtest.Point{at}, []webtest.Point{at})
	}
	p.Until(`canvas.draft.edges.length === 1`)
	p.do(`canvas.selection.clear()`)
	p.do(`document.getElementById("select-mode").click()`)
	p.Until(`document.getElementById("select-mode").ariaPressed === "true"`)
	a, b := p.Middle("#node-ticket"), p.Middle("#node-short")
	p.touch([]webtest.Point{{X: a.X - 110, Y: a.Y - 120}}, []webtest.Point{{X: b.X + 110, Y: b.Y + 140}})
	p.Until(`canvas.selection.nodes.size === 2`)
	p.Saved()
}
