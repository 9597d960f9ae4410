package static_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
)

// mapsTheFlow goes to where the small picture is pressed, follows the pointer
// over it, and zooms by the wheel.
func mapsTheFlow(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	p.until(`c.querySelector(".canvas-minimap-nodes").getAttribute("d").split("M").length === 7`)
	p.eval(`c.view.zoomTo(1)`)
	p.until(`c.view.transform[2] === 1`)
	p.until(`c.querySelector(".canvas-minimap-view").offsetWidth > 0`)
	corner := value[point](p, `(() => { const r = c.querySelector(".canvas-minimap").getBoundingClientRect(); return { x: r.x + 20, y: r.y + 20 }; })()`)
	before := value[point](p, `c.view.centre()`)
	p.click(corner)
	pressed := value[point](p, `c.view.centre()`)
	if pressed.X >= before.X || pressed.Y >= before.Y {
		t.Fatalf("a press at the upper left went from %v to %v", before, pressed)
	}
	p.drag(corner, point{corner.X + 60, corner.Y + 40})
	if dragged := value[point](p, `c.view.centre()`); dragged.X <= pressed.X || dragged.Y <= pressed.Y {
		t.Fatalf("a drag to the lower right went from %v to %v", pressed, dragged)
	}
	call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: corner.X, Y: corner.Y, DeltaX: 1, DeltaY: -100})
	p.until(`c.view.transform[2] > 1.1`)
}

// tellsWhereItLies gives the page the place of the selection on the screen,
// after it moved too, and brings a node into view.
func tellsWhereItLies(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	p.eval(`c.addEventListener("canvas:moved", (e) => { window.moved = e.detail; })`)
	p.click(p.head("write"))
	p.want(`heard.select.at(-1).nodes`, `["write"]`)
	same := `(() => { const r = c.querySelector("#node-write").getBoundingClientRect(), b = BOX; return ["x", "y", "width", "height"].every((k) => Math.abs(r[k] - b[k]) < 2); })()`
	p.until(replaceBox(same, `heard.select.at(-1).client`))
	p.eval(`c.view.pan({ x: 70, y: 30 })`)
	p.until(`window.moved?.client`)
	p.until(replaceBox(same, `window.moved.client`))

	p.eval(`c.view.pan({ x: -3000, y: 0 })`)
	p.until(`c.querySelector("#node-write").getBoundingClientRect().right < 0`)
	p.eval(`c.follow("write")`)
	p.until(`c.querySelector("#node-write").getBoundingClientRect().left >= 0`)
	p.want(`[c.node("write").kind, c.edgesOf("write").length, c.node("gone") ?? null]`, `["chat",2,null]`)
}

func replaceBox(js, box string) string { return strings.ReplaceAll(js, "BOX", box) }
