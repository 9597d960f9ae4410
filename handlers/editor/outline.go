package editor

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// showOutline is GET /flows/{id}/outline?node=: the flow as a list, for
// keyboards, screen readers and small screens.
func (c *call) showOutline(d *draft) error {
	if !c.IsFragment() {
		return c.builder(http.StatusOK, d, func(b *editorview.BuilderPage) { b.Outlined = true })
	}
	return c.Render(http.StatusOK, editorview.Outline(c.outline(d, c.QueryParam("node"))))
}

// outliner builds the outline of a draft.
type outliner struct {
	*draft
	kinds *flow.Registry
	faces map[string]editorview.OutlineNode
	nodes map[string]*flow.Node
}

// outline returns the outline, with the node open expanded.
func (c *call) outline(d *draft, open string) editorview.OutlinePanel {
	o := outliner{draft: d, kinds: c.s.Kinds, faces: map[string]editorview.OutlineNode{}, nodes: map[string]*flow.Node{}}
	problems := document.ByNode(d.Document, d.problems)
	for i := range d.Nodes {
		n := &d.Nodes[i]
		o.nodes[n.ID], o.faces[n.ID] = n, o.line(n, len(problems[n.ID]))
	}
	panel := editorview.OutlinePanel{FlowID: d.flow.ID, ReadOnly: !c.canChange(d), Palette: c.s.palette()}
	for _, id := range o.order() {
		line := o.faces[id]
		line.From = o.from(id)
		panel.Nodes = append(panel.Nodes, line)
		if id == open {
			panel.Open = o.open(line)
		}
	}
	return panel
}

// line converts one node.
func (o *outliner) line(n *flow.Node, problems int) editorview.OutlineNode {
	line := editorview.OutlineNode{ID: n.ID, KindTitle: n.Kind, Icon: "circle-alert", Group: "canvas", Disabled: n.Disabled, Problems: problems}
	k := o.kinds.Find(n.Kind)
	if k != nil {
		line.KindTitle, line.Icon, line.Group = k.Title, k.Icon, components.GroupWord(k.Group)
	}
	line.Title = document.NodeTitle(n, k)
	return line
}

// order returns the nodes in topological order. Among nodes that could come
// next, the leftmost and then the topmost is first. Nodes of a cycle come last.
func (o *outliner) order() []string {
	waits, fed := map[string]int{}, map[string][]string{}
	for _, e := range o.Edges {
		from, to := nodeOf(e.From), nodeOf(e.To)
		if o.nodes[from] != nil && o.nodes[to] != nil {
			waits[to]++
			fed[from] = append(fed[from], to)
		}
	}
	var free, order []string
	seen := map[string]bool{}
	for i := range o.Nodes {
		if waits[o.Nodes[i].ID] == 0 {
			free = append(free, o.Nodes[i].ID)
		}
	}
	slices.SortStableFunc(free, o.byPlace)
	for ; len(free) > 0; free = free[1:] {
		order, seen[free[0]] = append(order, free[0]), true
		for _, to := range fed[free[0]] {
			if waits[to]--; waits[to] == 0 {
				free = append(free, to)
			}
		}
	}
	for i := range o.Nodes {
		if !seen[o.Nodes[i].ID] {
			order = append(order, o.Nodes[i].ID)
		}
	}
	return order
}

// byPlace compares the positions of two nodes.
func (o *outliner) byPlace(a, b string) int {
	p, q := placeOf(o.nodes[a]), placeOf(o.nodes[b])
	return cmp.Or(cmp.Compare(p.X, q.X), cmp.Compare(p.Y, q.Y))
}

// placeOf returns the position of a node in canvas units, the origin if it has none.
func placeOf(n *flow.Node) flow.Position {
	if n.Position == nil {
		return flow.Position{}
	}
	return *n.Position
}

// nodeOf returns the ID of the node in a port reference, which is node.port.
func nodeOf(ref string) string { node, _, _ := strings.Cut(ref, "."); return node }

