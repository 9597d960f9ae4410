package e2e

import (
	"fmt"
	"strings"

	cdpinput "github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"sluice/e2e/chrome"
)

// byKeyboard draws only with keys. It never sets the focus by a script, so a page that
// loses the focus fails the test.
type byKeyboard struct{ *drawing }

// maxPresses bounds how often press repeats a key, so that a condition which never
// holds fails the test.
const maxPresses = 60

// press presses a key until a JavaScript condition is true; if it is true already, it
// presses none.
func (k byKeyboard) press(key, condition string) {
	k.d.t.Helper()
	for range maxPresses {
		if chrome.Value[bool](k.Tab, "Boolean("+condition+")") {
			return
		}
		k.Keys(key)
	}
	focus := chrome.Value[string](k.Tab, `document.activeElement.outerHTML.slice(0, 300)`)
	k.Shot("failed-" + k.d.t.Name())
	k.d.t.Fatalf("%q does not lead to %s; the focus is on %s", key, condition, focus)
}

// onCanvas is a JavaScript condition: the canvas, one of its nodes or a port has the
// focus.
const onCanvas = `document.activeElement.closest("flow-canvas")`

// choose types words into the open list, moves to the entry with a title and chooses
// it. title is a JavaScript expression.
func (k byKeyboard) choose(words, title string) {
	k.There("[role=combobox]:focus")
	k.Keys(words)
	k.press(kb.ArrowDown, fmt.Sprintf(`document.querySelector("[role=option][aria-selected=true] b")?.textContent === (%s)`, title))
	k.enter()
}

// enter presses Enter with a key event that carries a character, as keyboards do: if
// the page handles it, nothing must be typed as well.
func (k byKeyboard) enter() {
	k.d.t.Helper()
	e := cdpinput.DispatchKeyEventParams{Type: cdpinput.DispatchKeyEventTypeKeyDown, Key: "Enter", Code: "Enter", Text: "\r", UnmodifiedText: "\r", WindowsVirtualKeyCode: 13}
	chrome.Call(k.Tab, cdpinput.DispatchKeyEvent, e)
	e.Type, e.Text, e.UnmodifiedText = cdpinput.DispatchKeyEventTypeKeyUp, "", ""
	chrome.Call(k.Tab, cdpinput.DispatchKeyEvent, e)
}

func (k byKeyboard) add(kind string) {
	k.press(kb.Escape, onCanvas)
	k.Press('/')
	k.choose(kind, fmt.Sprintf(`document.querySelector("#palette button[data-kind=%s]").textContent.trim()`, kind))
	k.There("#node-" + kind + " [data-port]")
	k.saved()
}

func (k byKeyboard) open(node string) {
	k.press(kb.Escape, onCanvas)
	k.chord("f", "Control")
	k.choose(node, fmt.Sprintf(`document.querySelector("flow-canvas").scene.title(%q)`, node))
	k.Until(fmt.Sprintf(`document.querySelector("#inspector .ins[data-node=%s]")?.contains(document.activeElement)`, node))
}

func (k byKeyboard) set(f drawnField) {
	k.d.t.Helper()
	field := fmt.Sprintf(`[data-key="set:%s"]`, f.name)
	k.There(field)
	k.press(kb.Tab, fmt.Sprintf(`document.activeElement.closest('%s') && document.activeElement.matches("input:not([type=checkbox], [type=range]), textarea, select, .cm-content")`, field))
	if f.how == "select" {
		k.Until(fmt.Sprintf(`[...document.activeElement.options].some((o) => o.value === %q)`, f.value))
		key := kb.ArrowDown
		if chrome.Value[bool](k.Tab, fmt.Sprintf(`document.activeElement.selectedIndex > [...document.activeElement.options].findIndex((o) => o.value === %q)`, f.value)) {
			key = kb.ArrowUp
		}
		k.press(key, fmt.Sprintf(`document.querySelector('%s select').value === %q`, field, f.value))
	} else {
		k.selectAll()
		k.Keys(f.value)
	}
	k.saved()
}

// selectAll selects the text of the field that has the focus.
func (k byKeyboard) selectAll() {
	chrome.Call(k.Tab, cdpinput.DispatchKeyEvent, cdpinput.DispatchKeyEventParams{Type: cdpinput.DispatchKeyEventTypeRawKeyDown, Key: "a", Code: "KeyA", WindowsVirtualKeyCode: 'A', Modifiers: int64(kb.ModifierCtrl), Commands: []string{"selectAll"}})
}

// connect makes an edge: it opens the node, moves to its port, chooses it, and then
// chooses the port at the other end.
func (k byKeyboard) connect(from, to string) {
	node, _, _ := strings.Cut(from, ".")
	k.open(node)
	k.press(kb.Escape, fmt.Sprintf(`document.activeElement.id === "node-%s"`, node))
	k.enter()
	for i, end := range []string{from, to} {
		node, name, _ := strings.Cut(end, ".")
		k.press(kb.ArrowDown, fmt.Sprintf(`document.activeElement === document.querySelector('%s')`, port(node, name, []string{"out", "in"}[i])))
		k.enter()
	}
	k.Until(fmt.Sprintf(`document.querySelector("flow-canvas").document().edges.some((x) => x.from === %q && x.to === %q)`, from, to))
	k.saved()
}
