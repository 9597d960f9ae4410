package document

import (
	"sluice/flow"
)

// Shadowed is an edge whose value never counts: it ends at a port that takes the first value that
// was not skipped, and one of the edges before it always has one.
type Shadowed struct {
	Edge flow.Edge
	// By is the edge before it at which a value is certain.
	By flow.Edge
}

// ShadowedEdges lists the edges that never carry a value because of those before them.
func ShadowedEdges(d *flow.Document, kinds *flow.Registry) (list []Shadowed) {
	t := newTyper(d, kinds)
	for i := range d.Nodes {
		n := t.nodes[d.Nodes[i].ID]
		if n.Disabled {
			continue
		}
		for _, p := range n.in {
			if edges := n.fed[p.Name]; p.First && len(edges) > 1 {
				list = append(list, t.shadowed(edges)...)
			}
		}
	}
	return list
}

// shadowed returns the edges after the first one at which a value is certain.
func (t *typer) shadowed(edges []flow.Edge) (list []Shadowed) {
	var before conditions
	for i, e := range edges {
		id, port := e.Source()
		if before = before.or(t.when(id, port)); len(before) > maxAlternatives {
			return nil
		}
		if !t.always(before) {
			continue
		}
		for _, later := range edges[i+1:] {
			list = append(list, Shadowed{Edge: later, By: e})
		}
		return list
	}
	return nil
}
