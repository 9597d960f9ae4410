package editor_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// command taps a command in the list that the menu of the flow opens.
func (p *hand) command(title string) {
	p.T.Helper()
	p.tap("#flow-menu > summary")
	p.tap(`#flow-menu [data-command="commands"]`)
	p.option(title)
}

// option taps an item of the open list, after typing its title.
func (p *hand) option(title string) {
	p.T.Helper()
	p.Until(`document.getElementById("chooser")?.open`)
	p.onScreen("#chooser")
	p.Write(title)
	p.tapAt(p.center(fmt.Sprintf(`[...document.querySelectorAll("#chooser [role=option]")].find((o) => o.querySelector("b").textContent === %q)`, title)))
	p.Until(`!document.getElementById("chooser").open`)
}

// inView is true when a node is within the canvas.
func inView(node string) string {
	return fmt.Sprintf(`((r, c) => r.left >= c.left && r.right <= c.right && r.top >= c.top && r.bottom <= c.bottom)(document.querySelector("#node-%s").getBoundingClientRect(), canvas.pane.getBoundingClientRect())`, node)
}

// away moves the view where no node is.
func (p *hand) away() {
	p.T.Helper()
	p.do(`canvas.view.panZoom.setViewport({ x: -3000, y: 0, zoom: 1 })`)
	p.steady()
}

// TestTouch_publishes publishes twice with a finger, compares the versions and restores the first.
func TestTouch_publishes(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(greeting)
	p := newPhone(t, h, id)
	p.tap("#publish-button a")
	p.Until(`document.getElementById("publish-dialog").open`)
	p.onScreen("#publish-dialog")
	p.tap("#publish-dialog footer button")
	p.Until(`document.getElementById("flow-state").textContent.includes("v1 live")`)
	p.onScreen("#publish-dialog")
	p.tap("#publish-dialog [data-close]")
	p.Until(`!document.getElementById("publish-dialog").open`)

	p.look(`["who", "hello"]`)
	p.menu(p.head("hello"), "Rename node")
	p.Until(`document.activeElement.matches(".renaming")`)
	p.Press("Ctrl+A")
	p.Write("Shout")
	p.Press("Enter")
	p.Saved()
	p.tap("#publish-button a")
	p.Until(`document.getElementById("publish-dialog").open`)
	p.tap("#publish-dialog footer button")
	p.Until(`document.getElementById("flow-state").textContent.includes("v2 live") && !document.getElementById("publish-dialog").open`)

	p.tap("#flow-state .menu:last-of-type summary")
	p.onScreen("#flow-state .sheet")
	p.tap(`#flow-state .sheet .item[href$="/versions"]`)
	p.Eventually(`document.querySelector("#version-1")`)
	p.tap(`#version-1 a[href*="compare"]`)
	p.Eventually(`document.querySelector("#comparison")?.textContent.includes("Shout")`)
	p.Want(`document.documentElement.scrollWidth`, `375`)
	p.Open("/flows/" + id + "/versions")
	p.tap(`#version-1 form[action$="/restore"] button`)
	p.Eventually(`document.querySelector(".restored")?.textContent.includes("equals v1")`)
	if n := h.Draft(id).Nodes[1]; n.Label != "" {
		t.Errorf("after v1 was restored, the label of %s is %q", n.ID, n.Label)
	}
}

// TestTouch_tidies lays out everything with a tap, and then the selected nodes only.
func TestTouch_tidies(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, `{"schema": "sluice.flow/v1", "name": "Heap", "nodes": [
		{"id": "word", "kind": "input", "position": {"x": 40, "y": 30}, "config": {"name": "word"}},
		{"id": "mood", "kind": "sentiment", "position": {"x": 0, "y": 0}, "config": {}},
		{"id": "answer", "kind": "output", "position": {"x": 20, "y": 60}, "config": {"name": "answer"}}
	], "edges": [{"from": "word.value", "to": "mood.text"}, {"from": "mood.label", "to": "answer.value"}]}`)
	p := newPhone(t, h, id)
	apart := at("word") + `.x + 176 < ` + at("mood") + `.x && ` + at("mood") + `.x + 176 < ` + at("answer") + `.x`
	p.tap(".zoom [data-command=tidy]")
	p.Until(apart)
	p.Saved()
	p.Want(crowded, `""`)
	p.Until(inView("word") + ` && ` + inView("answer"))
	p.tap("#undo")
	p.Until(at("word") + `.x === 40 && ` + at("mood") + `.x === 0 && ` + at("answer") + `.x === 20`)
	p.Saved()
	p.menu(p.free(), "Tidy")
	p.Until(apart)
	p.Saved()

	p.look(`["mood", "answer"]`)
	from := p.head("answer")
	p.swipe(from, webtest.Point{X: from.X - 60, Y: from.Y + 90})
	p.Until(at("answer") + `.y > 60`)
	p.Saved()
	p.do(`window.word = JSON.stringify(` + at("word") + `)`)
	p.tap("#select-mode")
	p.tapAt(p.free())
	p.tapAt(p.head("mood"))
	p.tapAt(p.head("answer"))
	p.Until(`[...canvas.selection.nodes].sort().join() === "answer,mood"`)
	p.tap(".zoom [data-command=tidy]")
	p.Until(`Math.abs(` + at("answer") + `.y - ` + at("mood") + `.y) < 60 && ` + at("mood") + `.x + 176 < ` + at("answer") + `.x`)
	p.Want(`JSON.stringify(`+at("word")+`) === window.word`, `true`)
	p.Saved()
}

