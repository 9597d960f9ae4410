package components

import (
	"fmt"
	"math"
)

// Graph is the thumbnail of a flow.
type Graph struct {
	Nodes []GraphNode
	// Edges are pairs of indexes into Nodes.
	Edges [][2]int
	// Live marks each node with its ID, so that a script can show the progress of a run.
	Live bool
}

// GraphNode is one node of the thumbnail. Group is the slug of its kind's group: api, model,
// builtin, text, source, control, code or canvas.
type GraphNode struct {
	X, Y  float64
	Group string
	Icon  string // of the node's kind; "" shows a plain square
	ID    string
}

// A node on the canvas is about 176 by 96 units. The thumbnail uses this size for all nodes,
// because it has no text.
const (
	GraphNodeWidth = 176
	nodeHeight     = 96
	thumbPad       = 72
	// The minimum size, so that a flow of two nodes isn't drawn larger than one of ten.
	thumbWidth  = 1040
	thumbHeight = 440
)

// viewBox returns the SVG viewBox, with all nodes centered and padded.
func (g Graph) viewBox() string {
	left, top, right, bottom := g.bounds()
	w, h := math.Max(right-left+2*thumbPad, thumbWidth), math.Max(bottom-top+2*thumbPad, thumbHeight)
	x, y := (left+right-w)/2, (top+bottom-h)/2
	return fmt.Sprintf("%s %s %s %s", Coordinate(x), Coordinate(y), Coordinate(w), Coordinate(h))
}

// bounds returns the smallest rectangle around all nodes. Without nodes it is infinite,
// so an empty graph must not be drawn.
func (g Graph) bounds() (left, top, right, bottom float64) {
	left, top, right, bottom = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, n := range g.Nodes {
		left, top = math.Min(left, n.X), math.Min(top, n.Y)
		right, bottom = math.Max(right, n.X+GraphNodeWidth), math.Max(bottom, n.Y+nodeHeight)
	}
	return left, top, right, bottom
}

// paths returns the SVG paths of the edges, from the right of one node to the left of another.
// Edges to missing nodes are left out.
func (g Graph) paths() []string {
	var all []string
	for _, e := range g.Edges {
		if e[0] < 0 || e[1] < 0 || e[0] >= len(g.Nodes) || e[1] >= len(g.Nodes) {
			continue
		}
		a, b := g.Nodes[e[0]], g.Nodes[e[1]]
		x1, y1, x2, y2 := a.X+GraphNodeWidth, a.Y+nodeHeight/2, b.X, b.Y+nodeHeight/2
		bend := math.Max(math.Abs(x2-x1)/2, 40)
		all = append(all, fmt.Sprintf("M%s,%sC%s,%s %s,%s %s,%s",
			Coordinate(x1), Coordinate(y1), Coordinate(x1+bend), Coordinate(y1), Coordinate(x2-bend), Coordinate(y2), Coordinate(x2), Coordinate(y2)))
	}
	return all
}

// words describes the thumbnail for screen readers.
func (g Graph) words() string {
	return fmt.Sprintf("Picture of the flow: %s, %s", Quantity(len(g.Nodes), "node"), Quantity(len(g.Edges), "edge"))
}
