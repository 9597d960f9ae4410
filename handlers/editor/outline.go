package editor

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/sorting"
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

// outline returns the outline. open is the ID of the node that is expanded.
func (c *call) outline(d *draft, open string) editorview.OutlinePanel {
	o := outliner{draft: d, kinds: c.s.Kinds, faces: map[string]editorview.OutlineNode{}, nodes: map[string]*flow.Node{}}
	problems := document.ByNode(d.Document, d.problems)
	for i := range d.Nodes {
		n := &d.Nodes[i]
		o.nodes[n.ID], o.faces[n.ID] = n, o.line(n, len(problems[n.ID]))
	}
	panel := editorview.OutlinePanel{FlowID: string(d.flow.ID), ReadOnly: !c.canChange(d), Palette: c.s.palette()}
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
	inputs, successors := map[string]int{}, map[string][]string{} // unordered inputs by node; nodes after each node
	for _, e := range o.Edges {
		from, to := nodeOf(e.From), nodeOf(e.To)
		if o.nodes[from] != nil && o.nodes[to] != nil {
			inputs[to]++
			successors[from] = append(successors[from], to)
		}
	}
	var ready, order []string
	seen := map[string]bool{}
	for i := range o.Nodes {
		if inputs[o.Nodes[i].ID] == 0 {
			ready = append(ready, o.Nodes[i].ID)
		}
	}
	sorting.By(ready, o.comparePositions)
	for ; len(ready) > 0; ready = ready[1:] {
		order, seen[ready[0]] = append(order, ready[0]), true
		for _, to := range successors[ready[0]] {
			if inputs[to]--; inputs[to] == 0 {
				ready = append(ready, to)
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

// comparePositions orders nodes from left to right and then from top to bottom.
func (o *outliner) comparePositions(a, b string) int {
	p, q := positionOf(o.nodes[a]), positionOf(o.nodes[b])
	return cmp.Or(cmp.Compare(p.X, q.X), cmp.Compare(p.Y, q.Y))
}

// positionOf returns the position of a node in canvas units, or the origin if it
// is not set.
func positionOf(n *flow.Node) flow.Position {
	if n.Position == nil {
		return flow.Position{}
	}
	return *n.Position
}

// nodeOf returns the ID of the node in a port reference, which is node.port.
func nodeOf(ref string) string { node, _, _ := strings.Cut(ref, "."); return node }

// title returns the title of the node of a port, followed by the name of the port.
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

// open returns a node with its ports and the ports that each could be connected
// to.
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
	for _, r := range append(face.Rows, editorview.PortRow{In: face.Tools, Out: face.Tool}) {
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

// choices returns the ports that a port could be connected to: the types fit, the
// edge creates no cycle, and the other port accepts it.
func (o *outliner) choices(ref string, t flow.Type, in bool) (list []components.Option) {
	excluded := reachable(o.Edges, nodeOf(ref), in) // an edge would create a cycle
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
		if k == nil || excluded[id] || id == nodeOf(ref) {
			continue
		}
		if in {
			for _, p := range flow.OutputPorts(n, k) {
				if k.Role != flow.RoleOutput && document.Fits(p.ShownType(), t) && !taken[id+"."+p.Name+">"] {
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

// reachable returns the nodes downstream of a node or, if downstream is false, the
// nodes upstream of it.
func reachable(edges []flow.Edge, id string, downstream bool) map[string]bool {
	seen := map[string]bool{}
	for queue := []string{id}; len(queue) > 0; queue = queue[1:] {
		for _, e := range edges {
			a, b := nodeOf(e.From), nodeOf(e.To)
			if !downstream {
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