// title returns the title of a port with that of its node.
func (o *outliner) title(ref string) string {
	node, port, _ := strings.Cut(ref, ".")
	return o.faces[node].Title + ", " + strings.TrimPrefix(port, "input.")
}

// from returns the titles of the nodes that feed a node.
func (o *outliner) from(id string) string {
	var names []string
	for _, e := range o.Edges {
		if from := nodeOf(e.From); nodeOf(e.To) == id && !slices.Contains(names, o.faces[from].Title) {
			names = append(names, o.faces[from].Title)
		}
	}
	return strings.Join(names, ", ")
}

// open returns a node with its ports and what each could be connected to.
func (o *outliner) open(line editorview.OutlineNode) *editorview.OutlineOpen {
	n := o.nodes[line.ID]
	open := &editorview.OutlineOpen{OutlineNode: line, Label: n.Label}
	k := o.kinds.For(n)
	if k == nil {
		return open
	}
	facts := editorview.FactsOf(o.Document, nil)
	facts.AllPorts = true
	face := editorview.FaceOf(n, k, facts)
	for _, r := range face.Rows {
		if r.In != nil {
			open.Ins = append(open.Ins, o.port(n.ID, r.In, true))
		}
		if r.Out != nil {
			open.Outs = append(open.Outs, o.port(n.ID, r.Out, false))
		}
	}
	return open
}

// port converts a port with its edges. Ports that accept another edge have
// choices.
func (o *outliner) port(node string, p *editorview.PortFace, in bool) editorview.OutlinePort {
	out := editorview.OutlinePort{Ref: node + "." + p.Name, Label: p.Label, Type: string(p.Type), Hint: p.Hint, Need: p.Need}
	for _, e := range o.Edges {
		if in && e.To == out.Ref {
			out.Edges = append(out.Edges, editorview.OutlineEdge{From: e.From, To: e.To, Title: o.title(e.From)})
		} else if !in && e.From == out.Ref {
			out.Edges = append(out.Edges, editorview.OutlineEdge{From: e.From, To: e.To, Title: o.title(e.To)})
		}
	}
	if !in || p.Many || len(out.Edges) == 0 {
		out.Choices = o.choices(out.Ref, p.Type, in)
	}
	return out
}

// choices returns the ports at the other end of a possible edge: the types fit,
// there is no cycle, and the port is free.
func (o *outliner) choices(ref string, t flow.Type, in bool) (list []components.Option) {
	around := o.reachable(nodeOf(ref), in)
	taken := map[string]bool{}
	for _, e := range o.Edges {
		taken[e.To] = true
		if e.From == ref || e.To == ref {
			taken[e.From+">"], taken[e.To+">"] = true, true
		}
	}
	for _, id := range o.order() {
		n := o.nodes[id]
		k := o.kinds.For(n)
		if k == nil || around[id] || id == nodeOf(ref) {
			continue
		}
		if in {
			for _, p := range flow.OutputPorts(n, k) {
				if document.Fits(p.ShownType(), t) && !taken[id+"."+p.Name+">"] {
					list = append(list, o.choice(id, p))
				}
			}
			continue
		}
		for _, p := range flow.InputPorts(n, k) {
			other := id + "." + p.Name
			if document.Fits(t, p.Type) && (p.List || !taken[other]) && !taken[other+">"] {
				list = append(list, o.choice(id, p))
			}
		}
	}
	return list
}

// choice converts a port to an option.
func (o *outliner) choice(id string, p flow.Port) components.Option {
	ref := id + "." + p.Name
	return components.Option{Value: ref, Label: o.title(ref)}
}

// reach are the nodes that an edge must not touch, for it would make a circle:
// for an input those that come after the node, for an output those before.
func (o *outliner) reachable(id string, after bool) map[string]bool {
	seen := map[string]bool{}
	for queue := []string{id}; len(queue) > 0; queue = queue[1:] {
		for _, e := range o.Edges {
			a, b := nodeOf(e.From), nodeOf(e.To)
			if !after {
				a, b = b, a
			}
			if a == queue[0] && !seen[b] {
				seen[b] = true
				queue = append(queue, b)
			}
		}
	}
	return seen
}
