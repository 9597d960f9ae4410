package editor_test

import (
	"fmt"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// center returns the middle of what an expression selects.
func (p *hand) center(js string) webtest.Point {
	p.T.Helper()
	p.Until(js)
	return webtest.Value[webtest.Point](p.Tab, `(() => { const r = `+js+`.getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }; })()`)
}

// free returns a point of the canvas with nothing near it, the lowest one.
func (p *hand) free() webtest.Point {
	p.T.Helper()
	p.steady()
	const find = `(() => {
		const r = canvas.pane.getBoundingClientRect(), empty = (x, y) => { const e = document.elementFromPoint(x, y); return e && canvas.pane.contains(e) && !e.closest("article, [data-edge], button, .canvas-group, .canvas-edge-tools"); };
		for (let y = r.bottom - 90; y > r.top + 60; y -= 10) for (let x = 60; x < innerWidth - 60; x += 10)
			if ([[0, 0], [-40, 0], [40, 0], [0, -40], [0, 40]].every(([dx, dy]) => empty(x + dx, y + dy))) return { X: x, Y: y };
		return null;
	})()`
	p.Until(find)
	return webtest.Value[webtest.Point](p.Tab, find)
}

// menu rests a finger until the menu is open, and chooses one of its items.
func (p *hand) menu(at webtest.Point, item string) {
	p.T.Helper()
	p.hold(at, ".float-menu:popover-open")
	p.tapItem(item)
}

// tapItem chooses an item of the open menu.
func (p *hand) tapItem(item string) {
	p.T.Helper()
	p.tapAt(p.center(fmt.Sprintf(`[...document.querySelectorAll(".float-menu:popover-open [role=menuitem]")].find((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent === %q))`, item)))
	p.Until(`!document.querySelector(".float-menu:popover-open")`)
}

// head returns the middle of a node's header.
func (p *hand) head(node string) webtest.Point {
	p.T.Helper()
	return p.Middle("#node-" + node + " header")
}

// TestTouch_view pans, zooms and returns to the same view with fingers.
func TestTouch_view(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := newPhone(t, h, h.Flow(webtest.SampleFlow))
	const zoom = `canvas.view.transform[2]`
	p.look(`["ticket", "team"]`)
	p.tap("#zoom")
	p.Until(zoom + ` === 1`)
	p.tap("[data-command=zoom-in]")
	p.Until(zoom + ` > 1.1`)
	p.tap("[data-command=zoom-out]")
	p.Until(zoom + ` < 1.1`)
	p.tap("[data-command=fit]")
	p.Until(zoom + ` < 0.5 && canvas.pane.hasAttribute("data-far")`) // detail falls away
	p.steady()
	all := p.number(zoom)
	p.menu(p.head("team"), "Zoom to selection")
	p.Until(fmt.Sprintf(zoom+` > %v`, 1.5*all))
	p.steady()
	k, x := p.number(zoom), p.number(`canvas.view.transform[0]`)
	free := p.free()
	p.swipe(free, webtest.Point{X: free.X + 50, Y: free.Y})
	p.Until(fmt.Sprintf(`canvas.view.transform[0] > %v && %s === %v`, x+30, zoom, k))
	free = p.free()
	p.touch([]webtest.Point{{X: free.X - 20, Y: free.Y}, {X: free.X + 20, Y: free.Y}}, []webtest.Point{{X: free.X - 50, Y: free.Y}, {X: free.X + 50, Y: free.Y}})
	p.Until(fmt.Sprintf(zoom+` > %v`, 1.2*k))
	p.steady()
	k = p.number(zoom)
	p.Until(fmt.Sprintf(`Object.keys(localStorage).some((k) => localStorage[k].includes('"zoom":%v'))`, k))
	p.Builder("/flows/" + p.id)
	p.tap("[data-command=show-canvas]")
	p.Until(fmt.Sprintf(`Math.abs(%s - %v) < 0.001`, zoom, k))
	p.Want(`[...document.querySelectorAll(".zoom button")].filter((b) => b.checkVisibility()).every((b) => { const r = b.getBoundingClientRect(); return r.left >= 0 && r.right <= 375 && r.height >= 32; })`, `true`)
}

// TestTouch_minimap moves the view by the minimap of a tablet.
func TestTouch_minimap(t *testing.T) {
	t.Parallel()
	p := newTablet(t, webtest.SampleFlow)
	p.do(`canvas.view.panZoom.scaleTo(2.4)`)
	p.steady()
	m, x := p.Middle(".canvas-minimap"), p.number(`canvas.view.transform[0]`)
	p.tapAt(webtest.Point{X: m.X + 40, Y: m.Y})
	p.Until(fmt.Sprintf(`Math.abs(canvas.view.transform[0] - %v) > 20`, x))
	p.steady()
	x = p.number(`canvas.view.transform[0]`)
	p.swipe(m, webtest.Point{X: m.X - 40, Y: m.Y})
	p.Until(fmt.Sprintf(`Math.abs(canvas.view.transform[0] - %v) > 20`, x))
}

// newTablet opens the canvas of a flow on a touch screen 1024 pixels wide.
func newTablet(t *testing.T, document string) *hand {
	t.Helper()
	h := webtest.Setup(t)
	return newTouch(t, h, h.Flow(document), 1024, 768)
}

// TestTouch_problems opens a problem from its mark on the node.
func TestTouch_problems(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, `{"schema": "sluice.flow/v1", "name": "Marks", "nodes": [
		{"id": "say", "kind": "template", "position": {"x": 0, "y": 0}, "config": {"template": "{{who}}"}},
		{"id": "answer", "kind": "output", "position": {"x": 240, "y": 0}, "config": {"name": "answer"}}], "edges": [{"from": "say.text", "to": "answer.value"}]}`)
	p := newPhone(t, h, id)
	p.Until(`document.querySelector("#node-say [data-trouble]")`)
	p.tap("#node-say [data-trouble]")
	p.Until(`document.querySelector(".builder").hasAttribute("data-sheet") && document.querySelector("#inspector [data-node=say] [data-sources=who], #inspector [data-node=say] .error")`)
	p.tap(".pane-close")
	p.tap("#flow-state [data-command=problems]")
	p.Until(`document.querySelector("#problems [data-jump=say]").checkVisibility()`)
}

// TestTouch_viewer pans, selects and opens as a viewer, and changes nothing.
func TestTouch_viewer(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	p := newTouchAs(t, h, flow.MemberViewer, id, 375, 812)
	p.tap("[data-command=show-canvas]")
	p.look(`["ticket", "team"]`)
	from := p.head("team")
	p.swipe(from, webtest.Point{X: from.X, Y: from.Y + 120})
	p.Until(`canvas.draft.position("team").y === 0`)
	p.look(`["ticket", "team"]`)
	p.tapAt(p.head("team"))
	p.Until(`canvas.selection.nodes.has("team")`)
	p.menu(p.head("team"), "Open node")
	p.Until(`document.querySelector(".builder").hasAttribute("data-sheet") && document.querySelector("#inspector [data-node=team]")`)
	p.Want(`[...document.querySelectorAll("#inspector :is(input, select, textarea):not([type=hidden])")].every((f) => f.matches(":disabled") || f.readOnly)`, `true`)
}
