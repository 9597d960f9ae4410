package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sluice/e2e/chrome"
	"sluice/flow"
)

// drawing is an open flow in the editor.
type drawing struct {
	*chrome.Tab
	d    *dashboard
	flow string
}

// addNode adds a node from the palette. In a window of this width its list opens with the
// search.
func addNode(tab *chrome.Tab, kind string) {
	tab.Click("#palette-search")
	tab.Click(fmt.Sprintf("#palette button[data-kind=%q]", kind))
	tab.Gone("#palette[data-open]")
}

// begin creates a blank flow in the browser and opens it.
func (d *dashboard) begin(t *testing.T, tab *chrome.Tab) *drawing {
	t.Helper()
	tab.Go(d.base() + "/flows")
	tab.Click(".head details.menu summary")
	tab.Click(".head details.menu .sheet form button.item")
	tab.There("flow-canvas[ready]")
	path := chrome.Value[string](tab, "location.pathname")
	e := &drawing{tab, d, strings.TrimPrefix(path, "/flows/")}
	e.clear()
	return e
}

// clear deletes the nodes of a new flow.
func (e *drawing) clear() {
	e.Eval(`document.querySelector("flow-canvas article")?.focus()`)
	e.chord("a", "Control")
	e.Keys(kb.Delete)
	e.saved()
}

func (e *drawing) chord(key string, modifiers ...string) {
	options := []chromedp.KeyOption{}
	for _, m := range modifiers {
		options = append(options, map[string]chromedp.KeyOption{"Control": chromedp.KeyModifiers(chromedp.ModifierCtrl), "Shift": chromedp.KeyModifiers(chromedp.ModifierShift), "Alt": chromedp.KeyModifiers(chromedp.ModifierAlt)}[m])
	}
	e.Keys(key, options...)
}

// saved waits until all changes are saved.
func (e *drawing) saved() {
	e.Until(`document.querySelector("flow-canvas").sync.waiting === 0 && document.querySelector("#save-state").dataset.state === "saved"`)
}

// draft returns the stored draft.
func (e *drawing) draft() *flow.Document {
	var d flow.Document
	text := e.d.must("flow", "export", e.flow)
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		e.d.t.Fatalf("%v in %s", err, text)
	}
	return &d
}

// shape returns the nodes by kind and the edges, without positions.
func shape(d *flow.Document) string {
	var nodes, edges []string
	for _, n := range d.Nodes {
		nodes = append(nodes, n.ID)
	}
	for _, e := range d.Edges {
		edges = append(edges, e.From+">"+e.To)
	}
	slices.Sort(nodes)
	slices.Sort(edges)
	return strings.Join(nodes, " ") + " | " + strings.Join(edges, " ")
}

// want fails the test unless the draft has a shape.
func (e *drawing) want(what string) {
	e.d.t.Helper()
	e.saved()
	if got := shape(e.draft()); got != what {
		e.d.t.Fatalf("the draft is\n%s, want\n%s", got, what)
	}
}

func port(node, name, side string) string {
	return fmt.Sprintf(`#node-%s [data-port="%s"][data-side="%s"]`, node, name, side)
}

// steady is true once the view has stood still for some looks and all nodes are as the
// server rendered them: a drag that begins before that misses its port.
const steady = `(() => {
	const c = document.querySelector("flow-canvas"), now = document.querySelector(".canvas-viewport").style.transform;
	window.looks = now === window.lastLook && c.sync.waiting === 0 && !c.querySelector("article[aria-busy]") ? (window.looks ?? 0) + 1 : 0;
	window.lastLook = now;
	return window.looks > 5;
})()`

// wire drags an edge from an output to an input.
func (e *drawing) wire(from, out, to, in string) {
	e.Eval("window.looks = 0")
	e.Until(steady)
	e.Drag(e.Middle(port(from, out, "out")), e.Middle(port(to, in, "in")))
}

