package editor_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/performance"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// bigFlow has 500 nodes as the builder renders them, and 600 edges.
func bigFlow() string {
	var nodes, edges []string
	for i := range 500 {
		nodes = append(nodes, fmt.Sprintf(`{"id":"n%d","kind":"template","position":{"x":%d,"y":%d},"config":{"template":"Hello {{a}} and {{b}}, number %d"}}`, i, i%25*300, i/25*220, i))
	}
	for i := range 600 {
		if to := i%500 + 1 + i%3; to < 500 {
			edges = append(edges, fmt.Sprintf(`{"from":"n%d.text","to":"n%d.%c"}`, i%500, to, "ab"[i/500]))
		}
	}
	return `{"schema":"sluice.flow/v1","name":"Big","nodes":[` + strings.Join(nodes, ",") + `],"edges":[` + strings.Join(edges, ",") + `]}`
}

// TestBuilderWeight shows a big flow completely. With SLUICE_TEST_MEASURE=1 it
// measures the time until it can be used, and the main thread's work for a frame
// of panning and of dragging, in processor time, so that other work of the machine does
// not count; no limit is checked, as that depends on the machine.
func TestBuilderWeight(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, bigFlow())
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	p.Want(`[canvas.scene.boxes.size, canvas.draft.edges.length === canvas.edges.size, canvas.pane.hasAttribute("data-far")]`, `[500,true,true]`)
	if os.Getenv("SLUICE_TEST_MEASURE") != "1" {
		return
	}
	webtest.Send(p, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	for range 3 { // the first load also starts the browser's processes
		loaded(p)
		webtest.Send(p, network.ClearBrowserCache, cdp.Empty{}) // as for a person who comes for the first time
		p.Builder("/flows/" + id)
	}
	for range 3 {
		p.Builder("/flows/" + id)
		loaded(p)
	}
	wheel := func(i int) {
		webtest.Send(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: 600, Y: 400, DeltaX: float64(20 - i/30*40), DeltaY: 10})
	}
	overview := perFrame(p, wheel)
	overviewDrag := dragged(p)
	webtest.Value[bool](p, `canvas.view.panZoom.scaleTo(1).then(() => true)`)
	near := perFrame(p, wheel)
	webtest.Value[bool](p, `(canvas.view.reveal("n260"), true)`)
	t.Logf("main thread, ms a frame: pan with all in view %.1f, drag %.1f; pan at 100 %% %.1f, drag %.1f", overview, overviewDrag, near, dragged(p))
}

// loaded logs the load time of the page and of its phases.
func loaded(p *webtest.Tab) {
	p.T.Logf("ready after %.0f ms, the canvas took %.0f of them", webtest.Value[float64](p, `performance.getEntriesByName("canvas:ready")[0].startTime + performance.getEntriesByName("canvas:ready")[0].duration`), webtest.Value[float64](p, `performance.getEntriesByName("canvas:ready")[0].duration`))
	p.T.Logf("of them, in ms from the start: %s", webtest.Value[string](p, `(() => { const n = performance.getEntriesByType("navigation")[0], r = Math.round; return JSON.stringify({ first: r(n.responseStart), page: r(n.responseEnd), parsed: r(n.domInteractive), canvas: r(performance.getEntriesByName("canvas:ready")[0].startTime), bytes: n.encodedBodySize, of: n.decodedBodySize, scripts: r(Math.max(...performance.getEntriesByType("resource").filter((e) => /js$/.test(e.name)).map((e) => e.responseEnd))) }); })()`))
}

// dragged measures the drag of one node.
func dragged(p *webtest.Tab) float64 {
	at := p.Middle("#node-n260 header")
	p.Mouse(input.DispatchMouseEventTypeMousePressed, at)
	took := perFrame(p, func(i int) {
		p.Mouse(input.DispatchMouseEventTypeMouseMoved, webtest.Point{X: at.X + float64(i%20)*5, Y: at.Y + float64(i%20)*5})
	})
	p.Mouse(input.DispatchMouseEventTypeMouseReleased, at)
	return took
}

// perFrame does something 60 times and returns the main thread's milliseconds per frame
// that the browser drew meanwhile. One step takes several frames, as the commands to the
// browser take time too.
func perFrame(p *webtest.Tab, do func(i int)) float64 {
	webtest.Value[bool](p, `(window.drawn = [], (function draw(at) { if (at) drawn.push(at); window.drawing = requestAnimationFrame(draw); })(), true)`)
	before := busy(p)
	for i := range 60 {
		do(i)
		webtest.Value[bool](p, `new Promise((done) => requestAnimationFrame(() => done(true)))`)
	}
	took := busy(p) - before
	p.T.Logf("between frames, ms: %s", webtest.Value[string](p, `(() => { const gaps = drawn.slice(1).map((at, i) => at - drawn[i]).sort((a, b) => a - b), at = (part) => gaps[Math.floor(gaps.length * part)].toFixed(1); return "p50 " + at(0.5) + ", p95 " + at(0.95) + " of " + gaps.length; })()`))
	return took * 1000 / webtest.Value[float64](p, `(cancelAnimationFrame(drawing), drawn.length)`)
}

func busy(p *webtest.Tab) float64 {
	for _, m := range webtest.Send(p, performance.GetMetrics, cdp.Empty{}).Metrics {
		if m.Name == "TaskDuration" {
			return m.Value
		}
	}
	return 0
}
