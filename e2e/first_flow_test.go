package e2e

import (
	"encoding/json"
	"fmt"
	"image"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sluice/docs"
	"sluice/e2e/chrome"
)

// walk follows a page of the documentation in the browser. It uses only labels
// that the page names, so that the test fails when either of them changes.
type walk struct {
	*drawing
	t    *testing.T
	page string // Markdown
}

// newWalk returns a walk along a page.
func newWalk(t *testing.T, page string, d *dashboard, tab *chrome.Tab) *walk {
	t.Helper()
	text, err := docs.Source(page)
	if err != nil {
		t.Fatal(err)
	}
	return &walk{&drawing{Tab: tab, d: d}, t, text}
}

// named are the elements that a reader can press: visible, and in the dialog if
// one is open.
const named = `((label) => [...document.querySelectorAll("button, a, summary, [role=tab], [role=menuitem]")].find((e) => {
	const copy = e.cloneNode(true);
	copy.querySelectorAll("kbd, small, .count, .busy").forEach((k) => k.remove());
	return e.checkVisibility({visibilityProperty: true}) && (!document.querySelector("dialog:modal") || e.closest("dialog:modal")) &&
		[e.getAttribute("aria-label")?.replace(/^(Undo|Redo)\b.*/, "$1"), copy.textContent.trim().replace(/\s+/g, " ")].includes(label);
}))`

// press clicks the button, link, tab or menu item with a label, which the page
// must name in italics.
func (w *walk) press(label string) {
	w.t.Helper()
	if !strings.Contains(w.page, "*"+label+"*") {
		w.t.Fatalf("the page does not name *%s*", label)
	}
	target := fmt.Sprintf("%s(%q)", named, label)
	w.Until(target)
	w.ClickOn(target)
}

// picture takes a picture of the page if "make screenshots" asks for it. The
// page must show it.
func (w *walk) picture(name string) { w.t.Helper(); w.pictureOf(name, "body") }

