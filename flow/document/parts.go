package document

import (
	"slices"

	"sluice/flow"
	"sluice/flow/value"
)

// Upstream returns the document reduced to a node and its dependencies, including implicit ones.
// It returns nil if the node does not exist.
func Upstream(d *flow.Document, node string, kinds *flow.Registry) *flow.Document {
	needed := map[string]bool{}
	sources := make([][]int, len(d.Nodes))
	for from, list := range dependents(d, kinds) {
		for _, to := range list {
			sources[to] = append(sources[to], from)
		}
	}
	var need func(i int)
	need = func(i int) {
		if needed[d.Nodes[i].ID] {
			return
		}
		needed[d.Nodes[i].ID] = true
		for _, from := range sources[i] {
			need(from)
		}
	}
	for i := range d.Nodes {
		if d.Nodes[i].ID == node {
			need(i)
			return subset(d, needed)
		}
	}
	return nil
}

// subset returns the document reduced to some of its nodes.
func subset(d *flow.Document, kept map[string]bool) *flow.Document {
	part := &flow.Document{Schema: d.Schema, Name: d.Name, Description: d.Description, Nodes: []flow.Node{}, Edges: []flow.Edge{}}
	for i := range d.Nodes {
		if kept[d.Nodes[i].ID] {
			part.Nodes = append(part.Nodes, d.Nodes[i])
		}
	}
	for _, e := range d.Edges {
		from, _ := e.Source()
		to, _ := e.Target()
		if kept[from] && kept[to] {
			part.Edges = append(part.Edges, e)
		}
	}
	for _, group := range d.Groups {
		group.Nodes = slices.DeleteFunc(slices.Clone(group.Nodes), func(id string) bool { return !kept[id] })
		if len(group.Nodes) > 0 {
			part.Groups = append(part.Groups, group)
		}
	}
	return part
}

// Covers reports whether a document contains all nodes and edges of part unchanged, so that a run
// of part can be shown on it. Positions, labels and colors do not count.
func Covers(d *flow.Document, part *flow.Document) bool {
	for i := range part.Nodes {
		n := &part.Nodes[i]
		if mine := d.Node(n.ID); mine == nil || works(mine) != works(n) {
			return false
		}
	}
	return slices.Equal(edgesAmong(d, part), edgesAmong(part, part))
}

// works returns an encoding of everything in a node that affects its execution.
func works(n *flow.Node) string {
	return string(value.Canonical([]any{n.Kind, n.Config, n.Disabled, n.Retry, n.TimeoutS, onErrorValue(n.OnError), toolValue(n.Tool)}))
}

// edgesAmong returns the edges of a document between the nodes of another.
func edgesAmong(d, part *flow.Document) []flow.Edge {
	has := map[string]bool{}
	for i := range part.Nodes {
		has[part.Nodes[i].ID] = true
	}
	edges := []flow.Edge{}
	for _, e := range d.Edges {
		from, _ := e.Source()
		to, _ := e.Target()
		if has[from] && has[to] {
			edges = append(edges, e)
		}
	}
	return edges
}
