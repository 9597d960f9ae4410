package editor

import (
	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/library"
	"sluice/views/components"
)

// diffPicture draws two documents on one canvas. Nodes that are in both have their
// new position.
func (s *Server) diffPicture(comparison *library.Comparison) components.Picture {
	marks := map[string]string{}
	for _, n := range comparison.Diff.Nodes {
		marks[n.Node] = n.Change
	}
	d := s.NewDrawing("The flow with added, changed and removed nodes")
	for i := range comparison.Now.Nodes {
		n := &comparison.Now.Nodes[i]
		d.Node(n, marks[n.ID])
	}
	for i := range comparison.Old.Nodes {
		if n := &comparison.Old.Nodes[i]; comparison.Now.Node(n.ID) == nil {
			d.Node(n, document.ChangeRemoved)
		}
	}
	added := map[flow.Edge]bool{}
	for _, e := range comparison.Diff.Added {
		added[e] = true
	}
	for _, e := range comparison.Diff.Removed {
		d.Edge(e, document.ChangeRemoved)
	}
	for _, e := range comparison.Now.Edges {
		mark := ""
		if added[e] {
			mark = document.ChangeAdded
		}
		d.Edge(e, mark)
	}
	return d.Done()
}
