package document

import (
	"sluice/flow"
	"sluice/flow/contract"
)

// implicitEdge makes a node with an OutputsField depend on an output node.
type implicitEdge struct{ From, To, Name string }

// Collected returns the implicit edges from outputs to nodes that send outputs, such as webhooks.
// A node that selects no outputs sends all of them.
func Collected(d *flow.Document, kinds *flow.Registry) []implicitEdge {
	var edges []implicitEdge
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := kinds.Find(n.Kind)
		if k == nil || k.OutputsField == "" {
			continue
		}
		chosen := flow.StringSet(n.Config[k.OutputsField])
		for _, o := range contract.Outputs(d, kinds) {
			if len(chosen) == 0 || chosen[o.Name] {
				edges = append(edges, implicitEdge{From: o.Node, To: n.ID, Name: o.Name})
			}
		}
	}
	return edges
}

// dependents lists, for each node, the indexes of the nodes that depend on it, including by
// implicit edges. Dangling edges are ignored.
func dependents(d *flow.Document, kinds *flow.Registry) [][]int {
	place := map[string]int{}
	for i := range d.Nodes {
		if id := d.Nodes[i].ID; id != "" {
			place[id] = i
		}
	}
	out := make([][]int, len(d.Nodes))
	add := func(from, to string) {
		f, okFrom := place[from]
		t, okTo := place[to]
		if okFrom && okTo {
			out[f] = append(out[f], t)
		}
	}
	for _, e := range d.Edges {
		from, _ := e.Source()
		to, _ := e.Target()
		add(from, to)
	}
	for _, e := range Collected(d, kinds) {
		add(e.From, e.To)
	}
	return out
}

// Topological returns the indexes of the nodes that run in topological order. Independent nodes
// keep the order of the document.
func Topological(d *flow.Document, kinds *flow.Registry) []int {
	out := dependents(d, kinds)
	waits := make([]int, len(d.Nodes))
	for _, to := range out {
		for _, t := range to {
			waits[t]++
		}
	}
	var order, free []int
	for i := range d.Nodes {
		if waits[i] == 0 {
			free = append(free, i)
		}
	}
	for len(free) > 0 {
		i := free[0]
		free = free[1:]
		if runs(kinds, &d.Nodes[i]) {
			order = append(order, i)
		}
		for _, t := range out[i] {
			if waits[t]--; waits[t] == 0 {
				free = append(free, t)
			}
		}
	}
	return order
}

// runs reports whether a node has a step of its own. A tool has none: its agent calls it.
func runs(kinds *flow.Registry, n *flow.Node) bool {
	return n.Tool == nil && flow.RoleOf(kinds, n) != flow.RoleCanvas
}

// RunOrder returns the IDs of the nodes that run, in topological order. Nodes in cycles are last,
// in the order of the document.
func RunOrder(d *flow.Document, kinds *flow.Registry) []string {
	order := Topological(d, kinds)
	ids := make([]string, 0, len(d.Nodes))
	placed := make([]bool, len(d.Nodes))
	for _, i := range order {
		ids, placed[i] = append(ids, d.Nodes[i].ID), true
	}
	for i := range d.Nodes {
		if !placed[i] && runs(kinds, &d.Nodes[i]) {
			ids = append(ids, d.Nodes[i].ID)
		}
	}
	return ids
}

// cycles returns the groups of nodes that depend on each other: the strongly connected components
// that contain a cycle.
func cycles(out [][]int) [][]int {
	t := &tarjan{out: out, index: make([]int, len(out)), low: make([]int, len(out)), on: make([]bool, len(out))}
	for v := range out {
		if t.index[v] == 0 {
			t.visit(v)
		}
	}
	return t.found
}

// tarjan finds strongly connected components in one depth-first search (Tarjan, 1972).
// low is the smallest index that a node reaches; a component is complete at the node that
// reaches nothing before itself.
type tarjan struct {
	out        [][]int
	index, low []int
	on         []bool
	stack      []int
	next       int
	found      [][]int
}

// visit searches from node v.
func (t *tarjan) visit(v int) {
	t.next++
	t.index[v], t.low[v] = t.next, t.next
	t.stack, t.on[v] = append(t.stack, v), true
	self := false
	for _, w := range t.out[v] {
		self = self || w == v
		if t.index[w] == 0 {
			t.visit(w)
			t.low[v] = min(t.low[v], t.low[w])
		} else if t.on[w] {
			t.low[v] = min(t.low[v], t.index[w])
		}
	}
	if t.low[v] != t.index[v] {
		return
	}
	var group []int
	for w := -1; w != v; {
		w = t.stack[len(t.stack)-1]
		t.stack, t.on[w] = t.stack[:len(t.stack)-1], false
		group = append(group, w)
	}
	if len(group) > 1 || self {
		t.found = append(t.found, group)
	}
}
