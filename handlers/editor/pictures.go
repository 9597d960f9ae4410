package editor

import (
	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/library"
	"sluice/views/components"
)

// diffPicture draws both documents on one canvas. Nodes that are in both are at
// their new position.
func (s *Server) diffPicture(both *library.Comparison) components.Picture {
	marks := map[string]string{}
	for _, n := range both.Diff.Nodes {
		marks[n.Node] = n.Change
	}
	d := s.NewDrawing("The flow with added, changed and removed nodes")
	for i := range both.Now.Nodes {
		n := &both.Now.Nodes[i]
		d.Node(n, marks[n.ID])
	}
	for i := range both.Old.Nodes {
		if n := &both.Old.Nodes[i]; both.Now.Node(n.ID) == nil {
			d.Node(n, document.ChangeRemoved)
		}
	}
	added := map[flow.Edge]bool{}
	for _, e := range both.Diff.Added {
		added[e] = true
	}
	for _, e := range both.Diff.Removed {
		d.Edge(e, document.ChangeRemoved)
	}
	for _, e := range both.Now.Edges {
		mark := ""
		if added[e] {
			mark = document.ChangeAdded
		}
		d.Edge(e, mark)
	}
	return d.Done()
}
