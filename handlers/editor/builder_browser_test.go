package editor_test

import (
	"fmt"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// twoNodes have nothing between them yet.
const twoNodes = `{"schema": "sluice.flow/v1", "name": "Shout", "nodes": [
	{"id": "word", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "word", "type": "text"}},
	{"id": "loud", "kind": "output", "position": {"x": 400, "y": 0}, "config": {"name": "loud"}}
], "edges": []}`

func TestBuilder_inABrowser(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, twoNodes)
	p := b.Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)

	// By mouse: a node from the palette onto the canvas, and two edges.
	p.Click(`[data-palette-group]:has([data-kind="template"]) .rail-group`)
	p.Drag(p.Middle(`.kind[data-kind="template"]`), webtest.Point{X: 600, Y: 560})
	p.Saved()
	p.Until(`canvas.draft.nodes.has("template")`)
	p.Want(`canvas.selection.nodes.has("template")`, `true`)
	// By keyboard: the floating palette, at the centre of what is seen.
	p.Press("Escape", "/")
	p.Until(`document.getElementById("chooser").open`)
	p.Write("sentim")
	p.Press("Enter")
	p.Until(`canvas.draft.nodes.has("sentiment")`)
	p.Saved()
	if d := h.Draft(id); d.Node("template") == nil || d.Node("sentiment") == nil {
		t.Fatalf("the server has %s", d.Encode())
	}
	// An edge, its undo, a reload, and its redo. Nothing may float over the ports,
	// nor the view still be on its way.
	webtest.Value[bool](p, `new Promise((done) => { canvas.selection.clear(); canvas.view.fit(undefined, 0); requestAnimationFrame(() => requestAnimationFrame(() => done(true))); })`)
	p.Drag(p.Middle(`#node-word [data-side="out"]`), p.Middle(`#node-loud [data-side="in"]`))
	p.Until(`canvas.draft.edges.length === 1`)
	p.Until(`document.getElementById("undo").title.includes("Connect")`)
	p.Saved()
	p.Click("#undo")
	p.Until(`canvas.draft.edges.length === 0`)
	p.Saved()
	p.Builder("/flows/" + id)
	p.Until(`!document.getElementById("redo").disabled`)
	p.Press("Ctrl+Shift+Z")
	p.Until(`canvas.draft.edges.length === 1`)
	p.Saved()
	if e := h.Draft(id).Edges; len(e) != 1 || e[0] != (flow.Edge{From: "word.value", To: "loud.value"}) {
		t.Fatalf("the server has %v", e)
	}
	// Names: of a node where it lies, and of the flow.
	webtest.Value[bool](p, `(canvas.selection.set(["loud"]), canvas.keys.focus("loud"), true)`)
	p.Press("F2")
	p.Until(`document.querySelector("input.renaming") === document.activeElement`)
	p.Write("Loud word")
	p.Press("Enter")
	p.Until(`canvas.draft.nodes.get("loud").label === "Loud word"`)
	p.Click("#flow-name")
	webtest.Value[bool](p, `(document.getElementById("flow-name").select(), true)`)
	p.Write("Shout it")
	p.Press("Enter")
	p.Until(`document.title.startsWith("Shout it")`)
	p.Saved()
	if d := h.Draft(id); d.Name != "Shout it" || d.Node("loud").Label != "Loud word" {
		t.Fatalf("the server has %q and %q", d.Name, d.Node("loud").Label)
	}
}

func TestBuilder_problemsFollowEdits(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	const undo = `document.getElementById("undo").getBoundingClientRect().x`
	was := fmt.Sprint(webtest.Value[float64](p, undo))
	webtest.Value[bool](p, `(canvas.commit("Disconnect", [{ op: "disconnect", edge: { from: "team.label", to: "reply.team" } }]), true)`)
	p.Until(`document.getElementById("problem-count").textContent === "1" && document.querySelector("#node-reply [data-trouble]")`)
	p.Until(`document.querySelector("#flow-state [data-command='problems']") && document.querySelector("#publish-button :disabled")`)
	p.Want(undo, was) // it can be pressed again without looking
	p.Click("#node-reply [data-trouble]")
	p.Until(`canvas.selection.nodes.has("reply")`)
	p.Click("#undo") // by the button: the focus goes into a field, which has an undo of its own
	p.Until(`document.getElementById("problem-count").textContent === "" && !document.querySelector("[data-trouble]")`)
}

