package static_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/performance"

	"sluice/e2e/chrome"
)

// bigFlow has 500 nodes and 600 edges, which the canvas has to handle smoothly.
func bigFlow() testDocument {
	var d testDocument
	for i := range 500 {
		d.Nodes = append(d.Nodes, testNode{ID: fmt.Sprintf("n%d", i), Kind: "chat", Position: point{float64(i%25) * 300, float64(i/25) * 200}, Config: map[string]any{}})
	}
	for i := range 600 {
		from, port := i%500, "prompt"
		if i >= 500 {
			port = "tone"
		}
		if to := from + 1 + i%3; to < 500 {
			d.Edges = append(d.Edges, testEdge{fmt.Sprintf("n%d.text", from), fmt.Sprintf("n%d.%s", to, port)})
		}
	}
	return d
}

// TestCanvasWeight measures a big flow when SLUICE_TEST_MEASURE=1: the time
// until it can be used, and the main thread's work for a frame of panning and
// of dragging. Without it, the test checks that a large flow is shown completely.
func TestCanvasWeight(t *testing.T) {
	t.Parallel()
	d := bigFlow()
	p := open(t, chrome.StartAlone(t).Context(), serveDraft(t, d).URL)
	p.want(`[c.scene.boxes.size, c.edges.size]`, fmt.Sprintf(`[500,%d]`, len(d.Edges)))
	p.want(`(() => { const r = c.pane.getBoundingClientRect(); return [...c.scene.elements.values()].every((el) => { const b = el.getBoundingClientRect(); return b.left >= r.left && b.right <= r.right && b.top >= r.top && b.bottom <= r.bottom; }); })()`, `true`) // all of it fits
	p.want(`c.pane.hasAttribute("data-tiles")`, `true`)
	if os.Getenv("SLUICE_TEST_MEASURE") != "1" {
		return
	}
	call(p, performance.Enable, performance.EnableParams{})
	t.Logf("ready after %.0f ms, the canvas took %.0f of them", value[float64](p, `performance.getEntriesByName("canvas:ready")[0].startTime + performance.getEntriesByName("canvas:ready")[0].duration`), value[float64](p, `performance.getEntriesByName("canvas:ready")[0].duration`))
	idle := p.perFrame(func(int) {})
	overview := p.perFrame(func(i int) { p.wheel(i) })
	p.grab(p.head("n260"), p.head("n261"))
	at := p.head("n261")
	drag := p.perFrame(func(i int) { p.mouse(moved, point{at.X + float64(i%20)*5, at.Y + float64(i%20)*5}) })
	p.mouse(released, at)
	p.eval(`c.view.panZoom.scaleTo(1)`)
	t.Logf("before the last:%s", p.split())
	near := p.perFrame(func(i int) { p.wheel(i) })
	t.Logf("after the last:%s", p.split())
	t.Logf("main thread, ms a frame: at rest %.1f, pan with all in view %.1f, pan at 100 %% %.1f, drag with all in view %.1f", idle, overview, near, drag)
}

func (p *page) wheel(i int) {
	p.t.Helper()
	call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: 600, Y: 400, DeltaX: float64(20 - i/30*40), DeltaY: 10})
}

// perFrame does something 60 times, once per frame, and returns the main thread's
// time per frame.
func (p *page) perFrame(do func(i int)) float64 {
	p.t.Helper()
	before := p.busy()
	for i := range 60 {
		do(i)
		p.eval(`new Promise((done) => requestAnimationFrame(() => done()))`)
	}
	return (p.busy() - before) * 1000 / 60
}

// split returns how the main thread spent its time since the page was opened.
func (p *page) split() string {
	s := ""
	for _, m := range call(p, performance.GetMetrics, cdp.Empty{}).Metrics {
		switch m.Name {
		case "ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration":
			s += fmt.Sprintf(" %s %.2f s", m.Name, m.Value)
		}
	}
	return s
}

// busy returns for how many seconds the page's main thread has worked.
func (p *page) busy() float64 {
	p.t.Helper()
	for _, m := range call(p, performance.GetMetrics, cdp.Empty{}).Metrics {
		if m.Name == "TaskDuration" {
			return m.Value
		}
	}
	return 0
}
