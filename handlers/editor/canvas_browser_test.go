package editor_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// A context menu stays open after the right button or the finger is released.
func TestCanvas_menu_survives_release(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	const open = `document.querySelector(".float-menu")?.matches(":popover-open")`
	at := p.Middle("#node-team header")
	right := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMousePressed, X: at.X, Y: at.Y, Button: input.MouseButtonRight, Buttons: 2, ClickCount: 1}
	webtest.Send(p, input.DispatchMouseEvent, right)
	p.Until(open)
	right.Type, right.Buttons = input.DispatchMouseEventTypeMouseReleased, 0
	webtest.Send(p, input.DispatchMouseEvent, right)
	webtest.Value[bool](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
	p.Want(open, `true`)
	p.Want(`document.activeElement.closest("main .float-menu") !== null`, `true`)
	p.Want(`(() => { const r = document.querySelector(".float-menu").getBoundingClientRect(); return Math.abs(r.left - `+fmt.Sprint(at.X)+`) < 12 && Math.abs(r.top - `+fmt.Sprint(at.Y)+`) < 12; })()`, `true`)
	p.Press("Escape")
	p.Want(open, `false`)

	finger := input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: at.X, Y: at.Y}}}
	webtest.Send(p, input.DispatchTouchEvent, finger)
	p.Until(open)
	webtest.Send(p, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}})
	webtest.Value[bool](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
	p.Want(open, `true`)
	p.Click("#builder .brand .word, .builder-top h1, .builder-top")
	p.Want(open, `false`)
}

// The menu copies and pastes, also into another flow, where a page may not read the clipboard.
func TestCanvas_menu_copies_and_pastes(t *testing.T) {
	t.Parallel()
	p := newHand(t, "")
	p.do(`Object.defineProperty(navigator, "clipboard", { value: undefined })`)
	at := p.Middle("#node-team header")
	menu := func(at webtest.Point, item string) {
		p.T.Helper()
		p.event(input.DispatchMouseEventTypeMousePressed, at, input.MouseButtonRight, 0)
		p.event(input.DispatchMouseEventTypeMouseReleased, at, input.MouseButtonRight, 0)
		p.tapItem(item)
	}
	menu(empty, "Paste")
	p.Until(`document.getElementById("toasts").textContent.includes("Nothing to paste")`)
	menu(at, "Copy")
	p.Until(`localStorage["canvas:clip"]`)
	menu(empty, "Paste")
	p.Until(`canvas.draft.nodes.size === 5`)
	p.Want(`(() => { const r = document.getElementById("node-team_2").getBoundingClientRect(); return Math.abs(r.left - 500) < 40 && Math.abs(r.top - 700) < 40; })()`, `true`)
	menu(p.Middle("#node-team_2 header"), "Cut")
	p.Until(`canvas.draft.nodes.size === 4`)
	p.Saved()
}

// Selecting a node shows the inspector over any tab; deselecting returns to the tab.
func TestCanvas_selection_opens_inspector(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	tab := func(name string) {
		p.T.Helper()
		p.Until(`document.querySelector("#pane [aria-selected=true]").id === "tab-` + name + `"`)
	}
	p.Click("#tab-runs")
	tab("runs")
	p.Click("#node-team header")
	tab("node")
	p.Until(`document.querySelector("#inspector [data-node=team]")?.checkVisibility()`)
	p.Click("#node-reply header")
	p.Until(`document.querySelector("#inspector [data-node=reply]")?.checkVisibility()`)
	p.Press("Escape")
	tab("runs")
	p.Click("#node-team header")
	tab("node")
	p.Click("#tab-api") // the user's own choice stays
	tab("api")
	webtest.Value[bool](p, `(canvas.selection.clear(), true)`)
	tab("api")
}

