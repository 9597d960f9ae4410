package editor

import (
	"net/url"

	"sluice/views/components"
)

// OutlinePanel is the flow as a list, in the order in which it runs.
type OutlinePanel struct {
	FlowID   string
	ReadOnly bool
	Nodes    []OutlineNode
	// Open is the node whose edges and settings are shown.
	Open    *OutlineOpen
	Palette []PaletteGroup
}

// OutlineNode is one line of the outline.
type OutlineNode struct {
	ID, Title, KindTitle, Icon, Group string
	// From says where its values come from.
	From     string
	Disabled bool
	Problems int
}

// OutlineOpen is the node that is open in the outline.
type OutlineOpen struct {
	OutlineNode
	Label string
	Ins   []OutlinePort
	Outs  []OutlinePort
}

// OutlinePort is a port with its edges, and with the ports at which another
// edge could begin or end.
type OutlinePort struct {
	Ref, Label, Type string
	// Hint says what was typed; Need that there is neither a value nor an edge.
	Hint    string
	Need    bool
	Edges   []OutlineEdge
	Choices []components.Option
}

// OutlineEdge is an edge of the port, named by its other end.
type OutlineEdge struct{ From, To, Title string }

func (o OutlinePanel) openPath(node string) string {
	return components.FlowPath(o.FlowID) + "?node=" + url.QueryEscape(node) + "#outline"
}

func (o OutlinePanel) isOpen(node string) bool { return o.Open != nil && o.Open.ID == node }

// about describes a node in a line: its kind, the nodes that feed it, and whether it is
// disabled. It replaces the edges for people who do not see them.
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
