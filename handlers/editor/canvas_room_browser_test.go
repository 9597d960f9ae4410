package editor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// branchingFlow has a condition, a long edge, two outputs, and a webhook that sends them.
const branchingFlow = `{"schema": "sluice.flow/v1", "name": "Branches", "nodes": [
	{"id": "no", "kind": "template", "position": {"x": 0, "y": 0}, "config": {"template": "No {{when}}"}},
	{"id": "word", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "word"}},
	{"id": "mood", "kind": "sentiment", "position": {"x": 0, "y": 0}, "config": {}},
	{"id": "good", "kind": "condition", "position": {"x": 0, "y": 0}, "config": {"expression": "value == 'positive'"}},
	{"id": "yes", "kind": "template", "position": {"x": 0, "y": 0}, "config": {"template": "Yes {{when}}"}},
	{"id": "answer", "kind": "output", "position": {"x": 0, "y": 0}, "config": {"name": "answer"}},
	{"id": "raw", "kind": "output", "position": {"x": 0, "y": 0}, "config": {"name": "raw"}},
	{"id": "hook", "kind": "webhook", "position": {"x": 0, "y": 0}, "config": {"url": "https://example.com/hook"}}
], "edges": [
	{"from": "word.value", "to": "mood.text"}, {"from": "mood.label", "to": "good.value"}, {"from": "good.false", "to": "no.when"}, {"from": "good.true", "to": "yes.when"},
	{"from": "yes.text", "to": "answer.value"}, {"from": "no.text", "to": "answer.value"}, {"from": "word.value", "to": "raw.value"}
]}`

// Tidy puts branches in the order of their ports and webhooks right of the outputs that they
// send, and no edge passes behind a node.
func TestTidy_draws_a_clear_flow(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, branchingFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	webtest.Value[bool](p, `canvas.tidy().then(() => true)`)
	p.Saved()
	p.Until(crowded + ` === ""`)
	p.Want(`canvas.draft.position("yes").y < canvas.draft.position("no").y`, `true`)
	p.Want(`["answer", "raw"].every((o) => canvas.draft.position("hook").x > canvas.draft.position(o).x + 176)`, `true`)
	p.Want(`["word.value>mood.text", "mood.label>good.value"].every((key) => { const e = canvas.edges.get(key), [s, t] = [canvas.scene.port(e.from, "out"), canvas.scene.port(e.to, "in")]; return Math.abs(canvas.scene.box(s.node).y + canvas.scene.level(s) - canvas.scene.box(t.node).y - canvas.scene.level(t)) <= 1; })`, `true`)
}

// A node that is inserted into an edge moves what follows to the right. The message offers to
// undo both at once.
func TestCanvas_makes_room_for_inserted_nodes(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, branchingFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	webtest.Value[bool](p, `canvas.tidy().then(() => true)`)
	p.Saved()
	const places = `JSON.stringify([...canvas.draft.nodes.keys()].map((n) => canvas.draft.position(n)))`
	before := webtest.Value[string](p, places)
	webtest.Value[bool](p, `(canvas.edges.showTools("good.true>yes.when"), true)`)
	p.Click(".canvas-edge-plus circle")
	p.Until(`document.getElementById("chooser")?.open`)
	p.Write("templ")
	p.Press("Enter")
	p.Until(`canvas.draft.edges.some((e) => e.from === "template.text" && e.to === "yes.when")`)
	p.Saved()
	p.Until(`document.querySelector("#toasts .toast.ok")?.textContent.includes("Template added, 4 nodes moved")`) // those after it, and raw, which yes would come close to
	p.Want(crowded, `""`)
	webtest.Value[bool](p, `(document.querySelector("#toasts .toast.ok .btn").click(), true)`)
	p.Until(`!canvas.draft.nodes.has("template") && ` + places + ` === ` + fmt.Sprintf("%q", before))

	// An approval and a map, which have no input until they have a name for it.
	p.Saved()
	p.Click(`.rail-group:has(+ ul [data-kind="approval"])`)
	p.Until(`document.querySelector('.kind[data-kind="approval"]').checkVisibility()`)
	at := webtest.Value[webtest.Point](p, `(() => { const l = canvas.edges.path("yes.text>answer.value"), q = l.getPointAtLength(l.getTotalLength() / 2), m = l.getScreenCTM(); return { x: q.x * m.a + m.e, y: q.y * m.d + m.f }; })()`)
	p.Drag(p.Middle(`.kind[data-kind="approval"]`), at)
	p.Until(`canvas.draft.hasEdge({ from: "yes.text", to: "approval.yes" }) && canvas.draft.hasEdge({ from: "approval.yes", to: "answer.value" })`)
	p.Saved()
	p.Until(`canvas.scene.port("approval.yes", "in") && canvas.scene.port("approval.yes", "out")`)
	p.Want(crowded, `""`)
}

// Many nodes inserted anywhere leave a flow that can be read.
func TestCanvas_stays_clear_after_random_inserts(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	setDraft(h, id, branchingFlow)
	p := h.As(flow.MemberEditor).Tab(webtest.Chromium(t), 1440, 900).Builder("/flows/" + id)
	webtest.Value[bool](p, `canvas.tidy().then(() => true)`)
	p.Saved()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 12 {
		edges := webtest.Value[int](p, `canvas.draft.edges.length`)
		webtest.Value[bool](p, fmt.Sprintf(`(canvas.insert({ id: "more%[1]d", kind: "replace", position: { x: 0, y: 0 }, config: {} }, { edge: canvas.draft.edges[%[2]d] }), true)`, i, random.IntN(edges)))
		p.Until(fmt.Sprintf(`canvas.draft.edgesOf("more%d").length === 2`, i))
		p.Saved()
		if bad := webtest.Value[string](p, crowded); bad != "" {
			t.Fatalf("after insert %d: %s", i, bad)
		}
	}
}
