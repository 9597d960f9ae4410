package editor_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/input"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// twice is a double click.
func (p *hand) twice(at webtest.Point) {
	p.T.Helper()
	for count := int64(1); count <= 2; count++ {
		e := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMousePressed, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, ClickCount: count}
		webtest.Send(p.Tab, input.DispatchMouseEvent, e)
		e.Type = input.DispatchMouseEventTypeMouseReleased
		webtest.Send(p.Tab, input.DispatchMouseEvent, e)
	}
}

// TestInteractions_grid drags past the grid with Alt, and pans while an edge is drawn
// at the border.
func TestInteractions_grid(t *testing.T) {
	t.Parallel()
	p := newHand(t, "")
	p.steady()
	at := p.Middle("#node-reply header")
	p.event(input.DispatchMouseEventTypeMousePressed, at, input.MouseButtonLeft, 0)
	for i := 1.0; i <= 8; i++ {
		keys := int64(0)
		if i > 3 { // from the beginning, Alt would copy
			keys = altKey
		}
		p.event(input.DispatchMouseEventTypeMouseMoved, webtest.Point{X: at.X + 4*i, Y: at.Y + 17.3*i}, input.MouseButtonLeft, keys)
	}
	p.event(input.DispatchMouseEventTypeMouseReleased, webtest.Point{X: at.X + 32, Y: at.Y + 138.4}, input.MouseButtonLeft, altKey)
	p.Until(`canvas.draft.position("reply").y > 100 && ["x", "y"].some((k) => canvas.draft.position("reply")[k] % 10 !== 0)`)
	p.Want(`canvas.draft.nodes.size`, `4`)

	x := p.number(`canvas.view.transform[0]`)
	from := p.Middle(`#node-team [data-port="label"]`)
	edge := webtest.Point{X: p.number(`canvas.pane.getBoundingClientRect().left`) + 3, Y: from.Y + 60}
	p.event(input.DispatchMouseEventTypeMousePressed, from, input.MouseButtonLeft, 0)
	for i := 1.0; i <= 8; i++ {
		p.event(input.DispatchMouseEventTypeMouseMoved, webtest.Point{X: from.X + (edge.X-from.X)*i/8, Y: from.Y + (edge.Y-from.Y)*i/8}, input.MouseButtonLeft, 0)
	}
	p.Until(fmt.Sprintf(`canvas.view.transform[0] > %v`, x+30))
	p.Press("Escape")
	p.event(input.DispatchMouseEventTypeMouseReleased, edge, input.MouseButtonLeft, 0)
}

// TestInteractions_add adds a node where empty canvas is clicked twice, opens it with E and
// returns to it from its fields with Escape.
func TestInteractions_add(t *testing.T) {
	t.Parallel()
	p := newHand(t, "")
	p.steady()
	p.twice(empty)
	p.Until(`document.getElementById("chooser")?.open`)
	p.Write("sentim")
	p.Press("Enter")
	p.Until(`canvas.draft.nodes.has("sentiment") && document.activeElement?.id === "node-sentiment"`)
	p.Want(`(() => { const r = document.getElementById("node-sentiment").getBoundingClientRect(); return r.left < 500 && r.right > 500 && Math.abs(r.top - 700) < 160; })()`, `true`)
	p.Press("E")
	p.Until(`document.activeElement?.closest("#inspector [data-node=sentiment]")`)
	p.Press("Escape")
	p.Until(`document.activeElement?.id === "node-sentiment"`)
	p.Saved()
}

// TestInteractions_bar works with the buttons above a selected node and its menu.
func TestInteractions_bar(t *testing.T) {
	t.Parallel()
	p := newHand(t, "")
	p.steady()
	bar := func(command string) {
		t.Helper()
		p.steady() // the view may be moving to a node
		p.click(0, p.Middle("#node-team header"))
		p.Until(`canvas.selection.nodes.has("team") && document.querySelector("#selection-bar").checkVisibility()`)
		p.steady()
		p.Click(`#selection-bar [data-command="` + command + `"]`)
	}
	bar("disable")
	p.Until(`document.querySelector("#node-team").hasAttribute("data-disabled") && document.querySelector("#node-team").ariaLabel.includes("disabled")`)
	bar("disable")
	p.Until(`!document.querySelector("#node-team").hasAttribute("data-disabled")`)
	bar("duplicate")
	p.Until(`canvas.draft.nodes.has("team_2") && canvas.selection.nodes.has("team_2")`)
	p.Press("Delete")
	p.Until(`canvas.draft.nodes.size === 4`)
	bar("run-to")
	p.Until(`document.getElementById("run-dialog").open`)
	p.Press("Escape")
	p.Until(`!document.getElementById("run-dialog").open`)
	bar("menu")
	p.Until(`document.querySelector(".float-menu")?.matches(":popover-open")`)
	p.Click(`.float-menu [role=menuitem]:has(.icon):last-of-type`)
	p.Until(`!canvas.draft.nodes.has("team")`)
	p.Saved()
}

