package components

import (
	"cmp"
	"fmt"
	"math"

	"github.com/a-h/templ"
)

// Picture is a static drawing of a flow, for a comparison or a finished run.
type Picture struct {
	// Label is the accessible name of the drawing.
	Label string
	Nodes []PictureNode
	Edges []PictureEdge
}

// PictureNode is one node. Mark is the state of its step or its change: succeeded, failed,
// added, removed.
type PictureNode struct {
	X, Y         float64
	Name, Kind   string
	Group        string
	Icon         string // of the node's kind; "" shows a plain square
	Mark, Detail string // Detail is shown below the name
	Href         templ.SafeURL
	Current      bool
	// Attrs are attributes of the link, such as data-hx-get.
	Attrs templ.Attributes
}

// PictureEdge connects two nodes by their indexes in Picture.Nodes.
type PictureEdge struct {
	From, To int
	Mark     string
}

// The size of a node and the padding, in units of the canvas, on which nodes have the same width. A
// drawing is scaled to pictureFits pixels, but within limits in which its text is readable.
const (
	pictureWidth  = 176
	pictureHeight = 56
	picturePad    = 28
	pictureFits   = 1080
	pictureName   = 17 // characters that fit at 13 units
	pictureDetail = 20 // characters that fit at 11 units
	smallest      = 0.75
	largest       = 1.15
)

// bounds returns the rectangle around all nodes with picturePad on each side, in the
// units of the canvas.
func (p Picture) bounds() (left, top, right, bottom float64) {
	left, top, right, bottom = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, n := range p.Nodes {
		left, top = math.Min(left, n.X), math.Min(top, n.Y)
		right, bottom = math.Max(right, n.X+pictureWidth), math.Max(bottom, n.Y+pictureHeight)
	}
	return left - picturePad, top - picturePad, right + picturePad, bottom + picturePad
}

// viewBox returns bounds as an SVG viewBox, so nodes and edges are drawn at the
// coordinates that they have on the canvas.
func (p Picture) viewBox() string {
	l, t, r, b := p.bounds()
	return fmt.Sprintf("%s %s %s %s", Coordinate(l), Coordinate(t), Coordinate(r-l), Coordinate(b-t))
}

// scale returns the pixels of a unit.
func (p Picture) scale() float64 {
	l, _, r, _ := p.bounds()
	return min(max(pictureFits/(r-l), smallest), largest)
}

// width and height return the size of the picture in pixels.
func (p Picture) width() string {
	l, _, r, _ := p.bounds()
	return Coordinate(math.Round((r - l) * p.scale()))
}

func (p Picture) height() string {
	_, t, _, b := p.bounds()
	return Coordinate(math.Round((b - t) * p.scale()))
}

// path returns the SVG path of an edge, from the right of one node to the left of another.
func (p Picture) path(e PictureEdge) string {
	a, b := p.Nodes[e.From], p.Nodes[e.To]
	x1, y1, x2, y2 := a.X+pictureWidth, a.Y+pictureHeight/2, b.X, b.Y+pictureHeight/2
	bend := math.Max(math.Abs(x2-x1)/2, 40)
	return fmt.Sprintf("M%s,%sC%s,%s %s,%s %s,%s",
		Coordinate(x1), Coordinate(y1), Coordinate(x1+bend), Coordinate(y1), Coordinate(x2-bend), Coordinate(y2), Coordinate(x2), Coordinate(y2))
}

// at returns the SVG transform that moves the node to its position. The parts of a node
// are drawn relative to it.
func (n PictureNode) at() string {
	return fmt.Sprintf("translate(%s %s)", Coordinate(n.X), Coordinate(n.Y))
}

// below returns the text under the name.
func (n PictureNode) below() string { return cmp.Or(n.Detail, n.Kind) }

// words returns the accessible name of the node. It starts with the visible label, so that
// users of speech control can say what they see.
func (n PictureNode) words() string {
	text := n.Name + ", " + n.below()
	if n.Detail != "" {
		text += ", " + n.Kind
	}
	if n.Mark != "" && n.Mark != n.Detail {
		text += ", " + StateWord(n.Mark)
	}
	return text
}

// markIcons are the icons of marks that are not states of a step.
var markIcons = map[string]string{"added": "plus", "removed": "minus", "changed": "pencil"}

// icon returns the icon of the node's mark: a change between versions, or else a state
// of its step. An unknown mark has a circle.
func (n PictureNode) icon() string {
	if icon := markIcons[n.Mark]; icon != "" {
		return icon
	}
	return SignOf(n.Mark).Icon
}

// Arrange positions nodes that have no position, in columns by their distance from the inputs.
func (p *Picture) Arrange(placed []bool) {
	depth := make([]int, len(p.Nodes))
	for range p.Nodes { // at most as many rounds as the longest path; also terminates on cycles
		changed := false
		for _, e := range p.Edges {
			if d := depth[e.From] + 1; d > depth[e.To] && d < len(p.Nodes) {
				depth[e.To], changed = d, true
			}
		}
		if !changed {
			break
		}
	}
	rows := map[int]int{}
	for i := range p.Nodes {
		if placed[i] {
			continue
		}
		p.Nodes[i].X, p.Nodes[i].Y = float64(depth[i])*280, float64(rows[depth[i]])*110
		rows[depth[i]]++
	}
}