// A wire that is dropped on a text inserts its name there and connects it: on a
// node, on a field of the inspector, and on empty canvas after choosing a kind.
func TestCanvas_wire_dropped_on_template_connects(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, `{"schema": "sluice.flow/v1", "name": "Shout", "nodes": [
		{"id": "word", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "word", "type": "text"}},
		{"id": "name", "kind": "input", "position": {"x": 0, "y": 200}, "config": {"name": "Your name", "type": "file"}},
		{"id": "loud", "kind": "template", "position": {"x": 400, "y": 0}, "config": {"template": "Dear"}}
	], "edges": []}`)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	text := func(want string) {
		p.T.Helper()
		p.Until(`canvas.draft.nodes.get("loud").config.template === "` + want + `"`)
	}
	p.Drag(p.Middle(`#node-word [data-side="out"]`), p.Middle(`#node-loud header`))
	text("Dear {{word}}")
	p.Until(`canvas.draft.edges.map((e) => e.to).join() === "loud.word"`)
	p.Saved()
	p.Press("Ctrl+Z") // one step
	text("Dear")
	p.Want(`canvas.draft.edges.length`, `0`)
	p.Saved()

	p.Click("#node-loud header")
	p.Until(`document.querySelector("#inspector [data-set=template]")`)
	p.Drag(p.Middle(`#node-name [data-side="out"]`), p.Middle(`#inspector [data-set=template] [data-template]`))
	text("Dear {{Your_name}}")
	p.Until(`canvas.scene.port("loud.Your_name", "in") && canvas.edges.get("name.value>loud.Your_name")`)
	p.Saved()

	// A wire of any type that is dropped on empty canvas offers Template and Chat.
	p.Drag(p.Middle(`#node-name [data-side="out"]`), webtest.Point{X: 600, Y: 620})
	p.Until(`document.getElementById("chooser")?.open && ["Template", "Chat"].every((k) => [...document.querySelectorAll("#chooser [role=option] b")].some((b) => b.textContent === k))`)
	p.Write("templ")
	p.Press("Enter")
	p.Until(`canvas.draft.nodes.get("template")?.config.template === "{{Your_name}}" && canvas.draft.hasEdge({ from: "name.value", to: "template.Your_name" })`)
	p.Saved()

	// An unconnected name offers its possible sources.
	webtest.Value[bool](p, `(canvas.commit("Change", [{ op: "set", node: "loud", field: "template", value: "{{other}}" }]), canvas.selection.set(["loud"]), true)`)
	p.Until(`document.querySelector("#inspector select[data-sources=other]")?.length > 1`)
	webtest.Value[bool](p, `(() => { const s = document.querySelector("#inspector select[data-sources=other]"); s.value = "word.value"; s.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`)
	p.Until(`canvas.draft.hasEdge({ from: "word.value", to: "loud.other" })`)
	p.Saved()
}

// An invalid text is kept while another node is shown, and is listed as a problem.
func TestCanvas_keeps_invalid_text(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, `{"schema": "sluice.flow/v1", "name": "Shout", "nodes": [
		{"id": "word", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "word", "type": "json"}},
		{"id": "loud", "kind": "output", "position": {"x": 400, "y": 0}, "config": {"name": "loud"}}
	], "edges": [{"from": "word.value", "to": "loud.value"}]}`)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	const field = `document.querySelector("#inspector [data-set=default]")`
	webtest.Value[bool](p, `(canvas.selection.set(["word"]), true)`)
	p.Until(field)
	webtest.Value[bool](p, `(() => { const f = `+field+`; f.closest("details")?.setAttribute("open", ""); const c = f.querySelector("textarea, input:not([type=hidden])"); c.value = '{"a": '; c.dispatchEvent(new Event("input", { bubbles: true })); canvas.selection.set(["loud"]); return true; })()`)
	p.Until(`document.querySelector("#inspector [data-node=loud]")`)
	p.Until(`document.querySelector("#problems [data-jump=word]")?.textContent.includes("Not saved") && document.getElementById("problem-count").textContent === "1"`)
	p.Until(`document.getElementById("save-state").textContent === "1 field not saved" && document.getElementById("save-state").dataset.state !== "saved"`)
	webtest.Value[bool](p, `(canvas.selection.set(["word"]), true)`)
	p.Until(field + `?.hasAttribute("data-unread") && ` + field + `.querySelector("textarea, input:not([type=hidden])").value === '{"a": '`)
	webtest.Value[bool](p, `(() => { const c = `+field+`.querySelector("textarea, input:not([type=hidden])"); c.value = '{"a": 1}'; c.dispatchEvent(new Event("input", { bubbles: true })); return true; })()`)
	p.Until(`canvas.draft.nodes.get("word").config.default?.a === 1 && !document.querySelector("#problems [data-jump=word]")`)
	p.Saved()
	p.Until(`document.getElementById("save-state").textContent === "Saved"`)
}

