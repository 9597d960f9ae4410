package document

import (
	"slices"
	"strings"

	"sluice/flow"
)

// connect adds an edge. An existing edge is skipped, unless the edit has an index: then it
// restores one of several equal edges.
func (b *editor) connect(e *Edit) {
	from, _ := e.Edge.Source()
	to, _ := e.Edge.Target()
	switch {
	case b.find(from) < 0 || b.find(to) < 0:
	case e.At == nil && slices.Contains(b.d.Edges, e.Edge):
		b.skip(SkippedEdgeExists, to, "%s is connected to %s already", e.Edge.From, e.Edge.To)
	case len(b.d.Edges) >= flow.MaxEdges:
		b.refuse("/edge", "too_many", "", "at most %d edges", flow.MaxEdges)
	default:
		i := b.edgePlace(e)
		at := ArrivingEdges(b.d.Edges[:i], e.Edge.To)
		b.d.Edges = slices.Insert(b.d.Edges, i, e.Edge)
		b.did(*e, Edit{Op: OpDisconnect, Edge: e.Edge, At: &at})
	}
}

// edgePlace returns the index at which to insert an edge: before the edge that has its index at
// the port, otherwise at the end.
func (b *editor) edgePlace(e *Edit) int {
	if e.At == nil {
		return len(b.d.Edges)
	}
	if p := e.Place; p != nil && *p >= 0 && *p <= len(b.d.Edges) && ArrivingEdges(b.d.Edges[:*p], e.Edge.To) == *e.At {
		return *p
	}
	if i := b.nth(e.Edge.To, *e.At); i >= 0 {
		return i
	}
	return len(b.d.Edges)
}

// ArrivingEdges returns the number of edges to a port.
func ArrivingEdges(edges []flow.Edge, port string) (n int) {
	for i := range edges {
		if edges[i].To == port {
			n++
		}
	}
	return n
}

// nth returns the index of the edge with an index at a port, or -1.
func (b *editor) nth(port string, at int) int {
	for i := range b.d.Edges {
		if b.d.Edges[i].To != port {
			continue
		}
		if at == 0 {
			return i
		}
		at--
	}
	return -1
}

// disconnect removes an edge: the one at its index if it is still there, otherwise any equal
// edge.
func (b *editor) disconnect(e *Edit) {
	i := -1
	if e.At != nil {
		i = b.nth(e.Edge.To, *e.At)
	}
	if i < 0 || b.d.Edges[i] != e.Edge {
		i = slices.Index(b.d.Edges, e.Edge)
	}
	to, _ := e.Edge.Target()
	if i < 0 {
		b.skip(SkippedEdgeGone, to, "the edge from %s to %s no longer exists", e.Edge.From, e.Edge.To)
		return
	}
	at := ArrivingEdges(b.d.Edges[:i], e.Edge.To)
	b.d.Edges = slices.Delete(b.d.Edges, i, i+1)
	b.did(Edit{Op: OpDisconnect, Edge: e.Edge, At: &at}, Edit{Op: OpConnect, Edge: e.Edge, At: &at, Place: &i})
}

// cut removes the edges of a node and returns the edits that restore them, each at the index
// that it has once the edges before it are restored.
func (b *editor) cut(node string) (back []Edit) {
	ends := map[string]int{} // number of edges seen so far, by target port of a cut edge
	for _, e := range b.d.Edges {
		if touches(e, node) {
			ends[e.To] = 0
		}
	}
	if len(ends) == 0 {
		return nil
	}
	stay := b.d.Edges[:0]
	for i, e := range b.d.Edges {
		at, counted := ends[e.To]
		if counted {
			ends[e.To]++
		}
		if touches(e, node) {
			back = append(back, Edit{Op: OpConnect, Edge: e, At: &at, Place: &i})
		} else {
			stay = append(stay, e)
		}
	}
	b.d.Edges = stay
	return back
}

// touches reports whether an edge begins or ends at a node.
func touches(e flow.Edge, node string) bool { return leadsTo(e.From, node) || leadsTo(e.To, node) }

// leadsTo reports whether a port reference, node.port, belongs to a node.
func leadsTo(ref, node string) bool {
	rest, ok := strings.CutPrefix(ref, node)
	return ok && (rest == "" || rest[0] == '.')
}
