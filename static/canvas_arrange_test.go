package static_test

import (
	"context"
	"testing"
)

func showsHelperLines(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	at := p.head("answer")
	p.grab(at, point{at.X + 2, at.Y + 50}) // above "plain", which has the same left edge
	p.want(`/^M600,/.test(c.querySelector(".canvas-guides").getAttribute("d"))`, `true`)
	if got := p.position("answer"); got.X != 600 {
		t.Fatalf("it did not snap to the guide: it is at %v", got)
	}
	p.mouse(released, point{at.X + 2, at.Y + 50})
	p.want(`c.querySelector(".canvas-guides")`, `null`)
}

func aligns(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.eval(`c.selection.set(["ticket", "write", "join"]); c.align("left")`)
	p.saved()
	if s.position("write").X != 0 || s.position("join").X != 0 || s.position("write").Y != 0 {
		t.Fatalf("aligned to %v", s.now().Nodes)
	}
	p.press("Ctrl+Z")
	p.eval(`c.selection.set(["ticket", "tone", "plain"]); c.commit("Move", [{ op: "move", nodes: { tone: { x: 40, y: 200 } } }]); c.align("columns")`)
	p.saved()
	if got := s.position("tone").X; got != 300 || s.position("ticket").X != 0 || s.position("plain").X != 600 {
		t.Fatalf("spread to %v", s.now().Nodes)
	}
}

func tidiesLargeFlow(t *testing.T, b context.Context) {
	s := serveDraft(t, bigFlow())
	p := open(t, b, s.URL)
	p.eval(`c.tidy()`)
	p.saved()
	if a, b := s.position("n0"), s.position("n499"); a.X >= b.X {
		t.Fatalf("tidied the first to %v, the last to %v", a, b)
	}
}

func resizesNotes(t *testing.T, b context.Context) {
	d := sampleFlow()
	d.Nodes = append(d.Nodes, testNode{ID: "remark", Kind: "note", Position: point{0, 400}, Config: map[string]any{"width": 300.0, "height": 120.0}})
	s := serveDraft(t, d)
	p := open(t, b, s.URL)
	p.want(`[c.scene.box("remark").width, c.scene.box("remark").height]`, `[300,120]`)
	corner := value[point](p, `(() => { const r = c.querySelector("#node-remark").getBoundingClientRect(); return { x: r.right - 5, y: r.bottom - 5 }; })()`)
	p.drag(corner, point{corner.X + 50, corner.Y + 40})
	p.saved()
	config := map[string]any{}
	now := s.now()
	now.with("remark", func(n *testNode) { config = n.Config })
	if number(config["width"]) <= 300 || number(config["height"]) <= 120 || s.position("remark") != (point{0, 400}) {
		t.Fatalf("resized to %v at %v", config, s.position("remark"))
	}
	p.press("Ctrl+Z")
	p.until(`c.scene.box("remark").width === 300 && c.scene.box("remark").height === 120`)
}