// TestInteractions_rules refuses loops, highlights an edge under the pointer, deletes it, and
// shows the problem on the node that lost it. Undo names what it takes back.
func TestInteractions_rules(t *testing.T) {
	t.Parallel()
	p := newHand(t, `{"schema":"sluice.flow/v1","name":"Rules","nodes":[
		{"id":"ticket","kind":"input","position":{"x":0,"y":0},"config":{"name":"ticket","type":"text"}},
		{"id":"a","kind":"summarize","position":{"x":260,"y":0},"config":{}},
		{"id":"b","kind":"template","position":{"x":760,"y":0},"config":{"template":"{{x}}"}}],
		"edges":[{"from":"ticket.value","to":"a.text"},{"from":"a.summary","to":"b.x"}]}`)
	p.steady()
	p.Drag(p.Middle(`#node-b [data-side="out"]`), p.Middle(`#node-a [data-port="text"]`))
	p.Want(`canvas.draft.edges.length`, `2`)
	p.Until(`document.querySelector(".canvas-live").textContent.includes("loop") || document.getElementById("toasts").textContent.includes("loop")`)
	middle := webtest.Value[webtest.Point](p.Tab, `(() => { const l = canvas.edges.path("a.summary>b.x"), m = l.getPointAtLength(l.getTotalLength() / 2).matrixTransform(l.getScreenCTM()); return { X: m.x, Y: m.y }; })()`)
	p.event(input.DispatchMouseEventTypeMouseMoved, webtest.Point{X: middle.X, Y: middle.Y + 7}, input.MouseButtonNone, 0) // beside the line
	p.Until(`document.querySelector(".canvas-edge-plus")?.checkVisibility() && document.querySelectorAll("[data-port][data-pointed]").length === 2`)
	quarter := webtest.Value[webtest.Point](p.Tab, `(() => { const l = canvas.edges.path("a.summary>b.x"), m = l.getPointAtLength(l.getTotalLength() * 0.3).matrixTransform(l.getScreenCTM()); return { X: m.x, Y: m.y }; })()`)
	p.click(0, webtest.Point{X: quarter.X, Y: quarter.Y + 5})
	p.Press("Delete")
	p.Until(`canvas.draft.edges.length === 1 && document.querySelector("#node-b [data-trouble]")`)
	p.Until(`document.getElementById("undo").title.includes("Delete")`)
	p.Press("Ctrl+Z")
	p.Until(`canvas.draft.edges.length === 2 && !document.querySelector("#node-b [data-trouble]")`)
	p.Saved()
}

// TestInteractions_replay shows a past run on the flow that ran, which cannot be edited, and
// follows a run with the view.
func TestInteractions_replay(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(webtest.Routing)
	run := h.RunDraft(b, id, url.Values{"filled": {"1"}, "in.ticket": {"there"}})
	p := b.Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	webtest.Value[bool](p, `(canvas.selection.set(["hello"]), canvas.erase(), true)`)
	p.Saved()
	p.Builder("/flows/" + id + "?run=" + string(run.ID))
	p.Until(`document.querySelector("#node-hello")?.dataset.state === "succeeded" && canvas.readonly`)
	// One bar says what is shown, and the pane has its result.
	p.Want(`[document.querySelectorAll(".refused").length, document.querySelector("#tab-result").ariaSelected, document.querySelector("#publish-button, #run-button")]`, `[0,"true",null]`)
	webtest.Value[bool](p, `(canvas.selection.set(["hello"]), canvas.keys.focus("hello"), true)`)
	p.Press("Delete")
	p.Want(`canvas.draft.nodes.has("hello")`, `true`)
	p.Click(`#run-bar [data-command="follow"]`)
	p.Until(`document.querySelector('#run-bar [data-command="follow"]').ariaPressed === "true"`)
	p.Click("#run-bar .leave-run")
	p.Eventually(`document.querySelector("flow-canvas[ready]") && !document.querySelector("#node-hello")`)
}

// TestInteractions_marks shows on a node that a credential of it does not exist, and on which edge an
// approval may be dropped: it gets a value for the edge.
func TestInteractions_marks(t *testing.T) {
	t.Parallel()
	p := newHand(t, `{"schema":"sluice.flow/v1","name":"Marks","nodes":[
		{"id":"ticket","kind":"input","position":{"x":0,"y":0},"config":{"name":"ticket","type":"text"}},
		{"id":"call","kind":"http_request","position":{"x":300,"y":220},"config":{"url":"https://example.com/{{q}}","headers":{"Authorization":{"credential":"gone"}}}},
		{"id":"answer","kind":"output","position":{"x":560,"y":0},"config":{"name":"answer"}}],
		"edges":[{"from":"ticket.value","to":"answer.value"},{"from":"ticket.value","to":"call.q"}]}`)
	p.steady()
	p.Until(`document.querySelector("#node-call [data-trouble]")?.outerHTML.includes("gone")`)
	p.Until(`document.querySelector("#problems [data-jump=call]")?.textContent.includes("gone")`)
	p.Want(`document.querySelector("#node-answer [data-trouble]")`, `null`)
	p.Click("#node-call [data-trouble]")
	p.Until(`document.querySelector("#inspector [data-node=call]") && canvas.selection.nodes.has("call")`)
	p.Click("#drawer-fold")
	p.Until(`document.querySelector("#problems").checkVisibility()`)
	p.Click("#drawer-fold")
	p.steady()

	p.Click(`[data-palette-group]:has([data-kind="approval"]) .rail-group`)
	middle := webtest.Value[webtest.Point](p.Tab, `(() => { const l = canvas.edges.path("ticket.value>answer.value"), m = l.getPointAtLength(l.getTotalLength() / 2).matrixTransform(l.getScreenCTM()); return { X: m.x, Y: m.y }; })()`)
	p.Drag(p.Middle(`.kind[data-kind="approval"]`), middle)
	p.Until(`canvas.draft.nodes.has("approval") && canvas.draft.edgesInto("answer.value").map((e) => e.from.split(".")[0]).join() === "approval"`)
	p.Until(`canvas.draft.edges.some((e) => e.from === "ticket.value" && e.to.startsWith("approval."))`)
	p.Press("Ctrl+Z")
	p.Until(`!canvas.draft.nodes.has("approval") && canvas.draft.hasEdge({ from: "ticket.value", to: "answer.value" })`)
	p.Saved()
}
