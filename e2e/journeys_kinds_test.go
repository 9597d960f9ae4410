package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
)

// drawnField is what a person sets in the inspector: how is "select", "text" or "row",
// for the first row of a list.
type drawnField struct{ name, how, value string }

// drawnKind is a flow of an input, one node of a kind and an output.
type drawnKind struct {
	kind    string
	set     []drawnField
	in, out string // ports that get edges
	typ     string // of the input; text when empty
	given   any
	want    string // JSON of the output, or a part of it
}

// drawnKinds are the kinds of flow control, text tools and code.
func drawnKinds(child string) []drawnKind {
	return []drawnKind{
		{kind: "split", set: []drawnField{{"by", "select", "separator"}, {"separator", "text", ";"}}, in: "text", out: "items", given: "a;b", want: `["a","b"]`},
		{kind: "combine", set: []drawnField{{"to", "select", "list"}}, in: "values", out: "list", given: "a", want: `["a"]`},
		{kind: "replace", set: []drawnField{{"find", "text", "a"}, {"replacement", "text", "b"}}, in: "text", out: "text", given: "cat", want: `"cbt"`},
		{kind: "extract", set: []drawnField{{"pattern", "text", "[0-9]+"}}, in: "from", out: "value", given: "room 42", want: `"42"`},
		{kind: "json", set: []drawnField{{"do", "select", "pick fields"}, {"members", "row", "a"}}, in: "from", out: "a", given: `{"a":1}`, want: `1`},
		{kind: "expression", set: []drawnField{{"expression", "text", "value + '!'"}}, in: "value", out: "value", given: "hi", want: `"hi!"`},
		{kind: "switch", set: []drawnField{{"cases", "row", "yes"}}, in: "value", out: "yes", given: "yes", want: `"yes"`},
		{kind: "delay", set: []drawnField{{"duration", "text", "1s"}}, in: "value", out: "value", given: "later", want: `"later"`},
		{kind: "approval", set: []drawnField{{"title", "text", "Send it?"}, {"values", "row", "draft"}}, in: "draft", out: "approved", given: "Hello", want: `"values":{"draft":"Hello"}`},
		{kind: "code", in: "value", out: "result", given: "as it is", want: `"as it is"`},
		{kind: "subflow", set: []drawnField{{"flow", "select", child}}, in: "input.word", out: "echo", given: "one", want: `"one"`},
		{kind: "map", set: []drawnField{{"flow", "select", child}}, in: "input.word", out: "echo", typ: "list", given: []any{"x", "y"}, want: `["x","y"]`},
	}
}

// drawnBy is a way to draw a flow: by mouse, by keyboard, or by touch in the outline on
// a phone.
type drawnBy interface {
	add(kind string)
	open(node string) // its settings
	set(f drawnField) // a setting of the open node
	connect(from, to string)
}

type byMouse struct{ *drawing }

func (m byMouse) add(kind string) {
	addNode(m.Tab, kind)
	m.There("#node-" + kind + " [data-port]")
	x := map[string]float64{"input": 345, "output": 895}[kind]
	if x == 0 {
		x = 620
	}
	m.Drag(m.Middle("#node-"+kind+" header"), chrome.Point{X: x, Y: 270})
	m.saved()
}

func (m byMouse) open(node string) { m.Click("#node-" + node + " header") }

func (m byMouse) connect(from, to string) {
	a, out, _ := strings.Cut(from, ".")
	b, in, _ := strings.Cut(to, ".")
	m.wire(a, out, b, in)
}

func (m byMouse) set(f drawnField) { m.setField(f) }

type byTouch struct{ *drawing }

func (p byTouch) set(f drawnField) { p.setField(f) }

func (p byTouch) add(kind string) {
	p.Eval(fmt.Sprintf(`document.querySelector("#outline-kind").value = %q`, kind))
	p.Tap(".outline-add button")
	p.There("#line-" + kind)
	p.saved()
}

func (p byTouch) open(node string) {
	p.openLine(node)
	p.Tap(fmt.Sprintf("#line-%s [data-jump]", node))
}

// openLine shows the outline with a node open.
func (p byTouch) openLine(node string) {
	p.saved()
	p.Go(p.d.base() + "/flows/" + p.flow)
	p.There("#outline")
	p.There("flow-canvas[ready]")
	p.Until(`document.getElementById("shortcuts") !== null`) // also what loads when the browser is idle
	if !chrome.Value[bool](p.Tab, fmt.Sprintf(`document.querySelector("#line-%s").classList.contains("open")`, node)) {
		p.Tap("#line-" + node + " a.line")
	}
	p.There(fmt.Sprintf("#line-%s [data-jump]", node))
}

