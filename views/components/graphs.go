package components

import (
	"fmt"
	"math"
)

// Graph is a flow as a small picture: where its nodes lie and what they join.
type Graph struct {
	Nodes []GraphNode
	// Edges are pairs of indexes into Nodes.
	Edges [][2]int
	// Live marks each node with its ID, so that a run can be shown on the picture.
	Live bool
}

// GraphNode is one node of the picture. Group is the word of its kind's group:
// api, model, builtin, text, source, control, code or canvas.
type GraphNode struct {
	X, Y  float64
	Group string
	Icon  string // of the node's kind; empty shows a plain square
	ID    string
}

// A node on the canvas is some 176 by 96 units; the picture takes that size for
// all, as it shows the shape of a flow and not what nodes say.
const (
	GraphNodeWidth = 176
	nodeHeight     = 96
	thumbPad       = 72
	// A flow of two nodes must not look larger than one of ten.
	thumbWidth  = 1040
	thumbHeight = 440
)

// viewBox shows all nodes with some air, in the middle.
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

// paths are the edges as curves from the right of one node to the left of the
// other. An edge to a node that is not there is left out.
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

// words say what the picture shows.
func (g Graph) words() string {
	return fmt.Sprintf("Picture of the flow: %s, %s", Quantity(len(g.Nodes), "node"), Quantity(len(g.Edges), "edge"))
}
