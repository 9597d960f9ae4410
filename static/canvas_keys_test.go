package static_test

import (
	"context"
	"fmt"
	"testing"
)

// worksByKeyboard connects, moves and deletes nodes without a pointer.
func worksByKeyboard(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	focused := `document.activeElement.dataset.id ?? document.activeElement.id`
	p.eval(`document.querySelector("#before").focus()`)
	p.press("Tab")
	p.want(focused, `"ticket"`)
	p.press("Tab")
	p.want(focused, `"after"`) // one tab stop
	p.press("Shift+Tab", "Right")
	p.want(focused, `"write"`)
	p.press("Alt+Right")
	p.want(focused, `"answer"`)
	p.press("Alt+Left", "Alt+Left")
	p.want(focused, `"ticket"`)

	p.press("Down")
	p.want(focused, `"tone"`)
	p.press("Enter")
	p.want(`document.activeElement.dataset.port`, `"value"`)
	p.press("Enter") // choose the port, then go to one that fits
	p.want(`c.taps.pending.node`, `"tone"`)
	p.want(`c.querySelector(".canvas-hint").textContent`, `"Connecting tone › value: 5 ports fit. Arrows choose, Enter connects, Esc cancels."`)
	for range 20 {
		if p.text(`document.activeElement.dataset.nodeid + "." + document.activeElement.dataset.port`) == "write.tone" {
			break
		}
		p.press("Down")
	}
	p.want(`document.activeElement.dataset.nodeid + "." + document.activeElement.dataset.port`, `"write.tone"`)
	p.until(`c.querySelector(".canvas-live").textContent === "write › tone"`)
	p.press("Enter")
	p.want(`c.querySelector(".canvas-hint")`, `null`)
	p.saved()
	if !s.has(testEdge{"tone.value", "write.tone"}) {
		t.Fatalf("the server has %v", s.now().Edges)
	}
	p.until(`c.querySelector(".canvas-live").textContent.startsWith("Connected tone value to write tone")`)

	p.press("Escape")
	p.want(focused, `"write"`)
	before := p.position("write")
	p.press("Space", "Right", "Shift+Down")
	p.saved()
	if got := s.position("write"); got.X != before.X+10 || got.Y != before.Y+40 {
		t.Fatalf("moved from %v to %v, want 10 and 40 further", before, got)
	}
	p.press("Delete")
	p.want(`document.activeElement.matches("article")`, `true`) // a neighbor has the focus
	p.saved()
	if n := len(s.now().Nodes); n != 5 {
		t.Fatalf("the server has %d nodes, want 5", n)
	}
	p.press("Ctrl+Z", "Ctrl+Z", "Ctrl+Z", "Ctrl+Z")
	p.saved()
	if d := s.now(); len(d.Nodes) != 6 || len(d.Edges) != 2 || s.position("write") != before {
		t.Fatalf("after undoing everything the server has %v", d)
	}
	p.press("Ctrl+A", "D")
	p.saved()
	if !s.now().Nodes[0].Disabled {
		t.Fatal("D did not disable")
	}
}

// keepsPortFocus checks that a port keeps the focus when the server renders its node
// again: also an output whose name an input has too, and while an edge is being made.
func keepsPortFocus(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	render := func(node string, extra, ports int) {
		p.eval(fmt.Sprintf(`c.commit("Set", [{ op: "set", node: %q, field: "extra", value: %d }])`, node, extra))
		p.until(fmt.Sprintf(`c.querySelectorAll("#node-%s [data-port]").length === %d`, node, ports))
	}
	p.eval(`c.keys.focus("plain")`)
	p.press("Enter", "Down")
	focused := `[document.activeElement.dataset.nodeid, document.activeElement.dataset.port, document.activeElement.dataset.side]`
	p.want(focused, `["plain","text","out"]`)
	render("plain", 1, 3)
	p.want(focused, `["plain","text","out"]`)
	p.press("Enter")
	p.want(`[c.taps.pending?.node, c.taps.pending?.side]`, `["plain","out"]`)
	render("plain", 2, 4)
	render("write", 1, 5)
	p.want(focused, `["plain","text","out"]`)
	p.want(`[...c.querySelectorAll("[data-pending]")].map((e) => e.dataset.side)`, `["out"]`)
	p.want(`c.querySelectorAll("#node-write [data-fit=yes]").length`, `3`)
	p.press("Escape")
	p.want(`c.querySelectorAll("[data-pending], [data-fit]").length`, `0`)
	p.want(focused, `["plain","text","out"]`)

	p.eval(`c.querySelector("#node-plain").insertAdjacentHTML("beforeend", "<a href='#'>Help</a>")`)
	p.eval(`c.querySelector("#node-plain a").focus()`)
	render("plain", 3, 5)
	p.want(`document.activeElement.id`, `"node-plain"`) // the link is gone: its node has the focus
}