func TestBuilder_twoTabs(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	ada, lin := h.As(flow.MemberEditor), h.As(flow.MemberViewer)
	left := ada.Tab(webtest.Chromium(t), 1200, 800).Builder("/flows/" + id)
	right := lin.Tab(webtest.Chromium(t), 1200, 800).Builder("/flows/" + id)
	left.Until(`document.querySelectorAll("#others li").length === 1`)
	webtest.Value[bool](left, `(canvas.commit("Rename", [{ op: "put", node: "team", member: "label", value: "Whose is it" }]), true)`)
	right.Until(`document.querySelector("#node-team [data-title]").textContent === "Whose is it"`)
	webtest.Value[bool](left, `(canvas.selection.set(["answer"]), canvas.erase(), true)`)
	right.Until(`!document.getElementById("node-answer")`)
	right.Want(`canvas.sync.rev === Number(document.getElementById("builder").dataset.rev)`, `true`)
	right.Want(`!document.querySelector("#palette, #undo, #selection-bar")`, `true`)
}

func TestBuilder_onAPhone(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 375, 812).Builder("/flows/" + id)
	p.Want(`document.documentElement.scrollWidth`, `375`)
	// The word on the button is drawn by its style: it is centered if the button has equal air on both sides.
	p.Want(`(() => { const s = getComputedStyle(document.querySelector("#publish-button .btn")); return [s.justifyContent, s.columnGap, s.fontSize, s.paddingLeft === s.paddingRight]; })()`, `["center","0px","0px",true]`)
	p.Want(`[...document.querySelectorAll(".builder-top .acts .btn, .builder-top .turn .btn")].every((b) => b.getBoundingClientRect().right <= 375 && b.scrollWidth <= b.clientWidth + 1)`, `true`)
	// The name has the room that the save state leaves when it is only a dot.
	p.Want(`document.getElementById("save-state").getBoundingClientRect().width < 24 && document.getElementById("flow-name").getBoundingClientRect().width > 60`, `true`)
	webtest.Value[bool](p, `(canvas.commit("Disconnect", [{ op: "disconnect", edge: { from: "team.label", to: "reply.team" } }]), true)`)
	p.Until(`document.querySelector("#flow-state [data-command='problems']")`)
	p.Want(`(() => { const b = document.querySelector("#flow-state .bad"), r = b.getBoundingClientRect(); return r.width > 24 && r.right <= 375 && document.querySelector("#flow-menu summary").getBoundingClientRect().right <= 375; })()`, `true`)
	p.Press("Ctrl+Z")
	p.Until(`!document.querySelector("#flow-state [data-command='problems']")`)
	p.Saved()
	p.Click(`[data-line="reply"]`)
	p.Until(`document.querySelector("#outline-label")`)
	webtest.Value[bool](p, `(document.querySelector("#outline-label").focus(), true)`)
	p.Write("First reply")
	p.Press("Enter")
	p.Until(`document.querySelector('[data-line="reply"] b').textContent === "First reply"`)
	p.Click(`[data-line="ticket"]`)
	p.Until(`document.getElementById("connect-to-ticket.value")`)
	webtest.Value[bool](p, `(() => { const s = document.getElementById("connect-to-ticket.value"); s.value = "team.labels"; s.form.requestSubmit(); return true; })()`)
	p.Until(`document.querySelectorAll("#line-ticket .edge").length === 2`)
	p.Saved()
	if d := h.Draft(id); d.Node("reply").Label != "First reply" || len(d.Edges) != 4 {
		t.Fatalf("the server has %s", d.Encode())
	}
	p.Click(`[data-command="show-canvas"]`)
	p.Until(`document.getElementById("outline").offsetParent === null`)
	p.Want(`(() => { const r = document.querySelector(".add-node").getBoundingClientRect(); return r.width >= 32 && r.height >= 32 && r.left >= 0 && r.right <= 375 && r.bottom <= innerHeight; })()`, `true`)
	p.Click(".add-node")
	p.Until(`document.getElementById("chooser")?.open`)
	p.Press("Escape")
	// Settings open without a focused field, whose keyboard would cover them.
	webtest.Value[bool](p, `(canvas.selection.set(["reply"]), canvas.keys.focus("reply"), true)`)
	webtest.Value[bool](p, `(canvas.dispatchEvent(new CustomEvent("canvas:open", { detail: { node: "reply" } })), true)`)
	p.Until(`document.querySelector('#inspector [data-node="reply"], [data-node="reply"].ins') && document.querySelector(".builder").hasAttribute("data-sheet")`)
	p.Want(`!document.activeElement.matches("input, textarea, select")`, `true`)
}

