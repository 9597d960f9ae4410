package web

import (
	"strings"

	"sluice/flow"
	"sluice/views/components"
)

// Thumbnail returns the small picture of a document. Nodes without a position
// are put in a row.
func Thumbnail(d *flow.Document, kinds *flow.Registry) components.Graph {
	g, index := components.Graph{}, map[string]int{}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		at := flow.Position{X: float64(i) * (components.GraphNodeWidth + 68)}
		if n.Position != nil {
			at = *n.Position
		}
		group, icon := "canvas", ""
		if k := kinds.Find(n.Kind); k != nil {
			group, icon = components.GroupWord(k.Group), k.Icon
		}
		index[n.ID] = i
		g.Nodes = append(g.Nodes, components.GraphNode{X: at.X, Y: at.Y, Group: group, Icon: icon, ID: n.ID})
	}
	for _, e := range d.Edges {
		a, _, _ := strings.Cut(e.From, ".")
		b, _, _ := strings.Cut(e.To, ".")
		from, okFrom := index[a]
		to, okTo := index[b]
		if okFrom && okTo {
			g.Edges = append(g.Edges, [2]int{from, to})
		}
	}
	return g
}
