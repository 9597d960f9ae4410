package web

import (
	"sluice/flow"
	"sluice/flow/document"
	"sluice/views/components"
)

// drawing builds the picture of a flow.
type drawing struct {
	kinds  *flow.Registry
	p      components.Picture
	placed []bool // whether a node has a position, as in p.Nodes
	index  map[string]int
}

// NewDrawing returns an empty drawing with a label for screen readers. Add nodes
// before their edges.
func (s *Site) NewDrawing(label string) *drawing {
	return &drawing{kinds: s.Kinds, p: components.Picture{Label: label}, index: map[string]int{}}
}

// Node adds a node. The mark is the CSS class for its state.
func (d *drawing) Node(n *flow.Node, mark string) *components.PictureNode {
	v := components.PictureNode{Name: document.NodeTitle(n, d.kinds.For(n)), Kind: n.Kind, Group: "api", Mark: mark}
	if k := d.kinds.Find(n.Kind); k != nil {
		v.Kind, v.Group, v.Icon = k.Title, components.GroupWord(k.Group), k.Icon
	}
	if n.Position != nil {
		v.X, v.Y = n.Position.X, n.Position.Y
	}
	d.index[n.ID] = len(d.p.Nodes)
	d.p.Nodes, d.placed = append(d.p.Nodes, v), append(d.placed, n.Position != nil)
	return &d.p.Nodes[len(d.p.Nodes)-1]
}

// Edge adds an edge, unless one of its ends is missing.
func (d *drawing) Edge(e flow.Edge, mark string) {
	from, okFrom := d.index[e.FromNode()]
	to, okTo := d.index[e.ToNode()]
	if okFrom && okTo {
		d.p.Edges = append(d.p.Edges, components.PictureEdge{From: from, To: to, Mark: mark})
	}
}

// Done returns the picture, with positions for the nodes that had none.
func (d *drawing) Done() components.Picture {
	d.p.Arrange(d.placed)
	return d.p
}
