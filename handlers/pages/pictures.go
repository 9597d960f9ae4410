package pages

import (
	"sluice/flow"
	"sluice/views"
)

// groupWords are the classes of the palette's groups.
var groupWords = map[string]string{
	"API": "api", "AI models": "model", "Built in": "builtin", "Built in, offline": "builtin", "Text and data": "text",
	"Sources": "source", "Flow control": "control", "Code": "code", "Canvas": "canvas",
}

// drawing gathers the nodes and edges of a picture.
type drawing struct {
	s      *Server
	p      views.Picture
	placed []bool
	place  map[string]int
}

func (s *Server) newDrawing(label string) *drawing {
	return &drawing{s: s, p: views.Picture{Label: label}, place: map[string]int{}}
}

// node adds a node under an ID, which edges know it by.
func (d *drawing) node(n *flow.Node, mark string) *views.PictureNode {
	v := views.PictureNode{Name: n.Label, Kind: n.Kind, Group: "api", Mark: mark}
	if v.Name == "" {
		v.Name = n.ID
	}
	if k := d.s.Kinds.Find(n.Kind); k != nil {
		v.Kind, v.Group = k.Title, groupWords[k.Group]
	}
	if n.Position != nil {
		v.X, v.Y = n.Position.X, n.Position.Y
	}
	d.place[n.ID] = len(d.p.Nodes)
	d.p.Nodes, d.placed = append(d.p.Nodes, v), append(d.placed, n.Position != nil)
	return &d.p.Nodes[len(d.p.Nodes)-1]
}

func (d *drawing) edge(e flow.Edge, mark string) {
	from, okFrom := d.place[e.FromNode()]
	to, okTo := d.place[e.ToNode()]
	if okFrom && okTo {
		d.p.Edges = append(d.p.Edges, views.PictureEdge{From: from, To: to, Mark: mark})
	}
}

func (d *drawing) done() views.Picture {
	d.p.Arrange(d.placed)
	return d.p
}

// diffPicture draws both documents on one canvas: where the newer one has a
// node, it stands as there.
func (s *Server) diffPicture(both *flow.Comparison) views.Picture {
	marks := map[string]string{}
	for _, n := range both.Diff.Nodes {
		marks[n.Node] = n.Change
	}
	d := s.newDrawing("The flow with what was added, changed and removed")
	for i := range both.Now.Nodes {
		n := &both.Now.Nodes[i]
		d.node(n, marks[n.ID])
	}
	for i := range both.Old.Nodes {
		if n := &both.Old.Nodes[i]; both.Now.Node(n.ID) == nil {
			d.node(n, flow.ChangeRemoved)
		}
	}
	added := map[flow.Edge]bool{}
	for _, e := range both.Diff.Added {
		added[e] = true
	}
	for _, e := range both.Diff.Removed {
		d.edge(e, flow.ChangeRemoved)
	}
	for _, e := range both.Now.Edges {
		mark := ""
		if added[e] {
			mark = flow.ChangeAdded
		}
		d.edge(e, mark)
	}
	return d.done()
}
