package editor_test

import (
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/input"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// greeting has an input, a template and an output.
const greeting = `{"schema":"sluice.flow/v1","name":"Greeting","nodes":[{"id":"who","kind":"input","position":{"x":0,"y":0},"config":{"name":"who","type":"text"}},{"id":"hello","kind":"template","position":{"x":300,"y":0},"config":{"template":"Hello {{name}}"}},{"id":"out","kind":"output","position":{"x":600,"y":0},"config":{"name":"out"}}],"edges":[{"from":"who.value","to":"hello.name"},{"from":"hello.text","to":"out.value"}]}`

// TestPress_survives_an_update presses controls that the page replaces before the release.
func TestPress_survives_an_update(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(greeting)
	run := h.RunDraft(b, id, url.Values{"filled": {"1"}, "in.who": {"Ada"}})
	p := b.Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id + "?run=" + string(run.ID))
	p.Until(`document.querySelector("#node-hello")?.dataset.state === "succeeded"`)
	webtest.Value[bool](p, `(document.querySelector("#canvas").selection.set(["hello"]), document.querySelector("#drawer-fold").click(), document.querySelector("#tab-data").click(), true)`)
	const pin, unpin = `[data-pin-form]:has([name=run]) button`, `[data-pin-form][action*="/unpin/"] button`
	p.Until(`performance.getEntriesByType("resource").some((e) => e.name.includes("press-"))`)
	replaced := func() {
		webtest.Value[bool](p, `(() => { const e = document.querySelector("#node-data"); e.replaceChildren(...[...e.childNodes].map((n) => n.cloneNode(true))); return true; })()`)
	}

	at := p.Middle(pin)
	p.Mouse(input.DispatchMouseEventTypeMousePressed, at)
	replaced()
	p.Mouse(input.DispatchMouseEventTypeMouseReleased, at)
	p.Until(`document.querySelector("#node-hello [data-pinned]") && document.querySelector(` + "`" + unpin + "`" + `)`)

	webtest.Value[bool](p, `(document.querySelector(`+"`"+unpin+"`"+`).focus(), true)`)
	space := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: " ", Code: "Space", Text: " ", WindowsVirtualKeyCode: 32}
	webtest.Send(p, input.DispatchKeyEvent, space)
	replaced()
	space.Type = input.DispatchKeyEventTypeKeyUp
	webtest.Send(p, input.DispatchKeyEvent, space)
	p.Until(`!document.querySelector("#node-hello [data-pinned]") && document.querySelector(` + "`" + pin + "`" + `)`)

	// Another control that has taken the place of the pressed one is not clicked.
	at = p.Middle(pin)
	p.Mouse(input.DispatchMouseEventTypeMousePressed, at)
	webtest.Value[bool](p, `(() => { const e = document.querySelector("#node-data"), b = document.createElement("button"); b.textContent = "Other"; b.style.cssText = "position:absolute;inset:0;z-index:9"; b.onclick = () => { window.wrong = true; }; e.style.position = "relative"; e.replaceChildren(b); return true; })()`)
	p.Mouse(input.DispatchMouseEventTypeMouseReleased, at)
	if webtest.Value[bool](p, `new Promise((done) => setTimeout(() => done(!!window.wrong), 0))`) {
		t.Error("a click went to a control that was not pressed")
	}
}

// TestData_keeps_focus_and_typed_output loads the data of a node again while its tab is used.
func TestData_keeps_focus_and_typed_output(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(greeting)
	run := h.RunDraft(b, id, url.Values{"filled": {"1"}, "in.who": {"Ada"}})
	p := b.Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id + "?run=" + string(run.ID))
	p.Until(`document.querySelector("#node-hello")?.dataset.state === "succeeded"`)
	webtest.Value[bool](p, `(document.querySelector("#canvas").selection.set(["hello"]), document.querySelector("#drawer-fold").click(), document.querySelector("#tab-data").click(), true)`)
	p.Click("#node-data .pin-editor summary")
	p.Click("#node-data textarea")
	p.Press("Ctrl+A")
	p.Write(`{"text":"mine"}`)
	again := func() {
		webtest.Value[bool](p, `(async () => { const loaded = () => performance.getEntriesByType("resource").filter((e) => e.name.includes("/data/hello")).length, before = loaded(); document.querySelector("#tab-data").click(); while (loaded() === before) await new Promise(requestAnimationFrame); return true; })()`)
	}
	webtest.Value[bool](p, `(window.field = document.querySelector("#node-data textarea"), window.field.blur(), true)`)
	again()
	p.Until(`window.field.isConnected && window.field.value === '{"text":"mine"}'`)
	h.RunDraft(b, id, url.Values{"filled": {"1"}, "in.who": {"Grace"}})
	webtest.Value[bool](p, `(document.querySelector("#node-data textarea").focus(), document.querySelector("#run-bar [data-command=leave-run]").click(), true)`)
	p.Until(`!window.field.isConnected && document.querySelector("#node-data").textContent.includes("Grace")`)
	p.Want(`(() => { const field = document.querySelector("#node-data textarea"); return [JSON.parse(field.value).text, document.activeElement === field, field.closest("details").open].join(); })()`, `"mine,true,true"`)
}
