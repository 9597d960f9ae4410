package editor

import (
	"net/url"

	"sluice/views/components"
)

// OutlinePanel is the flow as a list in topological order.
type OutlinePanel struct {
	FlowID   string
	ReadOnly bool
	Nodes    []OutlineNode
	// Open is the node that is expanded.
	Open    *OutlineOpen
	Palette []PaletteGroup
}

// OutlineNode is one line of the outline.
type OutlineNode struct {
	ID, Title, KindTitle, Icon, Group string
	// From names the sources of the node's inputs.
	From     string
	Disabled bool
	Problems int
}

// OutlineOpen is the expanded node with its edges and settings.
type OutlineOpen struct {
	OutlineNode
	Label string
	Ins   []OutlinePort
	Outs  []OutlinePort
}

// OutlinePort is a port with its edges, and the ports that it could be connected to.
type OutlinePort struct {
	Ref, Label, Type string
	// Hint is the typed value; Need is set if there is neither a value nor an edge.
	Hint    string
	Need    bool
	Edges   []OutlineEdge
	Choices []components.Option
}

// OutlineEdge is an edge of the port, titled by its other end.
type OutlineEdge struct{ From, To, Title string }

func (o OutlinePanel) openPath(node string) string {
	return components.FlowPath(o.FlowID) + "?node=" + url.QueryEscape(node) + "#outline"
}

func (o OutlinePanel) isOpen(node string) bool { return o.Open != nil && o.Open.ID == node }

// about describes a node in one line: its kind, its sources, and whether it is disabled.
func (n OutlineNode) about() string {
	about := n.KindTitle
	if n.From != "" {
		about += " · from " + n.From
	}
	if n.Disabled {
		about += " · disabled"
	}
	return about
}
