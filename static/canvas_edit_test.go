package static_test

import (
	"context"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

func selectsByRectangle(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	from, to := p.head("ticket"), p.head("tone")
	p.drag(point{from.X - 150, from.Y - 40}, point{to.X + 20, to.Y + 5}, kb.ModifierShift)
	p.want(`[...c.selection.nodes].sort()`, `["ticket","tone"]`)
	p.want(`c.querySelectorAll(".canvas-marquee").length`, `0`)
	p.click(p.head("write"), kb.ModifierShift)
	p.want(`c.selection.nodes.size`, `3`)
	p.click(point{from.X - 150, from.Y - 40})
	p.want(`c.selection.nodes.size`, `0`)
	before := p.position("tone")
	p.press("Ctrl+A")
	p.drag(from, point{from.X + 50, from.Y + 50})
	if after := p.position("tone"); after.X <= before.X || after.Y <= before.Y {
		t.Fatalf("the rest of the selection moved from %v to %v", before, after)
	}
}

func deletesAndUndoes(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.click(p.head("write"))
	p.press("Delete")
	p.want(`[c.scene.boxes.size, c.edges.size, !!c.querySelector("#node-write")]`, `[5,0,false]`)
	p.saved()
	p.press("Ctrl+Z")
	p.want(`[c.scene.boxes.size, c.edges.size, c.querySelector("#node-write").hasAttribute("data-selected")]`, `[6,2,false]`)
	p.saved()
	if d := s.now(); len(d.Nodes) != 6 || len(d.Edges) != 2 {
		t.Fatalf("after undo the server has %v", d)
	}
	p.press("Ctrl+Shift+Z")
	p.saved()
	p.want(`[c.scene.boxes.size, c.edges.size]`, `[5,0]`)
	p.do(reload)
	p.ready()
	p.want(`c.history.labels.undo`, `"Delete"`)
	p.click(p.head("tone"))
	p.press("Ctrl+Z") // its element was lost with the page: the server sends the content
	p.until(`c.querySelectorAll("#node-write [data-port]").length === 4 && c.edges.size === 2`)
	p.until(`[...c.querySelectorAll(".canvas-edge-line")].every((l) => l.getTotalLength() > 20)`)
	p.saved()
	if d := s.now(); !slices.ContainsFunc(d.Nodes, func(n testNode) bool { return n.ID == "write" && n.Config["name"] == "write" }) {
		t.Fatalf("the config was not restored: %v", d.Nodes)
	}
}

func movesEndsOfEdges(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.drag(p.port("write.prompt", "in"), p.port("write.tone", "in"))
	p.saved()
	if !s.has(testEdge{"ticket.value", "write.tone"}) || s.has(testEdge{"ticket.value", "write.prompt"}) {
		t.Fatalf("the server has %v", s.now().Edges)
	}
	p.press("Ctrl+Z") // one step, though it was two ops
	p.saved()
	if !s.has(testEdge{"ticket.value", "write.prompt"}) || len(s.now().Edges) != 2 {
		t.Fatalf("after undo the server has %v", s.now().Edges)
	}
	p.eval(`c.selection.set([], ["ticket.value>write.prompt"])`)
	p.drag(p.middle(`c.querySelector('.canvas-edge-grip[data-end="from"]')`), p.port("tone.value", "out"))
	p.saved()
	if !s.has(testEdge{"tone.value", "write.prompt"}) || len(s.now().Edges) != 2 {
		t.Fatalf("the server has %v", s.now().Edges)
	}
	empty := p.head("tone")
	p.drag(p.port("write.prompt", "in"), point{empty.X, empty.Y + 150})
	p.saved()
	if len(s.now().Edges) != 1 {
		t.Fatalf("dropped on empty space, the edge is still there: %v", s.now().Edges)
	}
}

func opensPalette(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	at := p.head("tone")
	to := point{at.X + 60, at.Y + 150}
	p.drag(p.port("tone.value", "out"), to)
	p.want(`[heard.palette.length, heard.palette[0].port]`, `[1,{"node":"tone","name":"value","side":"out","type":"text","many":false}]`)
	p.eval(`c.insert({ kind: "upper", config: {}, position: heard.palette[0].position }, { port: heard.palette[0].port })`)
	p.until(`c.draft.hasEdge({ from: "tone.value", to: "upper.text" })`)
	p.saved()
	p.press("Ctrl+Z") // node and edge are one step
	p.saved()
	if d := s.now(); len(d.Nodes) != 6 || len(d.Edges) != 2 {
		t.Fatalf("after undo the server has %v", d)
	}
}

func insertsIntoEdges(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.eval(`c.edges.showTools("ticket.value>write.prompt")`)
	p.click(p.middle(`c.querySelector(".canvas-edge-plus circle")`))
	p.want(`heard.palette[0].edge`, `{"from":"ticket.value","to":"write.prompt"}`)
	p.eval(`c.insert({ kind: "upper", config: {}, position: { x: 100, y: 500 } }, { edge: heard.palette[0].edge })`)
	p.until(`c.draft.hasEdge({ from: "ticket.value", to: "upper.text" })`)
	p.saved()
	p.until(`!c.querySelector("[data-gliding]") && heard.inserted?.[0].moved === 2`) // write and answer made room
	p.want(`[c.draft.position("upper").x, c.draft.position("write").x, c.draft.position("answer").x, c.draft.position("plain").x]`, `[224,450,750,600]`)
	if !s.has(testEdge{"upper.text", "write.prompt"}) || s.has(testEdge{"ticket.value", "write.prompt"}) {
		t.Fatalf("the server has %v", s.now().Edges)
	}
	middle := value[point](p, `(() => { const l = c.edges.path("write.text>answer.value"), q = l.getPointAtLength(l.getTotalLength() / 2), m = l.getScreenCTM(); return { x: q.x * m.a + m.e, y: q.y * m.d + m.f }; })()`)
	p.drag(p.head("plain"), middle)
	p.saved()
	if !s.has(testEdge{"write.text", "plain.text"}) || !s.has(testEdge{"plain.text", "answer.value"}) || s.has(testEdge{"write.text", "answer.value"}) {
		t.Fatalf("dropped on an edge: the server has %v", s.now().Edges)
	}
	p.press("Ctrl+Z", "Ctrl+Z") // each insertion is one step, with those who made room
	p.saved()
	if s.position("write") != (point{300, 0}) || s.position("answer") != (point{600, 0}) || s.position("plain") != (point{600, 240}) {
		t.Fatalf("after undo the server has %v", s.now().Nodes)
	}
}

func groupsNodes(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.click(p.head("ticket"))
	p.click(p.head("tone"), kb.ModifierShift)
	p.press("Ctrl+G")
	p.saved()
	if g := s.now().Groups; len(g) != 1 || !slices.Equal(g[0].Nodes, []string{"ticket", "tone"}) {
		t.Fatalf("the server has groups %v", g)
	}
	p.until(`c.querySelector(".canvas-group-fold").getBoundingClientRect().width > 0`)
	before, name := p.position("tone"), p.middle(`c.querySelector(".canvas-group-name")`)
	p.drag(name, point{name.X + 40, name.Y + 60})
	p.saved()
	if after := s.position("tone"); after.X <= before.X || after.Y <= before.Y {
		t.Fatalf("the frame did not take its nodes along: %v to %v", before, after)
	}
	p.click(p.middle(`c.querySelector(".canvas-group-fold")`))
	p.want(`[c.scene.hidden("ticket"), c.edges.element("ticket.value>write.prompt").style.display]`, `[true,""]`)
	p.do(reload)
	p.ready()
	p.want(`c.scene.hidden("ticket")`, `true`)
	p.click(p.middle(`c.querySelector(".canvas-group-fold")`))
	p.want(`c.scene.hidden("ticket")`, `false`)
	p.click(p.head("ticket"))
	p.press("Ctrl+Shift+G")
	p.saved()
	if g := s.now().Groups; len(g) != 0 {
		t.Fatalf("the server has groups %v", g)
	}
}

func copiesByAltDrag(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	at, before := p.head("plain"), p.position("plain")
	p.drag(at, point{at.X + 20, at.Y + 150}, kb.ModifierAlt)
	p.until(`c.querySelectorAll("#node-plain_2 [data-port]").length === 2`)
	p.saved()
	if s.position("plain") != before || s.position("plain_2").Y <= before.Y {
		t.Fatalf("the origin is at %v, the copy at %v", s.position("plain"), s.position("plain_2"))
	}
	p.drag(at, point{at.X + 90, at.Y - 20}, kb.ModifierShift)
	if after := p.position("plain"); after.Y != before.Y || after.X <= before.X {
		t.Fatalf("with Shift it went from %v to %v, want one axis", before, after)
	}
	p.grab(p.head("plain"), point{at.X, at.Y + 100})
	p.press("Escape")
	p.mouse(released, point{at.X, at.Y + 100})
	if after := p.position("plain"); after.Y != before.Y {
		t.Fatalf("Escape left it at %v", after)
	}
}
