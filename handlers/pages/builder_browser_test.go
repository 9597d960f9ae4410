package pages

import (
	"testing"

	"sluice/flow"
)

// twoNodes have nothing between them yet.
const twoNodes = `{"schema": "sluice.flow/v1", "name": "Shout", "nodes": [
	{"id": "word", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "word", "type": "text"}},
	{"id": "loud", "kind": "output", "position": {"x": 400, "y": 0}, "config": {"name": "loud"}}
], "edges": []}`

// builder waits until the canvas of a tab is there and nothing is on its way.
func (p *tab) builder(path string) *tab {
	p.t.Helper()
	p.open(path)
	p.until(`document.querySelector("flow-canvas[ready]") && document.getElementById("zoom").textContent !== ""`)
	return p
}

func (p *tab) saved() {
	p.t.Helper()
	p.until(`canvas.sync.waiting === 0 && !document.querySelector("article[aria-busy]")`)
}

func TestBuilder_inABrowser(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberEditor)
	id := h.flow(sampleFlow)
	h.setDraft(id, twoNodes)
	p := b.tab(chromium(t), 1440, 900).builder("/flows/" + id)

	// By mouse: a node from the palette onto the canvas, and two edges.
	p.drag(p.middle(`.kind[data-kind="template"]`), spot{600, 560})
	p.saved()
	p.until(`canvas.draft.nodes.has("template")`)
	p.want(`canvas.selection.nodes.has("template")`, `true`)
	// By keyboard: the floating palette, at the centre of what is seen.
	p.press("Escape", "/")
	p.until(`document.getElementById("chooser").open`)
	p.write("sentim")
	p.press("Enter")
	p.until(`canvas.draft.nodes.has("sentiment")`)
	p.saved()
	if d := h.draft(id); d.Node("template") == nil || d.Node("sentiment") == nil {
		t.Fatalf("the server has %s", d.Encode())
	}
	// An edge, its undo, a reload, and its redo. Nothing may float over the ports,
	// nor the view still be on its way.
	value[bool](p, `new Promise((done) => { canvas.selection.clear(); canvas.view.fit(undefined, 0); requestAnimationFrame(() => requestAnimationFrame(() => done(true))); })`)
	p.drag(p.middle(`#node-word [data-side="out"]`), p.middle(`#node-loud [data-side="in"]`))
	p.until(`canvas.draft.edges.length === 1`)
	p.until(`document.getElementById("undo").title.includes("Connect")`)
	p.saved()
	p.click("#undo")
	p.until(`canvas.draft.edges.length === 0`)
	p.saved()
	p.builder("/flows/" + id)
	p.until(`!document.getElementById("redo").disabled`)
	p.press("Ctrl+Shift+Z")
	p.until(`canvas.draft.edges.length === 1`)
	p.saved()
	if e := h.draft(id).Edges; len(e) != 1 || e[0] != (flow.Edge{From: "word.value", To: "loud.value"}) {
		t.Fatalf("the server has %v", e)
	}
	// Names: of a node where it lies, and of the flow.
	value[bool](p, `(canvas.selection.set(["loud"]), canvas.keys.focus("loud"), true)`)
	p.press("F2")
	p.until(`document.querySelector("input.renaming") === document.activeElement`)
	p.write("Loud word")
	p.press("Enter")
	p.until(`canvas.draft.nodes.get("loud").label === "Loud word"`)
	p.click("#flow-name")
	value[bool](p, `(document.getElementById("flow-name").select(), true)`)
	p.write("Shout it")
	p.press("Enter")
	p.until(`document.title.startsWith("Shout it")`)
	p.saved()
	if d := h.draft(id); d.Name != "Shout it" || d.Node("loud").Label != "Loud word" {
		t.Fatalf("the server has %q and %q", d.Name, d.Node("loud").Label)
	}
}

func TestBuilder_problemsFollowEdits(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(sampleFlow)
	p := h.as(flow.MemberEditor).tab(chromium(t), 1440, 900).builder("/flows/" + id)
	value[bool](p, `(canvas.commit("Disconnect", [{ op: "disconnect", edge: { from: "team.label", to: "reply.team" } }]), true)`)
	p.until(`document.getElementById("problem-count").textContent === "1" && document.querySelector("#node-reply [data-trouble]")`)
	p.click("#node-reply [data-trouble]")
	p.until(`canvas.selection.nodes.has("reply")`)
	p.click("#undo") // by the button: the focus goes into a field, which has an undo of its own
	p.until(`document.getElementById("problem-count").textContent === "" && !document.querySelector("[data-trouble]")`)
}

func TestBuilder_twoTabs(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(sampleFlow)
	ada, lin := h.as(flow.MemberEditor), h.as(flow.MemberViewer)
	left := ada.tab(chromium(t), 1200, 800).builder("/flows/" + id)
	right := lin.tab(chromium(t), 1200, 800).builder("/flows/" + id)
	left.until(`document.querySelectorAll("#others li").length === 1`)
	value[bool](left, `(canvas.commit("Rename", [{ op: "put", node: "team", member: "label", value: "Whose is it" }]), true)`)
	right.until(`document.querySelector("#node-team [data-title]").textContent === "Whose is it"`)
	value[bool](left, `(canvas.selection.set(["answer"]), canvas.erase(), true)`)
	right.until(`!document.getElementById("node-answer")`)
	right.want(`canvas.sync.rev === Number(document.getElementById("builder").dataset.rev)`, `true`)
	right.want(`!document.querySelector("#palette, #undo, #selection-bar")`, `true`)
}

func TestBuilder_onAPhone(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(sampleFlow)
	p := h.as(flow.MemberEditor).tab(chromium(t), 375, 812).builder("/flows/" + id)
	p.want(`document.documentElement.scrollWidth`, `375`)
	p.want(`[...document.querySelectorAll(".builder-top .acts .btn, .builder-top .turn .btn")].every((b) => b.getBoundingClientRect().right <= 375 && b.scrollWidth <= b.clientWidth + 1)`, `true`)
	value[bool](p, `(canvas.commit("Disconnect", [{ op: "disconnect", edge: { from: "team.label", to: "reply.team" } }]), true)`)
	p.until(`document.querySelector("#publish-button [data-command='problems']")`)
	p.want(`(() => { const b = document.querySelector("#publish-button .btn"), r = b.getBoundingClientRect(); return r.width > 24 && r.right <= 375 && document.querySelector("#flow-menu summary").getBoundingClientRect().right <= 375; })()`, `true`)
	p.press("Ctrl+Z")
	p.until(`!document.querySelector("#publish-button [data-command='problems']")`)
	p.saved()
	p.click(`[data-line="reply"]`)
	p.until(`document.querySelector("#outline-label")`)
	value[bool](p, `(document.querySelector("#outline-label").focus(), true)`)
	p.write("First reply")
	p.press("Enter")
	p.until(`document.querySelector('[data-line="reply"] b').textContent === "First reply"`)
	p.click(`[data-line="ticket"]`)
	p.until(`document.getElementById("connect-to-ticket.value")`)
	value[bool](p, `(() => { const s = document.getElementById("connect-to-ticket.value"); s.value = "team.labels"; s.form.requestSubmit(); return true; })()`)
	p.until(`document.querySelectorAll("#line-ticket .edge").length === 2`)
	p.saved()
	if d := h.draft(id); d.Node("reply").Label != "First reply" || len(d.Edges) != 4 {
		t.Fatalf("the server has %s", d.Encode())
	}
	p.click(`[data-command="show-canvas"]`)
	p.until(`document.getElementById("outline").offsetParent === null`)
}