// five is the flow that the tests draw.
const five = "input output output_2 sentiment summarize | input.value>sentiment.text input.value>summarize.text sentiment.label>output_2.value summarize.summary>output.value"

var fiveKinds = []string{"input", "summarize", "sentiment", "output", "output"}

var fivePlaces = map[string]chrome.Point{"input": {X: 345, Y: 270}, "summarize": {X: 620, Y: 160}, "sentiment": {X: 620, Y: 400}, "output": {X: 895, Y: 160}, "output_2": {X: 895, Y: 400}}

func TestDrawByMouse(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	e := d.begin(t, d.signIn(t, ownerEmail, "/flows"))
	e.Click(`[data-command="zoom-out"]`)
	e.Click(`[data-command="zoom-out"]`)
	ids := []string{"input", "summarize", "sentiment", "output", "output_2"}
	for i, kind := range fiveKinds {
		addNode(e.Tab, kind)
		e.There("#node-" + ids[i] + " [data-port]")
		e.Drag(e.Middle("#node-"+ids[i]+" header"), fivePlaces[ids[i]])
		e.saved()
	}
	e.wire("input", "value", "summarize", "text")
	e.wire("input", "value", "sentiment", "text")
	e.wire("summarize", "summary", "output", "value")
	e.wire("sentiment", "label", "output_2", "value")
	e.Shot("journey-drawn")
	e.want(five)
}

func TestDrawByKeyboard(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	e := d.begin(t, d.signIn(t, ownerEmail, "/flows"))
	ids := []string{"input", "summarize", "sentiment", "output", "output_2"}
	for i, kind := range fiveKinds {
		e.Eval(`(document.querySelector("flow-canvas article[tabindex='0']") ?? document.querySelector("flow-canvas [role=application]") ?? document.querySelector("flow-canvas")).focus()`)
		e.Press('/')
		e.There("[role=combobox]:focus")
		e.Keys(kind)
		e.Until(fmt.Sprintf(`document.querySelector("[role=option][aria-selected=true]")?.innerText.toLowerCase().startsWith(%q)`, kind))
		e.Keys("\r")
		e.There("#node-" + ids[i] + " [data-port]")
	}
	for _, edge := range strings.Fields(five[strings.Index(five, "|")+1:]) {
		from, to, _ := strings.Cut(edge, ">")
		for i, end := range []string{from, to} {
			node, name, _ := strings.Cut(end, ".")
			e.Eval(fmt.Sprintf(`document.querySelector('%s').focus()`, port(node, name, []string{"out", "in"}[i])))
			e.Keys("\r")
		}
	}
	e.want(five)
}

// TestDrawOnAPhone builds a flow with touches in the outline, on a screen 375 points wide.
func TestDrawOnAPhone(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	tab := d.signIn(t, ownerEmail, "/flows")
	e := d.begin(t, tab)
	e.Phone()
	e.Go(d.base() + "/flows/" + e.flow)
	e.There("#outline")
	ids := []string{"input", "summarize", "sentiment", "output", "output_2"}
	for i, kind := range fiveKinds {
		e.Eval(fmt.Sprintf(`document.querySelector("#outline-kind").value = %q`, kind))
		e.Tap(".outline-add button")
		e.There("#line-" + ids[i])
	}
	for _, edge := range strings.Fields(five[strings.Index(five, "|")+1:]) {
		from, to, _ := strings.Cut(edge, ">")
		node, _, _ := strings.Cut(to, ".")
		if !chrome.Value[bool](e.Tab, fmt.Sprintf(`document.querySelector("#line-%s").classList.contains("open")`, node)) {
			e.Tap("#line-" + node + " a.line")
		}
		choose := fmt.Sprintf(`[id="connect-from-%s"]`, to)
		e.There(choose)
		e.Eval(fmt.Sprintf(`document.querySelector('%s').value = %q`, choose, from))
		e.Shot("journey-phone-connect")
		e.Tap(fmt.Sprintf(`form:has(%s) button`, choose))
		e.Until(fmt.Sprintf(`document.querySelector("flow-canvas").document().edges.some((x) => x.from === %q && x.to === %q)`, from, to))
		e.There(fmt.Sprintf("#line-%s .edge", node)) // the outline shows it: the next line stays where it is
		e.saved()
	}
	e.want(five)
	e.Shot("journey-phone")
}