// Single-key shortcuts work only while the canvas has the focus.
func TestCanvas_shortcuts_need_focus(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	id := h.Flow(webtest.SampleFlow)
	p := b.Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	webtest.Value[bool](p, `(document.activeElement.blur(), true)`)
	p.Press("?", "A", "/")
	p.Want(`document.querySelector("dialog[open]") === null && canvas.draft.nodes.size === 4`, `true`)
	p.Want(`document.activeElement === document.body`, `true`)

	// The palette: Ctrl+Enter runs, Enter adds and clears the search.
	p.Click("#palette-search")
	p.Write("templ")
	p.Press("Ctrl+Enter")
	p.Until(`document.getElementById("run-dialog").open`)
	p.Want(`canvas.draft.nodes.size`, `4`)
	p.Press("Escape")
	p.Until(`!document.getElementById("run-dialog").open`)
	p.Click("#palette-search")
	p.Press("Enter")
	p.Until(`canvas.draft.nodes.has("template")`)
	p.Want(`[...canvas.scene.boxes.keys()].filter((id) => id !== "template").some((id) => { const a = canvas.scene.box(id), b = canvas.scene.box("template"); return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height; })`, `false`)
	// A new node is completely visible, even if it grows beyond the border when its ports load.
	webtest.Value[bool](p, `(() => { const pane = canvas.pane.getBoundingClientRect(), r = document.getElementById("node-template").getBoundingClientRect(); return canvas.view.pan({ x: 0, y: pane.bottom - 100 - r.top }); })()`)
	p.Press("/") // in the canvas: the next node comes right of the selected one
	p.Until(`document.getElementById("chooser")?.open`)
	p.Write("sentim")
	p.Press("Enter")
	p.Until(`canvas.draft.nodes.has("sentiment") && canvas.draft.position("sentiment").x === Math.round((canvas.draft.position("template").x + 220) / 10) * 10`)
	p.Until(`canvas.scene.ports.get("sentiment")?.length && document.getElementById("node-sentiment").getBoundingClientRect().bottom <= canvas.pane.getBoundingClientRect().bottom`)
	p.Want(`document.getElementById("palette-search").value === "" && document.querySelectorAll("#palette [hidden]:not(.none)").length === 0`, `true`)
	p.Saved()
}

// A new node shows no errors until one of its fields loses focus or the flow is run.
func TestCanvas_new_node_shows_no_errors(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	add := func(kind string) (seen, mark string) {
		p.Click("#palette-search")
		p.Write(kind)
		p.Press("Enter")
		p.Until(`document.querySelector("#problems [data-jump=` + kind + `]") && document.querySelector("#inspector [data-node=` + kind + `] .error")`)
		return `[...document.querySelectorAll("#inspector [data-node=` + kind + `] :is(.error, [aria-invalid])")].filter((e) => e.matches("[aria-invalid]") || e.checkVisibility()).length`,
			`(document.querySelector("#node-` + kind + ` [data-trouble]")?.checkVisibility() ?? false)`
	}
	seen, mark := add("chat")
	p.Want(seen, `0`)
	p.Want(mark, `false`)
	webtest.Value[bool](p, `(document.querySelector("#set-prompt").focus(), true)`)
	p.Until(`document.querySelector("#inspector .cm-focused")`)
	p.Want(seen, `0`)
	webtest.Value[bool](p, `(document.querySelector("#inspector .ins-title").focus(), true)`)
	p.Until(seen + ` > 0`)
	seen, mark = add("classify")
	p.Want(seen, `0`)
	p.Press("Ctrl+Enter")
	p.Until(seen + ` > 0 && ` + mark)
}

