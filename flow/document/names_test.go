package document

import (
	"strings"
	"testing"

	"sluice/flow"
)

// A document that was imported with such a name keeps it, and can be edited; but
// nobody gives it one.
func TestEditNames(t *testing.T) {
	t.Parallel()
	d := &flow.Document{Schema: flow.Schema, Name: "exe\u202egnp", Nodes: []flow.Node{}, Edges: []flow.Edge{}}
	if back, problems := ParseDocument(d.Compact()); len(problems) > 0 || back.Name != d.Name {
		t.Fatalf("parsed %v, %v", back, problems)
	}
	rename := func(d *flow.Document, name string) error {
		_, err := ApplyEdits(d, []Edit{{Op: OpName, Name: &name}})
		return err
	}
	if err := rename(d, d.Name); err != nil {
		t.Error(err)
	}
	if err := rename(d, "Picture"); err != nil {
		t.Error(err)
	}
	if err := rename(&flow.Document{Schema: flow.Schema, Name: "Picture"}, d.Name); err == nil || !strings.Contains(flow.AsError(err).Fields[0].Detail, "U+202E") {
		t.Errorf("got %v", err)
	}
}
