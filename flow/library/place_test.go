package library

import (
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
)

// TestImport_places_nodes checks that imported nodes without a position do not overlap, and that
// importing a document without positions moves no existing node.
func TestImport_places_nodes(t *testing.T) {
	t.Parallel()
	l, s := newLibrary()
	places := func(id flow.FlowID) map[string]flow.Position {
		d, problems := document.ParseDocument(s.flows[id].Draft)
		if d == nil {
			t.Fatal(problems)
		}
		at := map[string]flow.Position{}
		for i := range d.Nodes {
			at[d.Nodes[i].ID] = *d.Nodes[i].Position
		}
		return at
	}
	same := func(id flow.FlowID, want map[string]flow.Position) {
		t.Helper()
		got := places(id)
		if len(got) != len(want) {
			t.Errorf("got %v", got)
		}
		for node, at := range want {
			if got[node] != at {
				t.Errorf("%s is at %v, wanted %v", node, got[node], at)
			}
		}
	}
	take := func(id flow.FlowID, text string) flow.FlowID {
		t.Helper()
		f, err := l.Import(t.Context(), "ws", id, flowtest.Document(strings.ReplaceAll(text, " ; ", "\n")))
		if err != nil {
			t.Fatal(err)
		}
		s.flows[f.ID] = f
		return f.ID
	}
	const edges = "a.text -> c.text ; b.text -> c.values ; c.text -> d.text ; a.text -> d.values"
	columns := map[string]flow.Position{"a": {}, "b": {Y: document.RowHeight}, "c": {X: document.ColumnWidth}, "d": {X: 2 * document.ColumnWidth}}
	id := take("", "a call ; b call ; c call ; d call ; "+edges)
	same(id, columns)

	d, _ := document.ParseDocument(s.flows[id].Draft)
	d.Node("b").Position = &flow.Position{X: -70, Y: 900}
	s.flows[id].Draft = d.Compact()
	columns["b"] = flow.Position{X: -70, Y: 900}
	columns["e"] = flow.Position{Y: 900 + 2*document.RowHeight}
	same(take(id, "a call ; b call ; c call ; d call ; e call ; "+edges), columns)
}
