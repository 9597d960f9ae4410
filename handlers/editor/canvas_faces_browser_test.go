package editor_test

import (
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// Ports of a node show what they need: outputs of the flow have no port on the right unless it is
// connected, say how many values they choose from, and a prompt is not needed beside messages.
// The Problems list warns about an edge that never counts.
func TestCanvas_ports_say_what_counts(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, `{"schema": "sluice.flow/v1", "name": "Ports", "nodes": [
		{"id": "word", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "word"}},
		{"id": "talk", "kind": "input", "position": {"x": 0, "y": 200}, "config": {"name": "talk", "type": "messages"}},
		{"id": "chat", "kind": "chat", "position": {"x": 300, "y": 200}, "config": {}},
		{"id": "one", "kind": "output", "position": {"x": 600, "y": 0}, "config": {"name": "one"}},
		{"id": "two", "kind": "output", "position": {"x": 600, "y": 200}, "config": {"name": "two"}},
		{"id": "more", "kind": "template", "position": {"x": 900, "y": 0}, "config": {"template": "{{one}}"}}
	], "edges": [{"from": "word.value", "to": "one.value"}, {"from": "chat.text", "to": "one.value"}, {"from": "talk.value", "to": "chat.messages"}, {"from": "chat.text", "to": "two.value"}, {"from": "one.value", "to": "more.one"}]}`)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	p.Want(`["one", "two"].map((n) => !!document.querySelector("#node-" + n + " [data-side=out]"))`, `[true,false]`)
	p.Want(`["one", "two"].map((n) => document.querySelector("#node-" + n + " .row .in").textContent.trim())`, `["first of 2","value"]`)
	p.Want(`document.querySelector("#node-chat [data-port=prompt]").hasAttribute("data-need")`, `false`)
	p.Want(`document.querySelectorAll("#node-chat .row .node-more").length`, `1`)
	p.Until(`document.querySelector("#problems [data-warning] [data-jump=one]")?.textContent.includes("Always takes the value of word, so the one of")`)
	p.Want(`document.getElementById("problem-count").textContent`, `""`)
}

// D and P act on the focused node while another is selected, the drawer starts closed, and Tab
// passes the palette in one step.
func TestCanvas_keys_act_where_the_focus_is(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	webtest.Value[bool](p, `(canvas.selection.set(["team"]), canvas.keys.focus("reply"), true)`)
	p.Press("D")
	p.Until(`canvas.draft.nodes.get("reply").disabled`)
	p.Want(`!canvas.draft.nodes.get("team").disabled`, `true`)
	p.Saved()
	webtest.Value[bool](p, `(window.pinned = [], addEventListener("canvas:pin", (e) => { e.stopPropagation(); pinned.push(...e.detail.nodes); }, { capture: true }), true)`)
	p.Press("P")
	p.Until(`pinned.join() === "reply"`)

	p.Click("#drawer-fold")
	p.Until(`document.getElementById("drawer-fold").getAttribute("aria-expanded") === "true"`)
	p.Builder("/flows/" + id)
	p.Want(`document.getElementById("drawer-fold").getAttribute("aria-expanded")`, `"false"`)

	p.Want(`[...document.querySelectorAll("#palette button")].filter((b) => b.tabIndex === 0 && b.checkVisibility()).length`, `1`)
	webtest.Value[bool](p, `(document.querySelector("#palette button[tabindex='0']").focus(), true)`)
	p.Press("Down")
	p.Want(`document.activeElement === document.querySelectorAll(".rail-group")[1] && document.activeElement.tabIndex === 0`, `true`)
	p.Press("Right")
	p.Until(`document.activeElement.matches(".kind")`)
	p.Press("Down")
	p.Want(`document.activeElement.matches("li + li > .kind")`, `true`)
	p.Press("Escape")
	p.Want(`document.activeElement === document.querySelectorAll(".rail-group")[1]`, `true`)
}

