package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
	"sluice/flow/value"
)

// testRunFlow has two calls, a step that joins their results, and a webhook.
const testRunFlow = `
	x input {"name": "x"}
	y input {"name": "y"}
	a call
	b call
	c note_down
	late call
	oa output {"name": "a"}
	oc output {"name": "c"}
	h hook {"url": "https://example.com", "outputs": ["a"]}
	x.value -> a.values
	a.text -> b.values
	y.value -> c.values
	b.text -> c.values
	a.text -> oa.value
	c.text -> oc.value
	c.text -> late.values
	`

func TestInitialSteps_of_test_runs(t *testing.T) {
	t.Parallel()
	text := func(s string) map[string]any { return map[string]any{"text": s} }
	tests := []struct {
		name, flow, until string
		pins              []flow.Pin
		nodes             string // remaining nodes, if it runs up to a node
		states            string
		sent              int
	}{
		{
			name: "without pins runs everything", flow: testRunFlow, sent: 1,
			states: "x succeeded, y succeeded, a succeeded, b succeeded, oa succeeded, c succeeded, h succeeded, oc succeeded, late succeeded",
		}, {
			name: "does not run what is pinned, and continues from there", flow: testRunFlow, sent: 1, pins: []flow.Pin{{Node: "b", Outputs: text("pinned")}},
			states: "x succeeded, y succeeded, a succeeded, b reused, oa succeeded, c succeeded, h succeeded, oc succeeded, late succeeded",
		}, {
			name: "to a node runs it and what it depends on", flow: testRunFlow, until: "b", nodes: "x a b",
			states: "x succeeded, a succeeded, b succeeded",
		}, {
			name: "to an output sends nothing", flow: testRunFlow, until: "oa", nodes: "x a oa",
			states: "x succeeded, a succeeded, oa succeeded",
		}, {
			name: "to a webhook sends it", flow: testRunFlow, until: "h", nodes: "x a oa h", sent: 1,
			states: "x succeeded, a succeeded, oa succeeded, h succeeded",
		}, {
			name: "to a node skips nodes that only a pinned one needs", flow: testRunFlow, until: "c", nodes: "x y a b c", pins: []flow.Pin{{Node: "b", Outputs: text("pinned")}},
			states: "x skipped, y succeeded, a skipped, b reused, c succeeded",
		}, {
			name: "to a pinned node runs nothing", flow: testRunFlow, until: "b", nodes: "x a b", pins: []flow.Pin{{Node: "b", Outputs: text("pinned")}},
			states: "x skipped, a skipped, b reused",
		}, {
			name: "a pinned webhook is not sent", flow: testRunFlow, pins: []flow.Pin{{Node: "h", Outputs: map[string]any{"outputs": map[string]any{}}}},
			states: "x succeeded, y succeeded, a succeeded, b succeeded, oa succeeded, c succeeded, h reused, oc succeeded, late succeeded",
		}, {
			name: "inputs, outputs and deleted nodes are not pinned", flow: "x input {\"name\": \"x\"}\n o output {\"name\": \"o\"}\n x.value -> o.value",
			pins:   []flow.Pin{{Node: "x", Outputs: map[string]any{"value": "pinned"}}, {Node: "o", Outputs: map[string]any{"value": "pinned"}}, {Node: "gone", Outputs: text("t")}},
			states: "x succeeded, o succeeded",
		}, {
			name: "a disabled node is skipped, pinned or not", flow: "a call {} {\"disabled\": true}\n b call\n a.text -> b.values", pins: []flow.Pin{{Node: "a", Outputs: text("t")}},
			states: "a skipped, b skipped",
		}, {
			name:   "a pinned node continues although its branch is not taken",
			flow:   "x input {\"name\": \"x\"}\n g gate {\"take\": \"no\"}\n a call\n b call\n x.value -> g.value\n g.yes -> a.values\n a.text -> b.values",
			pins:   []flow.Pin{{Node: "a", Outputs: text("t")}},
			states: "x succeeded, g succeeded, a reused, b succeeded",
		}, {
			name: "a node that depends on a missing port of a pin is skipped", flow: "a call\n b call\n a.text -> b.values", pins: []flow.Pin{{Node: "a", Outputs: map[string]any{}}},
			states: "a reused, b skipped",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
				s := newPlanFixture(t, tt.flow)
				if tt.until != "" {
					part := document.Upstream(s.g.Document, tt.until, flowtest.Kinds)
					if got := strings.Join(idsOf(part), " "); got != tt.nodes {
						t.Fatalf("the part has %s, want %s", got, tt.nodes)
					}
					var err error
					if s.g, err = Compile(part, flowtest.Kinds); err != nil {
						t.Fatal(err)
					}
				}
				first := s.disk.first
				first.Inputs = value.FromMap(map[string]any{"x": "one", "y": "two"})
				s.disk = newDisk(first, s.g.InitialSteps(tt.pins, tt.until, time.Now())...)
				if run := s.finish(); run.Progress.Done != s.g.Len() || run.Seq == 0 {
					t.Errorf("progress %+v, seq %d", run.Progress, run.Seq)
				}
				s.wantStates(tt.states)
				s.wantEnd(flow.RunSucceeded, "")
				if n := len(s.disk.deliveries()); n != tt.sent {
					t.Errorf("%d deliveries, want %d", n, tt.sent)
				}
			})
		})
	}
}

