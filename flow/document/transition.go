package document

import (
	"bytes"
	"reflect"
	"slices"

	"sluice/flow"
)

// EditsBetween returns the edits that turn one document into another, except for the order of the
// fields of configs, which no edit changes; see InOrderOf. They change
// the differences or, if that is not enough (nodes in another order), remove everything and add
// the other document. There may be more edits than a client may send. It returns false if the
// documents are malformed, for example with duplicate node IDs.
func EditsBetween(from, to *flow.Document) ([]Edit, bool) {
	for _, kept := range []map[string]*flow.Node{nodesByID(from), {}} {
		t := transition{from: kept, to: nodesByID(to)}
		t.leave(from)
		t.enter(to)
		t.edges(from, to)
		t.groups(from, to)
		if from.Name != to.Name || from.Description != to.Description {
			t.do(Edit{Op: OpName, Name: &to.Name, Description: &to.Description})
		}
		out, err := ApplyEdits(from, t.ops)
		if err == nil && len(out.Skipped) == 0 && bytes.Equal(InOrderOf(out.Document, to).Compact(), to.Compact()) {
			return t.ops, true
		}
	}
	return nil, false
}

// transition collects the edits that turn one document into another. from holds the nodes that may
// stay.
type transition struct {
	from, to map[string]*flow.Node
	ops      []Edit
}

// do appends an edit.
func (t *transition) do(e Edit) { t.ops = append(t.ops, e) }

// stays reports whether a node is in both documents with the same kind.
func (t *transition) stays(id string) bool {
	was, now := t.from[id], t.to[id]
	return was != nil && now != nil && was.Kind == now.Kind
}

// leave removes the nodes that are not in the new document, with their edges.
func (t *transition) leave(from *flow.Document) {
	var gone []string
	for i := range from.Nodes {
		if id := from.Nodes[i].ID; !t.stays(id) {
			gone = append(gone, id)
		}
	}
	if len(gone) > 0 {
		t.do(Edit{Op: OpRemove, Nodes: gone})
	}
}

// enter adds the new nodes and changes those that stay.
func (t *transition) enter(to *flow.Document) {
	places := map[string]*flow.Position{}
	for i := range to.Nodes {
		n := to.Nodes[i]
		if !t.stays(n.ID) {
			t.do(Edit{Op: OpAdd, New: &n, At: &i})
			continue
		}
		was := t.from[n.ID]
		t.change(was, &n)
		if !reflect.DeepEqual(was.Position, n.Position) {
			places[n.ID] = n.Position
		}
	}
	if len(places) > 0 {
		t.do(Edit{Op: OpMove, Places: places})
	}
}

// change turns a node into its new state, one edit for each member and field that differs.
func (t *transition) change(was, now *flow.Node) {
	for _, name := range changedMembers(was, now) {
		v, has := NodeMember(now, name)
		t.do(Edit{Op: OpPut, Node: now.ID, Member: name, Value: v, Unset: !has})
	}
	inOrder := func(a, b any) bool { return string(flow.EncodeJSON(a)) == string(flow.EncodeJSON(b)) }
	for _, name := range changedConfig(was, now, inOrder) {
		v, has := now.Config[name]
		t.do(Edit{Op: OpSet, Node: now.ID, Field: name, Value: v, Unset: !has})
	}
}

// edges keeps the common prefix of edges, and disconnects and connects the others, because the
// order of edges matters at list ports.
func (t *transition) edges(from, to *flow.Document) {
	left := slices.DeleteFunc(slices.Clone(from.Edges), func(e flow.Edge) bool {
		a, _ := e.Source()
		b, _ := e.Target()
		return !t.stays(a) || !t.stays(b)
	})
	same := 0
	for same < len(left) && same < len(to.Edges) && left[same] == to.Edges[same] {
		same++
	}
	for i := len(left) - 1; i >= same; i-- {
		at := ArrivingEdges(left[:i], left[i].To)
		t.do(Edit{Op: OpDisconnect, Edge: left[i], At: &at})
	}
	for i := same; i < len(to.Edges); i++ {
		at := ArrivingEdges(to.Edges[:i], to.Edges[i].To)
		t.do(Edit{Op: OpConnect, Edge: to.Edges[i], At: &at, Place: &i})
	}
}

// groups replaces all groups if any differs, because there are few and their order matters.
func (t *transition) groups(from, to *flow.Document) {
	if string(flow.EncodeJSON(from.Groups)) == string(flow.EncodeJSON(to.Groups)) && !t.regrouped(from) {
		return
	}
	for i := range from.Groups {
		t.do(Edit{Op: OpGroup, ID: from.Groups[i].ID})
	}
	for i := range to.Groups {
		g := to.Groups[i]
		t.do(Edit{Op: OpGroup, ID: g.ID, Group: &g, At: &i})
	}
}

// regrouped reports whether a group has lost a node that is added again.
func (t *transition) regrouped(from *flow.Document) bool {
	return slices.ContainsFunc(from.Groups, func(g flow.Group) bool {
		return slices.ContainsFunc(g.Nodes, func(id string) bool { return !t.stays(id) })
	})
}

// InOrderOf returns a document with the config fields of its nodes in the order that they have in
// another document.
func InOrderOf(d, other *flow.Document) *flow.Document {
	like := nodesByID(other)
	out := *d
	out.Nodes = slices.Clone(d.Nodes)
	for i := range out.Nodes {
		if n := like[out.Nodes[i].ID]; n != nil {
			out.Nodes[i].ConfigOrder = n.ConfigOrder
		}
	}
	return &out
}
