package editor_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"

	"sluice/handlers/webtest"
)

// TestTouch_nodes adds, moves, copies, groups, renames, opens and disables nodes with a finger.
func TestTouch_nodes(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, `{"schema": "sluice.flow/v1", "name": "Nodes", "nodes": [
		{"id": "hint", "kind": "note", "position": {"x": 0, "y": 300}, "config": {"text": "Read me", "width": 200, "height": 100}},
		{"id": "word", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "word"}},
		{"id": "loud", "kind": "template", "position": {"x": 240, "y": 40}, "config": {"template": "{{word}}!"}}
	], "edges": [{"from": "word.value", "to": "loud.word"}]}`)
	p := newPhone(t, h, id)
	nodes := func(n int) { t.Helper(); p.Until(fmt.Sprintf(`canvas.draft.nodes.size === %d`, n)) }

	// A long press on empty canvas offers to add a node there, and so does a double tap.
	p.menu(p.free(), "Add a node")
	p.Until(`document.getElementById("chooser")?.open`)
	p.tapAt(p.center(`[...document.querySelectorAll("#chooser [role=option]")].find((o) => o.textContent.startsWith("Output"))`))
	nodes(4)
	p.tap("#undo")
	nodes(3)
	free := p.free()
	p.tapAt(free)
	p.tapAt(free)
	p.Until(`document.getElementById("chooser")?.open`)
	p.Press("Escape")

	// A drag keeps to the grid, and pans at the border.
	p.look(`["word", "loud"]`)
	from := p.head("word")
	p.swipe(from, webtest.Point{X: from.X + 3, Y: from.Y + 93})
	p.Until(at("word") + `.y > 60 && ` + at("word") + `.y % 10 === 0`)
	p.steady()
	x := p.number(`canvas.view.transform[0]`)
	from = p.head("loud")
	p.fingers(input.DispatchTouchEventTypeTouchStart, from)
	for i := 1.0; i <= 8; i++ {
		p.fingers(input.DispatchTouchEventTypeTouchMove, webtest.Point{X: from.X + (372-from.X)*i/8, Y: from.Y + 5*i})
	}
	p.Until(fmt.Sprintf(`canvas.view.transform[0] < %v`, x-20))
	p.fingers(input.DispatchTouchEventTypeTouchEnd)
	p.tap("#undo")
	p.Until(at("loud") + `.x === 240`)

	// In the mode that selects, taps add to the selection; several nodes are aligned and grouped.
	p.look(`["word", "loud"]`)
	p.tapAt(p.free())
	p.Until(`canvas.selection.nodes.size === 0`)
	p.tap("#select-mode")
	p.Until(`document.getElementById("select-mode").ariaPressed === "true"`)
	p.tapAt(p.head("word"))
	p.tapAt(p.head("loud"))
	p.Until(`canvas.selection.nodes.size === 2 && document.querySelector("#selection-bar [data-several]").checkVisibility()`)
	p.steady()
	p.Want(`[...document.querySelectorAll("#selection-bar button")].every((b) => { const r = b.getBoundingClientRect(); return r.left >= 0 && r.right <= 375 && r.height >= 32; })`, `true`)
	p.tap(`#selection-bar [data-command="align-top"]`)
	p.Until(at("word") + `.y === ` + at("loud") + `.y`)
	from = p.head("word")
	y := p.number(at("loud") + `.y`)
	p.swipe(from, webtest.Point{X: from.X, Y: from.Y + 40}) // both
	p.Until(fmt.Sprintf(`%s.y > %v && %s.y === %s.y`, at("loud"), y, at("word"), at("loud")))
	p.menu(p.head("loud"), "Group")
	p.Until(`document.querySelectorAll(".canvas-group").length === 1`)
	p.look(`["word", "loud"]`)
	y = p.number(at("loud") + `.y`)
	from = p.Middle(".canvas-group-name")
	p.swipe(from, webtest.Point{X: from.X, Y: from.Y + 40})
	p.Until(fmt.Sprintf(`%s.y > %v`, at("loud"), y))
	p.tap(".canvas-group-fold")
	p.Until(`!document.querySelector("#node-word").checkVisibility()`)
	p.tap(".canvas-group-fold")
	p.Until(`document.querySelector("#node-word").checkVisibility()`)
	p.menu(p.head("loud"), "Ungroup")
	p.Until(`document.querySelectorAll(".canvas-group").length === 0`)
	p.tap("#select-mode")

	// Copies: beside the node, and of the clipboard.
	p.look(`["word", "loud"]`)
	p.tapAt(p.head("loud"))
	p.Until(`[...canvas.selection.nodes].join() === "loud"`)
	p.tap(`#selection-bar [data-command="duplicate"]`)
	nodes(4)
	p.tap(`#selection-bar [data-command="delete"]`)
	nodes(3)
	p.menu(p.head("loud"), "Copy")
	p.menu(p.free(), "Paste")
	nodes(4)
	p.look(`["loud_2"]`)
	p.menu(p.head("loud_2"), "Cut")
	nodes(3)
	p.menu(p.free(), "Paste")
	nodes(4)
	p.tap("#undo")
	nodes(3)

	// A node is renamed, disabled, opened by a button or a double tap, and a note is resized.
	p.look(`["word", "loud"]`)
	p.menu(p.head("loud"), "Rename node")
	p.Until(`document.activeElement.matches(".renaming")`)
	p.Press("Ctrl+A")
	p.Write("Shout")
	p.Press("Enter")
	p.Until(`canvas.draft.nodes.get("loud").label === "Shout"`)
	p.tapAt(p.head("loud"))
	p.tap(`#selection-bar [data-command="disable"]`)
	p.Until(`document.querySelector("#node-loud").hasAttribute("data-disabled")`)
	p.tap(`#selection-bar [data-command="disable"]`)
	p.Until(`!document.querySelector("#node-loud").hasAttribute("data-disabled")`)
	p.tap(`#selection-bar [data-command="open"]`)
	p.Until(`document.querySelector(".builder").hasAttribute("data-sheet") && document.querySelector("#inspector [data-node=loud]")`)
	p.tap(".pane-close")
	p.Until(`!document.querySelector(".builder").hasAttribute("data-sheet")`)
	p.look(`["word", "loud"]`)
	p.twoTaps(p.head("word"))
	p.Until(`document.querySelector(".builder").hasAttribute("data-sheet") && document.querySelector("#inspector [data-node=word]")`)
	p.tap(".pane-close")
	p.look(`["hint"]`)
	corner := webtest.Value[webtest.Point](p.Tab, `(() => { const r = document.querySelector("#node-hint").getBoundingClientRect(); return { X: r.right - 14, Y: r.bottom - 14 }; })()`)
	p.swipe(corner, webtest.Point{X: corner.X + 30, Y: corner.Y + 40})
	p.Until(`canvas.draft.nodes.get("hint").config.height > 120 && ` + at("hint") + `.y === 300`)
	p.Saved()
}

// at returns an expression for the position of a node.
func at(node string) string { return fmt.Sprintf(`canvas.draft.position(%q)`, node) }

// twoTaps is a double tap.
func (p *hand) twoTaps(at webtest.Point) { p.T.Helper(); p.tapAt(at); p.tapAt(at) }
