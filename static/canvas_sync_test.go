package static_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

var reload = chromedp.Reload()

// converges changes different nodes in two tabs at once; the later one receives
// what it missed, and both end with the same flow.
func converges(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p, q := open(t, b, s.URL), open(t, b, s.URL)
	p.eval(`c.commit("Move", [{ op: "move", nodes: { ticket: { x: -100, y: 0 }, tone: { x: 5, y: 5 } } }])`)
	p.saved()
	q.eval(`c.commit("Move", [{ op: "move", nodes: { answer: { x: 900, y: 0 }, tone: { x: 7, y: 7 } } }])`)
	q.eval(`c.commit("Delete", [{ op: "remove", nodes: ["plain"] }])`)
	q.saved()
	q.want(`[c.draft.position("ticket").x, c.draft.position("tone").x, c.sync.rev]`, `[-100,7,4]`)
	p.eval(fmt.Sprintf(`c.sync.remote(%s)`, s.line(t, 4))) // the stream skipped one
	p.until(`c.sync.rev === 4`)
	p.want(`[c.draft.position("answer").x, c.draft.position("tone").x, c.scene.elements.has("plain")]`, `[900,7,false]`)
	document := `JSON.stringify([c.document(), [...c.querySelectorAll("article")].map((a) => a.id + a.style.transform)])`
	if a, b := p.text(document), q.text(document); a != b {
		t.Fatalf("the tabs differ:\n%s\n%s", a, b)
	}
	p.press("Ctrl+Z")
	p.click(p.head("ticket"))
	p.press("Ctrl+Z")
	p.saved()
	if got := s.position("ticket"); got.X != 0 {
		t.Fatalf("undo after a change elsewhere left ticket at %v", got)
	}
}

// savesAfterOffline keeps changes while the server is unreachable, also across a
// reload.
func savesAfterOffline(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	s.offline.Store(true)
	p.eval(`c.commit("Move", [{ op: "move", nodes: { ticket: { x: 10, y: 10 } } }]); c.commit("Move", [{ op: "move", nodes: { tone: { x: 20, y: 20 } } }])`)
	p.until(`heard.state.at(-1).state === "offline" && heard.state.at(-1).waiting === 2`)
	p.do(reload)
	p.ready()
	if got := p.position("tone"); got.X != 20 {
		t.Fatalf("after the reload tone is at %v", got)
	}
	if got := s.position("tone"); got.X == 20 {
		t.Fatal("the server received it while offline")
	}
	s.offline.Store(false)
	p.saved()
	if s.position("ticket").X != 10 || s.position("tone").X != 20 {
		t.Fatalf("the server has %v", s.now().Nodes)
	}
	p.until(`c.sync.waiting === 0`)
	p.click(p.head("ticket"))
	p.press("Ctrl+Z")
	p.saved()
	if got := s.position("tone"); got.X == 20 {
		t.Fatal("undo did not survive the reload")
	}
}

// undoesRejected undoes a change that the server rejects and keeps later ones.
func undoesRejected(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	reason, gate := "The flow is locked.", make(chan struct{})
	s.refuse.Store(&reason)
	s.hold.Store(&gate)
	p.eval(`c.commit("Delete", [{ op: "remove", nodes: ["write"] }]); c.commit("Move", [{ op: "move", nodes: { tone: { x: 30, y: 30 } } }])`)
	p.want(`c.edges.size`, `0`)
	gate <- struct{}{}
	p.until(`heard.refused?.[0].reason === "The flow is locked."`)
	s.refuse.Store(nil)
	s.hold.Store(nil)
	close(gate)
	p.saved()
	p.want(`[c.edges.size, c.scene.elements.has("write"), c.draft.position("tone").x]`, `[2,true,30]`)
	if s.position("tone").X != 30 || len(s.now().Nodes) != 6 {
		t.Fatalf("the server has %v", s.now())
	}
	p.want(`c.history.labels.undo`, `"Move"`)
}

// sendsOnUnload checks that a change is sent while the page unloads.
func sendsOnUnload(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	gate := make(chan struct{})
	s.hold.Store(&gate)
	p.eval(`c.commit("Move", [{ op: "move", nodes: { ticket: { x: 10, y: 10 } } }]); c.commit("Move", [{ op: "move", nodes: { tone: { x: 20, y: 20 } } }])`)
	close(gate)
	p.do(chromedp.Navigate("about:blank"))
	p.waitFor("both moves", func() bool { return s.position("ticket").X == 10 && s.position("tone").X == 20 })
}

// followsSwaps morphs the content of a node, as the page does, and replaces a
// whole node.
func followsSwaps(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.click(p.head("write"))
	p.eval(`window.was = c.querySelector("#node-write")`)
	path := p.text(`c.edges.path("ticket.value>write.prompt").getAttribute("d")`)
	n := sampleFlow().Nodes[2]
	n.Label, n.Config["extra"] = "Write a reply", 3.0
	s.fragment(n)
	for _, swap := range []string{"innerMorph strip:true", "outerMorph", "outerHTML"} {
		p.eval(`htmx.ajax("GET", "/fragment", { target: "#node-write", swap: "` + swap + `" })`)
		p.until(`c.querySelectorAll("#node-write [data-port]").length === 7 && c.scene.ports.get("write").length === 7`)
		p.until(`c.scene.boxes.get("write")?.internals.handleBounds?.target.length === 5`)
		p.want(`[...c.querySelectorAll("#node-write [data-port]")].every((e) => e.classList.contains("sluice-flow__handle") && e.dataset.nodeid === "write")`, `true`)
		p.want(`[c.querySelector("#node-write").hasAttribute("data-selected"), c.querySelector("#node-write").tabIndex]`, `[true,0]`)
		if swap != "outerHTML" {
			p.want(`was === c.querySelector("#node-write")`, `true`)
		}
	}
	p.want(`c.querySelector("#node-write").getAttribute("aria-label")`, `"Write a reply, chat, 5 inputs, 1 connected"`)
	before, at := p.position("write"), p.head("write")
	p.drag(at, point{at.X + 10, at.Y + 100})
	if p.position("write") == before || p.text(`c.edges.path("ticket.value>write.prompt").getAttribute("d")`) == path {
		t.Fatal("after the swap the node or its edge does not move")
	}
}

