package web

import (
	"sluice/flow"
	"sluice/views/components"
)

// groupWords are the classes of the palette's groups.
var groupClasses = map[string]string{
	"API": "api", "AI models": "model", "Built in": "builtin", "Built in, offline": "builtin", "Text and data": "text",
	"Sources": "source", "Flow control": "control", "Code": "code", "Canvas": "canvas",
}

// drawing gathers the nodes and edges of a picture.
type drawing struct {
	kinds  *flow.Registry
	p      components.Picture
	placed []bool
	index  map[string]int
}

func (s *Site) NewDrawing(label string) *drawing {
	return &drawing{kinds: s.Kinds, p: components.Picture{Label: label}, index: map[string]int{}}
}

// Node adds a node under an ID, which edges know it by.
func (d *drawing) Node(n *flow.Node, mark string) *components.PictureNode {
	v := components.PictureNode{Name: n.Label, Kind: n.Kind, Group: "api", Mark: mark}
	if v.Name == "" {
		v.Name = n.ID
	}
	if k := d.kinds.Find(n.Kind); k != nil {
		v.Kind, v.Group = k.Title, groupClasses[k.Group]
	}
	if n.Position != nil {
		v.X, v.Y = n.Position.X, n.Position.Y
	}
	d.index[n.ID] = len(d.p.Nodes)
	d.p.Nodes, d.placed = append(d.p.Nodes, v), append(d.placed, n.Position != nil)
	return &d.p.Nodes[len(d.p.Nodes)-1]
}

func (d *drawing) Edge(e flow.Edge, mark string) {
	from, okFrom := d.index[e.FromNode()]
	to, okTo := d.index[e.ToNode()]
	if okFrom && okTo {
		d.p.Edges = append(d.p.Edges, components.PictureEdge{From: from, To: to, Mark: mark})
	}
}

func (d *drawing) Done() components.Picture {
	d.p.Arrange(d.placed)
	return d.p
}