// TestBuilder_partsLoadIndependently checks that a slow part of the page neither delays nor drops
// another part.
func TestBuilder_partsLoadIndependently(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	p.Click("#tab-api")
	p.Until(`document.getElementById("api-draft")?.checkVisibility()`)
	p.Click("#outline-toggle")
	p.Until(`document.querySelector('[data-line="reply"]')?.checkVisibility()`)
	p.Saved()
	// The responses for the publish button and the API pane stay away until release is called.
	webtest.Value[bool](p, `(() => {
		const real = window.fetch, held = new Promise((done) => { window.release = done; });
		window.held = [];
		window.fetch = async (path, init) => {
			const r = await real(path, init), part = /publish.button|part=draft/.exec(String(path));
			if (part) { window.held.push(part[0]); await held; }
			return r;
		};
		return true;
	})()`)
	rename := func(title string) {
		webtest.Value[bool](p, `(canvas.commit("Rename", [{ op: "put", node: "reply", member: "label", value: "`+title+`" }]), true)`)
		p.Until(`document.querySelector('[data-line="reply"] b').textContent === "` + title + `"`)
	}
	rename("First reply")
	p.Until(`new Set(window.held).size === 2`)
	rename("Second reply")
	p.Press("Ctrl+Shift+P")
	p.Until(`document.getElementById("publish-dialog")?.open`)
	webtest.Value[bool](p, `(window.release(), true)`)
	p.Until(`document.querySelector("#api-draft").dataset.rev === String(canvas.sync.rev)`)
}

// TestBuilder_keeps_what_was_done_early renames the flow before any script runs, and presses a button before the
// canvas is ready, as on a slow connection. Nothing of it is lost, and the canvas says that it loads.
func TestBuilder_keeps_what_was_done_early(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(greeting)
	p := h.Open(chrome.Start(t), flow.MemberEditor, "/knowledge")
	p.Early(`document.getElementById("flow-name").value = "Typed early";
		const define = customElements.define;
		customElements.define = function (name, element) { window.release = () => define.call(this, name, element); };`)
	p.Go(h.Http.URL + "/flows/" + id)
	p.Until(`window.release`)
	p.Until(`getComputedStyle(document.querySelector("flow-canvas"), "::after").visibility === "visible"`)
	p.Shot("canvas-loading")
	p.Click("[data-command=zoom-out]")
	p.Eval(`window.release()`)
	p.Until(`Math.abs(document.querySelector("flow-canvas").view.transform[2] - 1 / 1.2) < 0.01`) // all of this flow is shown at 100%
	p.Until(`document.querySelector("flow-canvas").draft.name === "Typed early" && getComputedStyle(document.querySelector("flow-canvas"), "::after").content === "none"`)
}

// TestBuilder_header_fits_laptop checks that nothing in the header overlaps, however long
// the names of the flow and of its last editor are.
func TestBuilder_header_fits_laptop(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1280, 800).Builder("/flows/" + id)
	webtest.Value[bool](p, `(() => {
		document.getElementById("flow-name").value = "Route a support ticket to the team that can answer it";
		document.getElementById("save-state").textContent = "Changed by Augusta Ada King, Countess of Lovelace";
		return true;
	})()`)
	p.Want(`(() => {
		const boxes = [...document.querySelectorAll(".builder-top > :not(.unseen)")].filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect());
		return boxes.length > 4 && boxes.every((b, i) => b.width > 0 && b.right <= 1280 && (!i || b.left >= boxes[i - 1].right));
	})()`, `true`)
}