// showsRunStates shows states of steps on nodes and edges, from the page and from
// inside a node.
func showsRunStates(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	p.eval(`c.dispatchEvent(new CustomEvent("canvas:paint", { detail: { steps: [{ node: "ticket", state: "succeeded" }, { node: "write", state: "running" }] } }))`)
	p.want(`[c.querySelector("#node-write").dataset.state, c.edges.element("ticket.value>write.prompt").dataset.state]`, `["running","running"]`)
	p.eval(`c.querySelector("#node-write").insertAdjacentHTML("beforeend", '<span data-step="failed">failed</span>')`)
	p.until(`c.querySelector("#node-write").dataset.state === "failed"`)
	p.until(`c.querySelector(".canvas-live").textContent === "write failed"`)
	p.eval(`c.dispatchEvent(new CustomEvent("canvas:paint", { detail: { steps: [{ node: "write", state: "" }, { node: "answer", state: "succeeded" }] } }))`)
	p.until(`c.querySelector("#node-answer").dataset.state === "succeeded"`)
	p.want(`c.querySelector("#node-write").dataset.state ?? null`, `null`)
}

// tidies lays the flow out, remembers the view, and works after the element was
// removed from the page and inserted again.
func tidies(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	p.eval(`c.commit("Move", [{ op: "move", nodes: Object.fromEntries([...c.scene.boxes.keys()].map((id) => [id, { x: 0, y: 0 }])) }])`)
	p.eval(`c.tidy()`)
	p.saved()
	if s.position("ticket").X >= s.position("write").X || s.position("write").X >= s.position("answer").X {
		t.Fatalf("tidied to %v", s.now().Nodes)
	}
	p.eval(`c.view.panZoom.setViewport({ x: 33, y: 44, zoom: 0.7 })`)
	p.eval(`c.view.remember()`)
	p.until(`JSON.parse(localStorage.getItem("canvas:flow_1:view") ?? "{}").x === 33`)
	p.do(reload)
	p.ready()
	p.want(`c.view.transform`, `[33,44,0.7]`)
	p.eval(`document.body.append(c)`) // disconnects and connects it
	p.until(`c.hasAttribute("ready")`)
	p.want(`[c.querySelectorAll(".canvas-pane").length, c.scene.boxes.size, c.edges.size, c.querySelectorAll(".canvas-minimap").length]`, `[1,6,2,1]`)
	before, at := p.position("ticket"), p.head("ticket")
	p.drag(at, point{at.X + 40, at.Y + 40})
	if p.position("ticket") == before {
		t.Fatal("it does not work after it was connected again")
	}
}

// asksForReload checks that a reload is requested when the server's log no longer
// has the missed changes, and that the own change is kept.
func asksForReload(t *testing.T, b context.Context) {
	s := serveDraft(t, sampleFlow())
	p := open(t, b, s.URL)
	s.gone.Store(true)
	p.eval(`c.commit("Move", [{ op: "move", nodes: { ticket: { x: 10, y: 10 } } }])`)
	p.until(`heard.state.at(-1).state === "reload" && heard.state.at(-1).waiting === 1`)
	s.gone.Store(false)
	p.do(reload)
	p.ready()
	p.saved()
	if got := s.position("ticket"); got.X != 10 {
		t.Fatalf("after the reload ticket is at %v", got)
	}
}

// countsItems shows how long steps took and how many items went over edges.
func countsItems(t *testing.T, b context.Context) {
	p := open(t, b, serveDraft(t, sampleFlow()).URL)
	p.eval(`c.dispatchEvent(new CustomEvent("canvas:paint", { detail: { steps: [{ node: "ticket", state: "succeeded", ms: 1240, items: { value: 3 } }, { node: "write", state: "succeeded", ms: 80, items: { text: 1 } }] } }))`)
	p.want(`[c.querySelector("#node-ticket").dataset.took, c.querySelector("#node-write").dataset.took]`, `["1.2 s","80 ms"]`)
	p.want(`[...c.querySelectorAll(".canvas-edge-items")].map((e) => e.textContent)`, `["3"]`)
	p.want(`c.edges.element("ticket.value>write.prompt").getAttribute("aria-label").endsWith(", 3 items")`, `true`)
	p.want(`c.querySelector("#node-ticket").getAttribute("aria-label")`, `"ticket, input, 0 inputs, last run succeeded in 1.2 s"`)
	p.eval(`c.dispatchEvent(new CustomEvent("canvas:paint", { detail: { steps: [{ node: "ticket", state: "" }, { node: "write", state: "" }] } }))`)
	p.want(`[c.querySelectorAll(".canvas-edge-items").length, c.querySelector("#node-ticket").dataset.took ?? null]`, `[0,null]`)
}