// A wire dropped on a port that has a value asks whether to replace it or to add a fallback. A
// webhook added beside an output sends all of them and asks for its URL.
func TestCanvas_asks_at_taken_ports(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, `{"schema": "sluice.flow/v1", "name": "Taken", "nodes": [
		{"id": "word", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "word"}},
		{"id": "other", "kind": "input", "position": {"x": 0, "y": 200}, "config": {"name": "other"}},
		{"id": "mood", "kind": "sentiment", "position": {"x": 300, "y": 200}, "config": {}},
		{"id": "answer", "kind": "output", "position": {"x": 600, "y": 0}, "config": {"name": "answer"}}
	], "edges": [{"from": "word.value", "to": "answer.value"}, {"from": "other.value", "to": "mood.text"}]}`)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	const edges = `canvas.draft.edges.map((e) => e.from + ">" + e.to).sort().join(" ")`
	out, in := `#node-mood [data-side="out"]`, `#node-answer [data-side="in"]`
	asked := func() {
		t.Helper()
		p.Drag(p.Middle(out), p.Middle(in))
		p.Until(`document.activeElement?.closest(".canvas-choice") && document.activeElement.textContent.startsWith("Replace")`)
	}
	asked()
	p.Press("Escape")
	p.Until(`!document.querySelector(".canvas-choice, .canvas-connecting")`)
	p.Want(edges, `"other.value>mood.text word.value>answer.value"`)
	asked()
	p.Press("Enter")
	p.Until(edges + ` === "mood.label>answer.value other.value>mood.text"`)
	p.Press("Ctrl+Z")
	p.Until(edges + ` === "other.value>mood.text word.value>answer.value"`)
	asked()
	p.Click(".canvas-choice button:last-child")
	p.Until(`canvas.draft.edgesInto("answer.value").map((e) => e.from).join() === "word.value,mood.label"`)
	p.Saved()
	p.Until(`document.querySelector("#node-answer .row .in").textContent.trim() === "first of 2"`)
	p.Want(`["word.value", "mood.label"].map((from) => document.querySelector('[data-edge="' + from + '>answer.value"] .canvas-edge-order').textContent)`, `["1","2"]`)
	p.Until(`document.querySelector("#problems [data-warning]")?.textContent.includes("Always takes the value of word")`)

	// The order is changed in the settings.
	webtest.Value[bool](p, `(canvas.selection.set(["answer"]), true)`)
	p.Until(`document.querySelector("#inspector [data-node=answer] .ins-order:last-of-type [name=place]")`)
	p.Click("#inspector .ins-order + .ins-order [title='Move up']")
	p.Until(`canvas.draft.edgesInto("answer.value").map((e) => e.from).join() === "mood.label,word.value"`)
	p.Until(`document.querySelector('[data-edge="mood.label>answer.value"] .canvas-edge-order').textContent === "1"`)
	p.Until(`document.querySelector("#problems [data-warning]")?.textContent.includes("Always takes the value of mood")`)
	p.Until(`document.querySelector("#inspector .ins-order").textContent.includes("mood")`)
	p.Saved()
	webtest.Value[bool](p, `(canvas.history.undo(), true)`)
	p.Until(`canvas.draft.edgesInto("answer.value").map((e) => e.from).join() === "word.value,mood.label"`)
	p.Saved()

	// An input that takes one edge: its fallback is a node that joins both.
	webtest.Value[bool](p, `(canvas.connect.join(canvas.scene.port("word.value", "out"), canvas.scene.port("mood.text", "in")), true)`)
	p.Until(`document.activeElement?.closest(".canvas-choice")`)
	p.Click(".canvas-choice button:last-child")
	p.Until(`canvas.draft.edgesInto("first_of.values").map((e) => e.from).join() === "other.value,word.value" && canvas.draft.hasEdge({ from: "first_of.value", to: "mood.text" })`)
	p.Saved()
	p.Want(crowded, `""`)
	p.Press("Ctrl+Z") // one step
	p.Until(`!canvas.draft.nodes.has("first_of") && canvas.draft.hasEdge({ from: "other.value", to: "mood.text" })`)
	p.Saved()

	webtest.Value[bool](p, `(canvas.selection.set(["answer"]), canvas.keys.focus("answer"), true)`)
	p.Press("/")
	p.Until(`document.getElementById("chooser")?.open`)
	p.Write("webhook")
	p.Press("Enter")
	p.Until(`canvas.draft.nodes.has("webhook") && !canvas.draft.edgesOf("webhook").length && document.activeElement?.closest("#inspector [data-set=url]")`)
	p.Want(`canvas.draft.nodes.get("webhook").config.outputs ?? null`, `null`) // all outputs, also those that are not selected
	p.Saved()
}