// A webhook node waits for outputs without an edge: dashed lines show which ones, and
// the inspector selects them.
func TestCanvas_shows_outputs_of_webhook(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, `{"schema": "sluice.flow/v1", "name": "Tell", "nodes": [
		{"id": "word", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "word"}},
		{"id": "one", "kind": "output", "position": {"x": 300, "y": 0}, "config": {"name": "one"}},
		{"id": "two", "kind": "output", "position": {"x": 300, "y": 160}, "config": {"name": "two"}},
		{"id": "hook", "kind": "webhook", "position": {"x": 620, "y": 60}, "config": {"url": "https://example.com/hook", "outputs": ["two", "gone"]}}
	], "edges": [{"from": "word.value", "to": "one.value"}, {"from": "word.value", "to": "two.value"}]}`)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	const curves = `(document.querySelector(".canvas-collected")?.getAttribute("d")?.match(/M/g) ?? []).length`
	p.Until(curves + ` === 1`)
	webtest.Value[bool](p, `(canvas.selection.set(["hook"]), true)`)
	p.Until(`document.querySelectorAll("#inspector [data-set=outputs] [type=checkbox]").length === 3`)
	p.Want(`[...document.querySelectorAll("#inspector [data-set=outputs] label")].map((l) => l.textContent.trim() + " " + l.querySelector("input").checked)`, `["one false","two true","gone true"]`)
	p.Click("#inspector [data-set=outputs] [value=gone]")
	p.Until(`JSON.stringify(canvas.draft.nodes.get("hook").config.outputs) === '["two"]'`)
	p.Click("#inspector [data-set=outputs] [value=one]")
	p.Until(curves + ` === 2`)
	p.Saved()
	p.Want(`canvas.draft.nodes.get("hook").config.outputs`, `["one","two"]`)
}

// In narrow windows the palette is a rail: by mouse and by keyboard, a group opens its
// list, which closes on Escape and after a node is added.
func TestCanvas_narrow_palette_is_rail(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	b, browser := h.As(flow.MemberEditor), webtest.Chromium(t)
	p := b.Tab(browser, 1440, 900).Builder("/flows/" + id)
	shown := `[...document.querySelectorAll("#palette .kind")].filter((k) => k.checkVisibility()).length`
	group := `document.querySelector('[data-palette-group]:has([data-kind="classify"])')`
	p.Want(shown, `0`)
	webtest.Value[bool](p, `(`+group+`.querySelector(".rail-group").focus(), true)`)
	p.Press("Enter")
	p.Until(`document.activeElement?.matches('.kind[data-kind="classify"]')`)
	p.Want(`document.querySelector(".rail-group[aria-expanded=true]").textContent.trim()`, `"Built in"`)
	p.Press("Escape")
	p.Want(shown, `0`)
	p.Want(`document.activeElement === `+group+`.querySelector(".rail-group")`, `true`)
	p.Press("Enter", "Enter")
	p.Until(`canvas.draft.nodes.has("classify")`)
	p.Want(shown, `0`)
	p.Click("#palette-search")
	p.Want(shown+` > 20`, `true`)
	p.Press("Escape")
	p.Want(shown, `0`)
	p.Saved()
	wide := b.Tab(browser, 1700, 900).Builder("/flows/" + id)
	wide.Want(shown+` > 20`, `true`)
	wide.Want(`document.querySelector(".rail-group").checkVisibility()`, `false`)
}