func idsOf(d *flow.Document) []string {
	ids := make([]string, len(d.Nodes))
	for i := range d.Nodes {
		ids[i] = d.Nodes[i].ID
	}
	return ids
}

func TestPin_passes_value_to_dependents(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newPlanFixture(t, "a call\n o output {\"name\": \"o\"}\n a.text -> o.value")
		s.disk = newDisk(s.disk.first, s.g.InitialSteps([]flow.Pin{{Node: "a", Outputs: map[string]any{"text": "pinned"}}}, "", time.Now())...)
		wantJSON(t, s.finish().Outputs, `{"o":"pinned"}`)
	})
}

// Pinned outputs are not results, so a rerun does not reuse them.
func TestRerun_does_not_reuse_pins(t *testing.T) {
	t.Parallel()
	g := graphOf(t, "a call\n b call\n a.text -> b.values")
	ahead := g.InitialSteps([]flow.Pin{{Node: "a", Outputs: map[string]any{"text": "pinned"}}}, "", time.Now())
	p := NewPlan(g, &flow.Run{ID: "run_2", State: flow.RunQueued, Timeout: flow.RunTimeout}, nil, NewReuse(g, ahead, ""))
	if a := p.Next(time.Now()); a.Type != ActRecord || a.Write.Steps[0].State != flow.StepRunning {
		t.Errorf("%+v", a)
	}
}

func TestUpstream_keeps_only_needed_nodes(t *testing.T) {
	t.Parallel()
	d := graphOf(t, testRunFlow).Document
	d.Groups = []flow.Group{{ID: "g", Nodes: []string{"a", "late"}}, {ID: "out", Nodes: []string{"late"}}}
	part := document.Upstream(d, "a", flowtest.Kinds)
	if len(part.Edges) != 1 || part.Edges[0] != (flow.Edge{From: "x.value", To: "a.values"}) {
		t.Errorf("edges %v", part.Edges)
	}
	if len(part.Groups) != 1 || !slices.Equal(part.Groups[0].Nodes, []string{"a"}) || len(d.Groups[0].Nodes) != 2 {
		t.Errorf("groups %v of %v", part.Groups, d.Groups)
	}
	if document.Upstream(d, "nobody", flowtest.Kinds) != nil {
		t.Error("Upstream of an unknown node is not nil")
	}
}

func TestCovers_compares_parts_of_documents(t *testing.T) {
	t.Parallel()
	d := graphOf(t, testRunFlow).Document
	change := func(f func(*flow.Document)) *flow.Document {
		other, _ := document.ParseDocument(d.Compact())
		f(other)
		return other
	}
	for name, tt := range map[string]struct {
		part *flow.Document
		want bool
	}{
		"itself":                          {d, true},
		"a part":                          {document.Upstream(d, "b", flowtest.Kinds), true},
		"with another position and label": {change(func(o *flow.Document) { o.Nodes[0].Position, o.Nodes[0].Label = &flow.Position{X: 7}, "New" }), true},
		"with another config":             {change(func(o *flow.Document) { o.Nodes[0].Config["default"] = "x" }), false},
		"with an additional node":         {change(func(o *flow.Document) { o.Nodes = append(o.Nodes, flow.Node{ID: "new", Kind: "call"}) }), false},
		"without an edge":                 {change(func(o *flow.Document) { o.Edges = o.Edges[1:] }), false},
		"with a disabled node":            {change(func(o *flow.Document) { o.Nodes[2].Disabled = true }), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := document.Covers(d, tt.part); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