// pictureOf is picture of one element, as far as it is visible.
func (w *walk) pictureOf(name, selector string) {
	w.t.Helper()
	if !strings.Contains(w.page, "(images/steps/"+name+".png)") {
		w.t.Fatalf("the page shows no picture %s", name)
	}
	if *screenshots == "" {
		return
	}
	w.Eval("Promise.all(document.getAnimations().filter((a) => a.effect.getComputedTiming().endTime < Infinity).map((a) => a.finished.catch(() => {})))")
	path := filepath.Join(*screenshots, "steps", name+".png")
	w.Picture(path)
	box := chrome.Value[[4]int](w.Tab, fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom].map(Math.round); })()`, selector))
	if err := shrink(path, image.Rect(box[0], box[1], box[2], box[3])); err != nil {
		w.t.Fatal(err)
	}
}

// rows returns the cells of a table of the page by the title of its first
// column.
func (w *walk) rows(first string) [][]string {
	w.t.Helper()
	_, table, found := strings.Cut(w.page, "| "+first+" |")
	if !found {
		w.t.Fatalf("the page has no table that begins with %s", first)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var rows [][]string
	for _, line := range strings.Split(table, "\n")[2:] {
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	return rows
}

// setting is one entry of the column Set, such as: Name: `mood`.
var setting = regexp.MustCompile("([A-Z][A-Za-z ]*): `([^`]*)`")

// set selects a node and types its settings into the fields with these labels.
func (w *walk) set(node, settings string) {
	w.t.Helper()
	w.Click("#node-" + node + " header")
	w.There(fmt.Sprintf("#inspector [data-node=%q]", node))
	for _, s := range setting.FindAllStringSubmatch(settings, -1) {
		field := fmt.Sprintf(`#inspector [data-set=%q] :is(input:not([type=hidden]), textarea, [contenteditable])`, strings.ToLower(s[1]))
		w.Type(field, s[2])
		w.Eval(`document.activeElement.blur()`)
		w.saved()
	}
}

// TestFirstFlow follows the page "Your first flow" with mouse and keyboard. Nodes, settings,
// edges, labels and the call are read from the page.
func TestFirstFlow(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	d.person("grace@example.com", "editor")
	w := newWalk(t, "first-flow", d, d.signIn(t, ownerEmail, "/flows"))
	w.Size(1280, 720)
	w.press("New")
	w.Click(`form[action="/flows"] button.item`)
	w.There("flow-canvas[ready]")
	w.flow = strings.TrimPrefix(chrome.Value[string](w.Tab, "location.pathname"), "/flows/")
	w.Type("#flow-name", "Describe a message")
	w.Keys("\r")
	w.saved()
	w.Click("#node-text header")
	w.There(`#inspector [data-node=text]`)
	w.picture("blank")

	from, to := w.Middle(port("text", "value", "out")), w.Middle(port("result", "value", "in"))
	w.Do(chromedp.MouseClickXY((from.X+to.X)/2, (from.Y+to.Y)/2))
	w.Keys(kb.Delete)
	w.Until(`document.querySelector("flow-canvas").document().edges.length === 0`)
	for _, row := range w.rows("Add") {
		addNode(w.Tab, strings.ToLower(row[0]))
		w.There("#node-" + strings.ToLower(row[0]) + " [data-port]")
		w.set(strings.ToLower(row[0]), row[2])
	}
	w.place()
	w.Click("#node-template header")
	w.There(port("template", "mood", "in"))
	w.There(port("template", "message", "in"))
	w.Click(`[data-command="fit"]`)
	w.picture("template")
	for _, row := range w.rows("From") {
		from, out, _ := strings.Cut(strings.Trim(row[0], "`"), ".")
		to, in, _ := strings.Cut(strings.Trim(row[1], "`"), ".")
		w.wire(from, out, to, in)
		w.Until(fmt.Sprintf(`document.querySelector("flow-canvas").document().edges.some((e) => e.from === "%s.%s" && e.to === "%s.%s")`, from, out, to, in))
	}
	w.press("Tidy")
	w.saved()
	w.Click(`[data-command="fit"]`)
	w.picture("connected")
	w.inspect()
	w.together()
	w.publishAndCall()
}

// place arranges the nodes as on the pictures and shows all of them.
func (w *walk) place() {
	w.Eval(`document.querySelector("flow-canvas").commit("Move", [{op: "move", nodes: {text: {x: 0, y: 160}, sentiment: {x: 300, y: 0}, template: {x: 600, y: 160}, result: {x: 900, y: 160}, output: {x: 900, y: 0}}}])`)
	w.saved()
	w.Click(`[data-command="fit"]`)
}

// inspect runs the flow and follows the sections about data, partial runs, pins
// and undo.
func (w *walk) inspect() {
	w.t.Helper()
	w.press("Run")
	w.There("#run-dialog #run-form")
	w.Type("#run-form textarea", w.message())
	w.Click("#run-form button[type=submit]")
	w.Has("#run-bar", "ucceeded")
	w.Has("#node-sentiment", "positive")
	w.picture("result")

	w.Click("#node-sentiment header")
	w.Click("#drawer-fold")
	w.press("Data")
	w.Has("#node-data", "positive")
	w.picture("data")

	w.press("Run to here")
	w.Until(`document.querySelector("#node-template").dataset.state !== "succeeded"`)
	w.Has("#run-bar", "ucceeded")
	w.picture("run-to")
	w.press("Pin output")
	w.There(`[data-pin-form][action*="/unpin/"] button`)
	w.picture("pinned")
	w.press("Unpin")
	w.There(`[data-pin-form][action*="/pin/"] button`)
	w.Click("#drawer-fold")

	before := shape(w.draft())
	w.Click("#node-output header")
	w.Keys(kb.Delete)
	w.Gone("#node-output")
	w.saved()
	w.press("Undo")
	w.There("#node-output")
	w.want(before)
}

// together opens the flow as a second person, who moves a node.
func (w *walk) together() {
	w.t.Helper()
	browser := chrome.Start(w.t)
	other := &dashboard{server: w.d.server, browser: browser}
	tab := other.signIn(w.t, "grace@example.com", "/flows/"+w.flow)
	tab.There("flow-canvas[ready]")
	w.Has("#others", "grace")
	w.picture("two-people")
	before := places(w.draft())["result"]
	tab.Drag(tab.Middle("#node-result header"), chrome.Point{X: 900, Y: 600})
	w.Until(fmt.Sprintf(`document.querySelector("flow-canvas").document().nodes.find((n) => n.id === "result").position.y !== %v`, before.Y))
}

// message is the value of the input in the call on the page.
func (w *walk) message() string {
	w.t.Helper()
	m := regexp.MustCompile(`-d '(\{.*\})'`).FindStringSubmatch(w.page)
	var body struct{ Text string }
	if m == nil || json.Unmarshal([]byte(m[1]), &body) != nil {
		w.t.Fatal("the page has no call with an input text")
	}
	return body.Text
}

// publishAndCall publishes the flow and makes the call of the page.
func (w *walk) publishAndCall() {
	w.t.Helper()
	w.press("Publish v1")
	w.There("#publish-dialog form")
	w.picture("publish")
	w.Click(`#publish-dialog form button:is([type=submit], :not([type]))`)
	w.Has("#flow-state", "v1 live")
	var want object
	if err := json.Unmarshal([]byte(sampleBlocks(w.t, "first-flow", "json")[0]), &want); err != nil {
		w.t.Fatal(err)
	}
	c := w.d.client(w.d.key())
	if r := c.succeed(w.flow, object{"text": w.message()}); !reflect.DeepEqual(r.Outputs, want) {
		w.t.Errorf("the call returned %v, the page says %v", r.Outputs, want)
	}
}
