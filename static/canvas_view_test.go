package static_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
)

// navigatesByMinimap centers the view where the minimap is pressed, follows the
// pointer, and zooms by the wheel.
func navigatesByMinimap(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	p.until(`c.querySelector(".canvas-minimap").hidden`) // all is in view
	p.eval(`c.view.zoomTo(2)`)
	p.until(`c.view.transform[2] === 2`)
	p.until(`c.querySelector(".canvas-minimap-nodes").getAttribute("d")?.split("M").length === 7`)
	p.until(`c.querySelector(".canvas-minimap-view").offsetWidth > 0`)
	corner := value[point](p, `(() => { const r = c.querySelector(".canvas-minimap").getBoundingClientRect(); return { x: r.x + 20, y: r.y + 20 }; })()`)
	before := value[point](p, `c.view.center()`)
	p.click(corner)
	pressed := value[point](p, `c.view.center()`)
	if pressed.X >= before.X || pressed.Y >= before.Y {
		t.Fatalf("a press at the upper left went from %v to %v", before, pressed)
	}
	p.drag(corner, point{corner.X + 60, corner.Y + 40})
	if dragged := value[point](p, `c.view.center()`); dragged.X <= pressed.X || dragged.Y <= pressed.Y {
		t.Fatalf("a drag to the lower right went from %v to %v", pressed, dragged)
	}
	call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: corner.X, Y: corner.Y, DeltaX: 1, DeltaY: -100})
	p.until(`c.view.transform[2] > 2.1`)
}

// reportsSelectionBox checks the box of the selection on the screen, also after it
// moved, and brings a node into view.
func reportsSelectionBox(t *testing.T, b context.Context) {
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
	p.eval(`c.view.reveal("write")`)
	p.until(`c.querySelector("#node-write").getBoundingClientRect().left >= 0`)
	p.want(`[c.draft.nodes.get("write").kind, c.draft.edgesOf("write").length, c.draft.nodes.get("gone") ?? null]`, `["chat",2,null]`)
}

func replaceBox(js, box string) string { return strings.ReplaceAll(js, "BOX", box) }

func pansWithSpace(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	at, place, view := p.head("write"), p.position("write"), p.text(`String(c.view.transform)`)
	p.click(at) // a focused node does not keep the key to itself
	p.want(`[...c.selection.nodes]`, `["write"]`)
	space := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: " ", Code: "Space", WindowsVirtualKeyCode: 32}
	call(p, input.DispatchKeyEvent, space)
	p.drag(at, point{at.X + 80, at.Y + 60})
	space.Type = input.DispatchKeyEventTypeKeyUp
	call(p, input.DispatchKeyEvent, space)
	if p.position("write") != place || p.text(`String(c.view.transform)`) == view {
		t.Fatal("Space did not pan over the node")
	}
	p.want(`[...c.selection.nodes]`, `["write"]`) // the release after a pan selects nothing
	p.want(`c.pane.hasAttribute("data-space")`, `false`)
	p.drag(p.head("write"), point{at.X + 80, at.Y + 200})
	if p.position("write") == place {
		t.Fatal("after Space the node cannot be dragged")
	}
}

func pansAtTheEdge(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	x := value[float64](p, `c.view.transform[0]`)
	at := p.head("ticket")
	p.grab(at, point{3, at.Y})
	p.until(fmt.Sprintf(`c.view.transform[0] > %v`, x+30))
	p.mouse(released, point{3, at.Y})
}

// respectsPreferences checks that nothing is animated with reduced motion, and
// that the selection is visible with forced colors.
func respectsPreferences(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-reduced-motion", Value: "reduce"}, {Name: "forced-colors", Value: "active"},
	}})
	p.eval(`c.view.zoomTo(1); c.view.zoomBy(1.2)`)
	p.want(`c.view.transform[2]`, `1.2`) // at once
	p.eval(`c.status.showSteps([{ node: "ticket", state: "succeeded" }, { node: "write", state: "running" }]); c.selection.set(["write"])`)
	p.want(`getComputedStyle(c.edges.path("ticket.value>write.prompt")).animationName`, `"none"`)
	p.want(`getComputedStyle(c.querySelector("#node-write")).outlineStyle`, `"solid"`)
}

// dragsAfterWheel presses a node while the wheel gesture has not ended yet.
func dragsAfterWheel(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	p.want(`[..."www", "m"].map((turn) => {
		const at = { bubbles: true, cancelable: true, clientX: 600, clientY: 400 };
		c.pane.dispatchEvent(turn === "w" ? new WheelEvent("wheel", { ...at, deltaX: 20 }) : new PointerEvent("pointermove", at));
		return c.pane.hasAttribute("data-held");
	})`, `[false,true,true,false]`)
	from, at := p.position("write"), p.head("write")
	p.drag(at, point{at.X + 60, at.Y + 80})
	if to := p.position("write"); to == from {
		t.Fatalf("the node stayed at %v, want it to follow the pointer", to)
	}
}