func (p byTouch) connect(from, to string) {
	node, _, _ := strings.Cut(to, ".")
	p.openLine(node)
	choose := fmt.Sprintf(`[id="connect-from-%s"]`, to)
	p.There(choose)
	p.Eval(fmt.Sprintf(`document.querySelector('%s').value = %q`, choose, from))
	p.Tap(fmt.Sprintf(`form:has(%s) button`, choose))
	p.saved()
}

// setField sets a field in the inspector.
func (e *drawing) setField(f drawnField) {
	e.d.t.Helper()
	at := fmt.Sprintf(`[data-key="set:%s"]`, f.name)
	switch f.how {
	case "select":
		at += " select"
		e.There(at)
		e.Until(fmt.Sprintf(`[...document.querySelector('%s').options].some((o) => o.value === %q)`, at, f.value))
		e.Eval(fmt.Sprintf(`{ const s = document.querySelector('%s'); s.focus(); s.value = %q; s.dispatchEvent(new Event("input", { bubbles: true })); s.dispatchEvent(new Event("change", { bubbles: true })); }`, at, f.value))
	default:
		at += " :is(input:not([type=hidden], [type=checkbox], [type=range]), textarea)"
		e.There(at)
		e.Eval(fmt.Sprintf(`{ const i = document.querySelector('%s'); i.focus(); i.select?.(); }`, at))
		e.Keys(f.value)
	}
	e.saved()
}

// drawKind draws a flow of one kind, runs it, and compares its output.
func (e *drawing) drawKind(by drawnBy, k drawnKind) {
	e.d.t.Helper()
	by.add("input")
	if k.typ != "" {
		by.open("input")
		by.set(drawnField{"type", "select", k.typ})
	}
	by.add(k.kind)
	by.open(k.kind)
	for _, f := range k.set {
		by.set(f)
	}
	if _, phone := by.(byTouch); phone {
		by.(byTouch).openLine(k.kind)
	}
	by.add("output")
	by.connect("input.value", k.kind+"."+k.in)
	by.connect(k.kind+"."+k.out, "output.value")
	e.want(shape(&flow.Document{
		Nodes: []flow.Node{{ID: "input"}, {ID: k.kind}, {ID: "output"}},
		Edges: []flow.Edge{{From: "input.value", To: k.kind + "." + k.in}, {From: k.kind + "." + k.out, To: "output.value"}},
	}))
	c := e.d.client(e.d.key("--scope", "edit", "--scope", "run", "--scope", "read"))
	c.want(200, "POST", "/v1/flow/"+e.flow+"/publish", object{})
	r := c.start(e.flow, object{"input": k.given})
	if k.kind == "approval" {
		e.d.waitUntil("the run asks", func() bool { return c.want(200, "GET", r.path(), nil).object(e.d.t)["waiting_for"] == "approval" })
		e.d.client(e.d.key("--scope", "approve")).want(200, "POST", r.path()+"/approvals/approval", object{"decision": "approved"})
	}
	end := c.await(r)
	got, err := json.Marshal(end.Outputs["output"])
	if err != nil || end.Status != "succeeded" || !strings.Contains(string(got), k.want) {
		e.d.t.Errorf("%s ended as %s with %s, %+v; wanted %s", k.kind, end.Status, got, end.Error, k.want)
	}
}

// drawKinds draws every kind in one way.
func drawKinds(t *testing.T, way func(e *drawing) drawnBy) {
	t.Helper()
	d := newDashboard(t)
	child := d.publish(documentOf("Echo", []object{input("word"), output("echo")}, "word.value > out_echo.value"))
	tab := d.signIn(t, ownerEmail, "/flows")
	for _, k := range drawnKinds(child) {
		tab.Size(1440, 900)
		e := d.begin(t, tab)
		e.drawKind(way(e), k)
	}
}

func TestDrawKindsByMouse(t *testing.T) {
	t.Parallel()
	drawKinds(t, func(e *drawing) drawnBy { return byMouse{e} })
}

func TestDrawKindsOnAPhone(t *testing.T) {
	t.Parallel()
	drawKinds(t, func(e *drawing) drawnBy {
		e.Phone()
		e.Allow("status of 409") // the outline's forms and the settings save side by side: the later one rebases
		e.Go(e.d.base() + "/flows/" + e.flow)
		e.There("#outline")
		return byTouch{e}
	})
}

func TestDrawKindsByKeyboard(t *testing.T) {
	t.Parallel()
	drawKinds(t, func(e *drawing) drawnBy { return byKeyboard{e} })
}