// TestUndo_every_kind_of_change undoes each kind of change, also after a reload, and redoes them.
func TestUndo_every_kind_of_change(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	e := d.begin(t, d.signIn(t, ownerEmail, "/flows"))
	empty := shape(e.draft())
	addNode(e.Tab, "input")
	e.There("#node-input [data-port]")
	e.Drag(e.Middle("#node-input header"), fivePlaces["input"])
	addNode(e.Tab, "summarize")
	e.There("#node-summarize [data-port]")
	e.Drag(e.Middle("#node-summarize header"), fivePlaces["summarize"])
	e.wire("input", "value", "summarize", "text")
	e.saved()
	whole := e.draft()
	e.Go(d.base() + "/flows/" + e.flow)
	e.There("flow-canvas[ready]")
	for range 5 { // add, drag, add, drag, connect; a fresh node's first drag may join nothing
		e.Click("#undo")
	}
	e.want(empty)
	for range 5 {
		e.Click("#redo")
	}
	e.saved()
	if got := e.draft(); shape(got) != shape(whole) || !maps.Equal(places(got), places(whole)) {
		t.Errorf("after all is done again the draft is %s at %v, want %s at %v", shape(got), places(got), shape(whole), places(whole))
	}
}

func places(d *flow.Document) map[string]flow.Position {
	m := map[string]flow.Position{}
	for _, n := range d.Nodes {
		if n.Position != nil {
			m[n.ID] = *n.Position
		}
	}
	return m
}

// TestTwoTabs edits a flow in two tabs at the same time.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	one := d.begin(t, d.signIn(t, ownerEmail, "/flows"))
	two := &drawing{d.browser.Open(t, d.base()+"/flows/"+one.flow), d, one.flow}
	two.There("flow-canvas[ready]")
	for _, e := range []*drawing{one, two} {
		e.Allow("status of 409") // the other was faster: that is what is tried here
	}
	addNode(one.Tab, "input")
	addNode(two.Tab, "output")
	for _, e := range []*drawing{one, two} {
		e.There("#node-input [data-port]")
		e.There("#node-output [data-port]")
	}
	one.Drag(one.Middle("#node-input header"), fivePlaces["input"])
	two.Until(`JSON.stringify(document.querySelector("flow-canvas").document().nodes.find((n) => n.id === "input").position) === ` +
		chrome.Value[string](one.Tab, `JSON.stringify(JSON.stringify(document.querySelector("flow-canvas").document().nodes.find((n) => n.id === "input").position))`))
	two.Drag(two.Middle("#node-output header"), fivePlaces["output"])
	two.wire("input", "value", "output", "value")
	one.Until(`document.querySelector("flow-canvas").document().edges.length === 1`)
	one.want("input output | input.value>output.value")
	two.want("input output | input.value>output.value")
}

// TestOfflineEdits_are_saved_on_reconnect edits without a network. Changes survive a reload and are saved once
// the network is back.
func TestOfflineEdits_are_saved_on_reconnect(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	e := d.begin(t, d.signIn(t, ownerEmail, "/flows"))
	e.Allow("ERR_INTERNET_DISCONNECTED")
	e.Allow("Failed to fetch")
	addNode(e.Tab, "input")
	e.There("#node-input [data-port]")
	e.saved()
	e.Offline(true)
	e.Drag(e.Middle("#node-input header"), fivePlaces["input"])
	e.Until(`document.querySelector("#save-state").dataset.state === "offline"`)
	e.Shot("journey-offline")
	e.Offline(false)
	e.saved()
	if at := places(e.draft())["input"]; at == (flow.Position{}) {
		t.Error("the move made while offline is not in the draft")
	}
}