// ignoresLetters checks that single letters are no shortcuts outside the canvas.
func ignoresLetters(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.click(p.head("write"))
	p.eval(`document.querySelector("#after").focus()`)
	p.press("D", "Delete")
	p.want(`c.scene.boxes.size`, `6`)
	p.want(`c.sync.waiting + (heard.ops?.length ?? 0)`, `0`)
}

func staysReadonly(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL+"/?readonly")
	at, before := p.head("write"), p.position("write")
	p.drag(at, point{at.X + 50, at.Y + 50})
	p.drag(p.port("tone.value", "out"), p.port("write.tone", "in"))
	p.click(p.head("write"))
	p.want(`[...c.selection.nodes]`, `["write"]`)
	p.press("Delete", "Right", "D", "Ctrl+D")
	if p.position("write") != before {
		t.Fatal("a node moved")
	}
	p.want(`[c.scene.boxes.size, c.edges.size, heard.ops ?? null]`, `[6,2,null]`)
}

func pastes(t *testing.T, b context.Context) {
	first, second := serveDraft(t, sampleFlow()), serveDraft(t, sampleFlow())
	p := open(t, b, first.URL)
	p.click(p.head("ticket"))
	p.eval(`c.selection.set(["ticket", "write"])`)
	p.press("Ctrl+C")
	q := open(t, b, second.URL)
	q.click(q.head("tone"))
	q.press("Ctrl+V")
	q.until(`c.querySelectorAll("#node-write_2 [data-port]").length === 4`)
	q.saved()
	if !second.has(testEdge{"ticket_2.value", "write_2.prompt"}) || len(second.now().Nodes) != 8 {
		t.Fatalf("the other flow has %v", second.now())
	}
	q.want(`[...c.selection.nodes].sort()`, `["ticket_2","write_2"]`)
	q.press("Ctrl+Z")
	q.saved()
	if len(second.now().Nodes) != 6 {
		t.Fatal("a paste is not one step")
	}
	p.eval(`c.draft.nodes.get("ticket").config.secret = { credential: "mine" }`)
	p.want(`"secret" in c.clipboard.clip(new Set(["ticket"])).nodes[0].config`, `false`)
}

// reconnectsNeighbors deletes a node in the middle and connects its neighbors, at
// once or when the page commits the offered operations.
func reconnectsNeighbors(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.click(p.head("write"))
	p.press("Delete")
	p.want(`heard.reconnect[0].ops.map((op) => op.edge)`, `[{"from":"ticket.value","to":"answer.value"}]`)
	p.want(`c.edges.size`, `0`)
	p.press("Ctrl+Z")
	p.click(p.head("write"))
	p.press("Shift+Delete")
	p.saved()
	if !s.has(testEdge{"ticket.value", "answer.value"}) || len(s.now().Nodes) != 5 {
		t.Fatalf("the server has %v", s.now())
	}
	p.press("Ctrl+Z")
	p.saved()
	if d := s.now(); len(d.Nodes) != 6 || len(d.Edges) != 2 {
		t.Fatalf("after undo the server has %v", d)
	}
}

func renamesAndPins(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	p.press("P")
	p.want(`heard.pin ?? null`, `null`)
	p.click(p.head("write"))
	p.press("F2", "P")
	p.want(`[heard.open.at(-1), heard.pin]`, `[{"node":"write","part":"label"},[{"nodes":["write"]}]]`)
	p.eval(`c.keys.focus("tone")`) // another node is selected: keys for one node mean the focused one
	p.press("F2")
	p.want(`heard.open.at(-1)`, `{"node":"tone","part":"label"}`)
	p.press("E")
	p.want(`heard.open.at(-1).node`, `"tone"`)
	p.eval(`(() => { const b = document.createElement("button"); c.querySelector("#node-tone header").append(b); })()`) // as the mark of a problem
	p.press("Enter")
	p.want(`document.activeElement.dataset.port`, `"value"`)
}

func pastesWithEdges(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.click(p.head("write"))
	p.press("Ctrl+C", "Ctrl+Shift+V")
	p.saved()
	if !s.has(testEdge{"ticket.value", "write_2.prompt"}) {
		t.Fatalf("the server has %v", s.now().Edges)
	}
}
