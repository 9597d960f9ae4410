package static_test

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func worksByTouch(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.fingers()
	at, before := p.head("write"), p.position("write")
	p.swipe(at, point{at.X + 20, at.Y + 120})
	p.saved()
	if got := s.position("write"); got.Y <= before.Y {
		t.Fatalf("a finger moved the node from %v to %v", before, got)
	}

	zoom := `c.view.transform[2]`
	was := value[float64](p, zoom)
	p.touch(touchStart, point{400, 700}, point{600, 700})
	for i := range 6 {
		p.touch(touchMove, point{390 - float64(i)*10, 700}, point{610 + float64(i)*10, 700})
	}
	p.touch(touchEnd)
	if now := value[float64](p, zoom); now <= was {
		t.Fatalf("two fingers zoomed from %v to %v", was, now)
	}
	p.eval(`c.view.fit(undefined, 0)`)

	p.swipe(p.port("tone.value", "out"), p.port("write.tone", "in"))
	p.saved()
	if !s.has(testEdge{"tone.value", "write.tone"}) {
		t.Fatalf("dragging a finger made no edge: %v", s.now().Edges)
	}
}

func taps(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.fingers()
	p.tap(p.port("plain.text", "out"))
	p.until(`c.taps.pending?.node === "plain"`)
	p.tap(p.port("join.values", "in"))
	p.until(`c.edges.size === 3`)
	p.saved()
	if !s.has(testEdge{"plain.text", "join.values"}) {
		t.Fatalf("two taps made no edge: %v", s.now().Edges)
	}
	p.tap(p.head("answer"))
	p.until(`c.selection.nodes.has("answer")`)
}

// fingers emulates a device with a touch screen.
func (p *page) fingers() {
	p.t.Helper()
	call(p, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true})
	p.do(reload)
	p.ready()
}

// tap puts a finger down and lifts it, which the browser turns into a click.
func (p *page) tap(at point) {
	p.t.Helper()
	p.touch(touchStart, at)
	p.touch(touchEnd)
}

// opensMenuOnLongPress rests a finger until the menu is requested.
func opensMenuOnLongPress(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	p.fingers()
	p.touch(touchStart, p.head("write"))
	p.until(`heard.menu?.[0].nodes[0] === "write"`)
	p.touch(touchEnd)
	p.want(`[...c.selection.nodes]`, `["write"]`)
}

func selectsByTouch(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	p.fingers()
	p.eval(`c.selecting = true`)
	view := p.text(`String(c.view.transform)`)
	from, to := p.head("ticket"), p.head("tone")
	p.swipe(point{from.X - 150, from.Y - 40}, point{to.X + 20, to.Y + 5})
	p.until(`String([...c.selection.nodes].sort()) === "ticket,tone"`)
	p.want(`String(c.view.transform)`, `"`+view+`"`)
}

// startsReadableOnPhones opens a flow that would be too small to read if all of it were shown.
func startsReadableOnPhones(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.do(chromedp.EmulateViewport(375, 812, chromedp.EmulateMobile, chromedp.EmulateTouch))
	p.eval(`localStorage.clear()`)
	p.do(reload)
	p.ready()
	const inView = `[...c.scene.elements.values()].map((e) => e.getBoundingClientRect()).filter((r) => r.left >= 0 && r.right <= innerWidth && r.top >= 0 && r.bottom <= innerHeight).length`
	if zoom := value[float64](p, `c.view.transform[2]`); zoom != 0.7 {
		t.Errorf("the zoom is %v", zoom)
	}
	if n := value[int](p, inView); n < 1 {
		t.Errorf("%d nodes are in view", n)
	}
	p.eval(`c.view.fit(undefined, 0)`)
	if n, all := value[int](p, inView), value[int](p, `c.scene.elements.size`); n != all {
		t.Errorf("%d of %d nodes are in view", n, all)
	}
}
