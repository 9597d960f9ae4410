package flow

import (
	"slices"
	"time"
)

// Pin is sample outputs that stand in for a node when a draft is tried out.
// Pins are kept beside the draft and are not part of the document.
type Pin struct {
	Node      string
	Outputs   map[string]any
	CreatedAt time.Time
}

// MaxPinBytes bounds the outputs of a pin, as JSON.
const MaxPinBytes = 1 << 20

// Check refuses a pin that is too large, or that no node can have.
func (p *Pin) Check() error {
	if !nodeID.MatchString(p.Node) || p.Outputs == nil {
		return Errorf(CodeNotFound, "There is no such node.")
	}
	if size := len(EncodeJSON(p.Outputs)); size > MaxPinBytes {
		return Errorf(CodeBodyTooLarge, "These outputs are %s; at most %s can be pinned.", Size(int64(size)), Size(MaxPinBytes))
	}
	return nil
}

// Upstream is the document with a node and what it depends on, implicit edges
// included, and nothing else. It is nil if there is no such node.
func (d *Document) Upstream(node string, kinds *Registry) *Document {
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
			return d.only(needed)
		}
	}
	return nil
}

// only is the document with some of its nodes.
func (d *Document) only(kept map[string]bool) *Document {
	part := &Document{Schema: d.Schema, Name: d.Name, Description: d.Description, Nodes: []Node{}, Edges: []Edge{}}
	for i := range d.Nodes {
		if kept[d.Nodes[i].ID] {
			part.Nodes = append(part.Nodes, d.Nodes[i])
		}
	}
	for _, e := range d.Edges {
		from, _ := e.source()
		to, _ := e.target()
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

// CanPin tells whether outputs can be pinned to nodes of a kind. An input has
// the value that the run is started with, and an output passes on what it gets.
func (k *Kind) CanPin() bool { return k.Role == RoleNode && len(k.Outputs) > 0 }

// StepsAhead are the steps that a trial has from its start: pinned nodes count
// as reused, and with until those that only pinned ones ask for are skipped.
// They are written with the run, so that a restart finds them like all others.
func (g *Graph) StepsAhead(pins []Pin, until string, at time.Time) []Step {
	pinned := map[string]map[string]any{}
	for _, p := range pins {
		if i, ok := g.index[p.Node]; ok && g.nodes[i].kind.CanPin() && !g.nodes[i].Disabled {
			pinned[p.Node] = p.Outputs
		}
	}
	needed := g.needed(until, pinned)
	var steps []Step
	for i := range g.nodes {
		n := &g.nodes[i]
		s := Step{Path: n.ID, Node: n.ID, Kind: n.Kind, NodeHash: n.hash}
		outputs, isPinned := pinned[n.ID]
		switch {
		case needed != nil && !needed[i]:
			s.State = StepSkipped
		case isPinned:
			s.State, s.Outputs, s.StartedAt, s.EndedAt = StepReused, outputs, at, at
		default:
			continue
		}
		steps = append(steps, s)
	}
	return steps
}

// needed are the nodes that a node depends on, by place: what is pinned asks
// for nothing. It is nil when there is no such node: then all are.
func (g *Graph) needed(until string, pinned map[string]map[string]any) map[int]bool {
	last, ok := g.index[until]
	if !ok {
		return nil
	}
	needed := map[int]bool{}
	var need func(i int)
	need = func(i int) {
		if needed[i] {
			return
		}
		needed[i] = true
		if _, isPinned := pinned[g.nodes[i].ID]; isPinned {
			return
		}
		for _, e := range g.nodes[i].in {
			need(e.from)
		}
	}
	need(last)
	return needed
}

// Holds tells whether all that another document runs is in this one, equal to
// the letter: what it ran can be shown on this one. Places, names and colours
// on the canvas do not count.
func (d *Document) Holds(part *Document) bool {
	for i := range part.Nodes {
		n := &part.Nodes[i]
		if mine := d.Node(n.ID); mine == nil || mine.works() != n.works() {
			return false
		}
	}
	return slices.Equal(edgesAmong(d, part), edgesAmong(part, part))
}

// works is all of a node that decides what it does.
func (n *Node) works() string {
	return string(EncodeJSON([]any{n.Kind, n.Config, n.Disabled, n.Retry, n.TimeoutS, n.OnError}))
}

// edgesAmong are the edges of a document between the nodes of another.
func edgesAmong(d, part *Document) []Edge {
	has := map[string]bool{}
	for i := range part.Nodes {
		has[part.Nodes[i].ID] = true
	}
	edges := []Edge{}
	for _, e := range d.Edges {
		from, _ := e.source()
		to, _ := e.target()
		if has[from] && has[to] {
			edges = append(edges, e)
		}
	}
	return edges
}