// find finds a node, a command and the shortcuts in the menu of the flow, by a press that the caller makes.
func (p *hand) find(press func(selector string)) {
	p.T.Helper()
	item := func(command string) {
		p.T.Helper()
		press("#flow-menu > summary")
		p.Until(`document.getElementById("flow-menu").open`)
		p.onScreen("#flow-menu > .sheet")
		press(`#flow-menu [data-command="` + command + `"]`)
		p.Until(`!document.getElementById("flow-menu").open`)
	}
	choose := func(words, title string) {
		p.T.Helper()
		p.Until(`document.getElementById("chooser")?.open`)
		p.Write(words)
		p.Until(fmt.Sprintf(`document.querySelector("#chooser [role=option] b")?.textContent === %q`, title))
		press("#chooser [role=option]")
		p.Until(`!document.getElementById("chooser").open`)
	}
	p.away()
	item("find")
	choose("which", "Which team")
	p.Until(`[...canvas.selection.nodes].join() === "team" && ` + inView("team"))
	item("commands")
	choose("select all", "Select all")
	p.Until(`canvas.selection.nodes.size === 4`)
	item("shortcuts")
	p.Until(`document.getElementById("shortcuts").open`)
	p.onScreen("#shortcuts")
	press("#shortcuts header button")
	p.Until(`!document.getElementById("shortcuts").open`)
}

// TestInteractions_find finds nodes, commands and shortcuts with the mouse.
func TestInteractions_find(t *testing.T) {
	t.Parallel()
	p := newHand(t, "")
	p.find(p.Click)
}

// TestTouch_finds finds nodes, commands and shortcuts with a finger, on a phone.
func TestTouch_finds(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	p := newPhone(t, h, h.Flow(webtest.SampleFlow))
	p.find(p.tap)
	p.closeSheet()
	p.away()
	p.menu(p.free(), "Find a node")
	p.option("Which team")
	p.Until(`[...canvas.selection.nodes].join() === "team" && ` + inView("team"))
}

// TestTouch_follows_runs follows a run with the view of a phone, which goes to the node that failed.
func TestTouch_follows_runs(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, release := h.SlowFlow()
	p := newPhone(t, h, id)
	running := `document.querySelector("#node-get").dataset.state === "running" && document.querySelector(".run-bar [data-command=stop]")`
	p.tap("#run-button")
	p.Until(running)
	p.onScreen(".run-bar")
	p.command("Follow run on canvas")
	p.Until(`document.querySelector(".run-bar [data-command=follow]").ariaPressed === "true"`)
	p.tap(".run-bar [data-command=stop]")
	p.Until(`document.querySelector(".run-bar").dataset.state === "canceled"`)
	p.closeSheet()

	p.away()
	p.Want(inView("get"), `false`)
	p.tap(".run-bar [data-command=rerun]")
	p.Until(running + ` && ` + inView("get"))
	p.away()
	release <- http.StatusTeapot
	p.Until(`document.querySelector(".run-bar").dataset.state === "failed" && [...canvas.selection.nodes].join() === "get" && ` + inView("get"))
	p.Until(`document.querySelector("#flow-result .note.bad")`)
}

// closeSheet waits until the pane has slid over the canvas, and closes it.
func (p *hand) closeSheet() {
	p.T.Helper()
	p.Until(`document.querySelector(".builder").hasAttribute("data-sheet") && document.getElementById("pane").getBoundingClientRect().bottom < innerHeight + 1`)
	p.tap(".pane-close")
	p.Until(`!document.querySelector(".builder").hasAttribute("data-sheet")`)
}

// TestTouch_replays shows a past run from the list of runs on the flow that ran, which no finger changes, and returns to the draft.
func TestTouch_replays(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(webtest.Routing)
	run := h.RunDraft(b, id, url.Values{"filled": {"1"}, "in.ticket": {"there"}})
	p := newPhone(t, h, id)
	p.do(`canvas.commit("Delete", [{ op: "remove", nodes: ["hello"] }])`)
	p.Saved()
	p.command("Show runs")
	p.Until(`document.querySelector(".builder").hasAttribute("data-sheet")`)
	p.tap(fmt.Sprintf(`#flow-runs [data-replay=%q]`, run.ID))
	p.Eventually(`document.querySelector("#node-hello")?.dataset.state === "succeeded" && canvas.readonly`)
	p.tap("[data-command=show-canvas]")
	p.look(`["hello"]`)
	p.onScreen(".run-bar")
	from := p.head("hello")
	p.do(`window.was = JSON.stringify(` + at("hello") + `)`)
	p.swipe(from, webtest.Point{X: from.X, Y: from.Y + 90})
	p.tapAt(p.head("hello"))
	p.Until(`canvas.selection.nodes.has("hello")`)
	p.Want(`JSON.stringify(`+at("hello")+`) === window.was`, `true`)
	p.hold(p.head("hello"), ".float-menu:popover-open")
	p.Want(`document.querySelector(".float-menu").textContent.includes("Delete")`, `false`)
	p.tapAt(p.free())
	p.Until(`!document.querySelector(".float-menu:popover-open")`)
	p.tap(".run-bar .leave-run")
	p.Eventually(`document.querySelector("flow-canvas[ready]") && !document.querySelector("#node-hello") && !document.querySelector(".run-bar")`)
}
