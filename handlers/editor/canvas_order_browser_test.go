package editor_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestCanvas_orders_the_edges_into_a_list drags the number of an edge, and moves edges by keyboard in the settings.
func TestCanvas_orders_the_edges_into_a_list(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, `{"schema": "sluice.flow/v1", "name": "Join", "nodes": [
		{"id": "a", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "a"}},
		{"id": "b", "kind": "input", "position": {"x": 0, "y": 200}, "config": {"name": "b"}},
		{"id": "c", "kind": "input", "position": {"x": 0, "y": 400}, "config": {"name": "c"}},
		{"id": "join", "kind": "combine", "position": {"x": 420, "y": 200}, "config": {"to": "list"}},
		{"id": "answer", "kind": "output", "position": {"x": 760, "y": 200}, "config": {"name": "answer"}}
	], "edges": [{"from": "a.value", "to": "join.values"}, {"from": "b.value", "to": "join.values"}, {"from": "c.value", "to": "join.values"}, {"from": "join.list", "to": "answer.value"}]}`)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	order := func(want string) {
		t.Helper()
		p.Until(`canvas.draft.edgesInto("join.values").map((e) => e.from[0]).join("") === "` + want + `"`)
		p.Until(`["a", "b", "c"].toSorted((x, y) => sign(x) - sign(y)).join("") === "` + want + `"`)
	}
	webtest.Value[bool](p, `(window.sign = (n) => Number(document.querySelector('[data-edge="' + n + '.value>join.values"] .canvas-edge-order')?.textContent), true)`)
	p.Until(`canvas.drawing && sign("c") === 3`)
	order("abc")
	number := func(node string) webtest.Point {
		return p.Middle(`[data-edge="` + node + `.value>join.values"] .canvas-edge-order`)
	}

	// Escape leaves the order as it was; the release of a drag changes it in one step.
	from, to := number("c"), number("a")
	p.Mouse(input.DispatchMouseEventTypeMousePressed, from)
	p.Mouse(input.DispatchMouseEventTypeMouseMoved, to)
	p.Until(`sign("c") === 1 && sign("a") === 2 && document.querySelector(".canvas-pane[data-ordering]")`)
	p.Press("Escape")
	p.Mouse(input.DispatchMouseEventTypeMouseReleased, to)
	order("abc")
	p.Drag(number("c"), number("a"))
	order("cab")
	p.Saved()
	p.Want(`document.querySelector(".canvas-pane").hasAttribute("data-ordering")`, `false`)
	p.Press("Ctrl+Z")
	order("abc")
	p.Saved()

	// A click on the number selects the edge.
	p.Click(`[data-edge="b.value>join.values"] .canvas-edge-order`)
	p.Want(`[...canvas.selection.edges].join()`, `"b.value>join.values"`)

	// By keyboard, in the settings: the focus stays with the edge.
	webtest.Value[bool](p, `(canvas.selection.set(["join"]), true)`)
	p.Until(`document.querySelectorAll("#inspector [data-node=join] .ins-order").length === 3`)
	webtest.Value[bool](p, `(document.querySelector('#inspector .ins-order:has([value^="c."]) [title="Move up"]').focus(), true)`)
	p.Press("Enter")
	order("acb")
	p.Until(`document.activeElement.value === "c.value>join.values>0"`)
	p.Saved()
	p.Press("Enter")
	order("cab")
	p.Until(`document.activeElement.value === "c.value>join.values>1"`) // it is the first now: the focus is on Move down
	p.Saved()

	// Without scripts the form does the same.
	h.As(flow.MemberEditor).Post("/flows/"+id+"/node/join", map[string][]string{"place": {"b.value>join.values>0"}}).Is(303)
	if got := h.Draft(id).Edges; firstInto(got, "join.values") != "b.value" {
		t.Errorf("the edges are %v", got)
	}
}

func firstInto(edges []flow.Edge, port string) string {
	for _, e := range edges {
		if e.To == port {
			return e.From
		}
	}
	return ""
}
