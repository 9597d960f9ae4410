package document

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

// Child is a part of a flow as a flow of its own, which a node of the former flow runs.
type Child struct {
	Document *flow.Document
	parent   *flow.Document
	inside   map[string]bool
	inputs   map[string]string // names by the port outside that the value comes from
	outputs  map[string]string // names by the port inside that the value comes from
}

// childGap is the distance between the nodes of a child and its inputs and outputs.
const childGap = ColumnWidth + 40

// NewChild makes a flow of the selected nodes of a document: values that edges bring in become
// inputs, values that edges take out become outputs. Inputs, outputs and webhooks belong to the
// interface of the flow and stay where they are. The error says why the nodes cannot be a flow of
// their own: together they must run under one condition, and no other node between them.
func NewChild(d *flow.Document, kinds *flow.Registry, selected []string, name string) (*Child, error) {
	c := &Child{parent: d, inside: map[string]bool{}, inputs: map[string]string{}, outputs: map[string]string{}}
	work := false
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := kinds.Find(n.Kind)
		if !slices.Contains(selected, n.ID) || k != nil && (k.Role == flow.RoleInput || k.Role == flow.RoleOutput || k.OutputsField != "") {
			continue
		}
		c.inside[n.ID] = true
		work = work || runs(kinds, n)
	}
	if !work {
		return nil, flow.Errorf(flow.CodeInputInvalid, "Select the nodes for the new flow. Inputs, outputs and webhooks stay in this one.")
	}
	t := newTyper(d, kinds)
	for _, check := range []func(*typer) error{c.checkEdges, c.checkBetween, c.checkConditions} {
		if err := check(t); err != nil {
			return nil, err
		}
	}
	c.write(t, name)
	return c, nil
}

// incoming and outgoing return the edges into and out of the selected nodes.
func (c *Child) incoming() []flow.Edge { return c.crossing(false) }
func (c *Child) outgoing() []flow.Edge { return c.crossing(true) }

func (c *Child) crossing(out bool) (list []flow.Edge) {
	for _, e := range c.parent.Edges {
		if c.inside[e.FromNode()] == out && c.inside[e.ToNode()] != out {
			list = append(list, e)
		}
	}
	return list
}

// title returns the name of a node for messages.
func (t *typer) title(id string) string {
	n := t.nodes[id]
	if n == nil {
		return id
	}
	return NodeTitle(n.Node, n.kind)
}

// checkEdges reports edges that cannot cross the border of a flow.
func (c *Child) checkEdges(t *typer) error {
	for _, e := range slices.Concat(c.incoming(), c.outgoing()) {
		from, to := t.nodes[e.FromNode()], t.nodes[e.ToNode()]
		switch {
		case from == nil || to == nil:
			return flow.Errorf(flow.CodeInputInvalid, "The edge from %s to %s leads nowhere. Delete it first.", e.From, e.To)
		case from.Tool != nil:
			return flow.Errorf(flow.CodeInputInvalid, "Select %s together with its tools.", t.title(to.ID))
		case from.kind != nil && from.kind.Role == flow.RoleInput && contract.ReadInput(from.Node).Secret:
			return flow.Errorf(flow.CodeInputInvalid, "%s takes the secret input %s, which other flows cannot get. Leave it out of the selection.", t.title(to.ID), t.title(from.ID))
		}
	}
	return nil
}

// checkBetween reports a node that would wait for the new flow and feed it.
func (c *Child) checkBetween(t *typer) error {
	next := map[string][]string{}
	for _, e := range t.d.Edges {
		next[e.FromNode()] = append(next[e.FromNode()], e.ToNode())
	}
	for _, e := range Collected(t.d, t.kinds) {
		next[e.From] = append(next[e.From], e.To)
	}
	after := map[string]bool{}
	var queue []string
	for _, e := range c.outgoing() {
		queue = append(queue, e.ToNode())
	}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		if after[id] || c.inside[id] {
			continue
		}
		after[id] = true
		queue = append(queue, next[id]...)
	}
	for _, e := range c.incoming() {
		if after[e.FromNode()] {
			return flow.Errorf(flow.CodeInputInvalid, "%s runs between the selected nodes. Select it too.", t.title(e.FromNode()))
		}
	}
	return nil
}

// checkConditions reports nodes that do not all run under the same condition: a node that runs a
// flow runs all of it or nothing.
func (c *Child) checkConditions(t *typer) error {
	in := c.incoming()
	if len(in) == 0 {
		return nil
	}
	when := make([]conditions, len(in))
	for i, e := range in {
		id, port := e.Source()
		if when[i] = t.when(id, port); t.always(when[i]) {
			when[i] = unconditional
		}
		if !when[0].equal(when[i]) {
			return flow.Errorf(flow.CodeInputInvalid, "%s gets a value under another condition than %s. Select the node that decides too, or leave one of them out.", t.title(e.ToNode()), t.title(in[0].ToNode()))
		}
	}
	if when[0].equal(unconditional) {
		return nil
	}
	fed := map[string]bool{}
	for _, e := range in {
		fed[e.ToNode()] = true
	}
	for range t.d.Nodes { // edges may be in any order
		for _, e := range t.d.Edges {
			if c.inside[e.FromNode()] && fed[e.FromNode()] {
				fed[e.ToNode()] = true
			}
		}
	}
	for i := range t.d.Nodes {
		if n := &t.d.Nodes[i]; c.inside[n.ID] && !fed[n.ID] && !n.Disabled && runs(t.kinds, n) {
			return flow.Errorf(flow.CodeInputInvalid, "%s always runs, but %s only under a condition. Leave one of them out.", t.title(n.ID), t.title(in[0].ToNode()))
		}
	}
	return nil
}

// equal reports whether two lists have the same alternatives.
func (c conditions) equal(other conditions) bool {
	has := func(c conditions, a []choice) bool {
		return slices.ContainsFunc(c, func(b []choice) bool { return slices.Equal(a, b) })
	}
	for _, a := range c {
		if !has(other, a) {
			return false
		}
	}
	for _, a := range other {
		if !has(c, a) {
			return false
		}
	}
	return true
}

// write writes the document of the child.
func (c *Child) write(t *typer, name string) {
	d := &flow.Document{Schema: flow.Schema, Name: name, Edges: []flow.Edge{}}
	c.Document = d
	ids := maps.Clone(c.inside)
	left, top, right, _ := c.bounds()
	names := map[string]bool{contract.ReservedInput: true}
	for _, e := range c.incoming() {
		if c.inputs[e.From] != "" {
			continue
		}
		name := t.portLabel(e.From, names)
		c.inputs[e.From] = name
		id, port := e.Source()
		config := map[string]any{"name": name, "type": string(inputType(t.output(id, port).typ))}
		at := &flow.Position{X: left - childGap, Y: top + float64(len(c.inputs)-1)*RowHeight}
		d.Nodes = append(d.Nodes, flow.Node{ID: freeID(name, ids), Kind: "input", Position: at, Config: config})
	}
	sources := map[string]string{} // node IDs of inputs by name
	for i := range d.Nodes {
		sources[flow.NameOf(&d.Nodes[i])] = d.Nodes[i].ID
	}
	for i := range t.d.Nodes {
		if n := t.d.Nodes[i]; c.inside[n.ID] {
			d.Nodes = append(d.Nodes, n)
		}
	}
	for _, e := range t.d.Edges {
		switch {
		case !c.inside[e.ToNode()]:
		case c.inside[e.FromNode()]:
			d.Edges = append(d.Edges, e)
		default:
			d.Edges = append(d.Edges, flow.Edge{From: sources[c.inputs[e.From]] + ".value", To: e.To})
		}
	}
	names = map[string]bool{"outputs": true, flow.ErrorPort: true} // ports that a subflow has itself
	for _, e := range c.outgoing() {
		if c.outputs[e.From] != "" {
			continue
		}
		name := t.portLabel(e.From, names)
		c.outputs[e.From] = name
		id := freeID(name, ids)
		at := &flow.Position{X: right + childGap, Y: top + float64(len(c.outputs)-1)*RowHeight}
		d.Nodes = append(d.Nodes, flow.Node{ID: id, Kind: "output", Position: at, Config: map[string]any{"name": name}})
		d.Edges = append(d.Edges, flow.Edge{From: e.From, To: id + "." + outputPort})
	}
	for _, g := range t.d.Groups {
		if c.holds(g) {
			d.Groups = append(d.Groups, g)
		}
	}
}

// holds reports whether all nodes of a group are selected.
func (c *Child) holds(g flow.Group) bool {
	return len(g.Nodes) > 0 && !slices.ContainsFunc(g.Nodes, func(id string) bool { return !c.inside[id] })
}

// bounds returns the box around the positions of the selected nodes.
func (c *Child) bounds() (left, top, right, bottom float64) {
	first := true
	for i := range c.parent.Nodes {
		n := &c.parent.Nodes[i]
		if p := n.Position; p != nil && c.inside[n.ID] {
			if first {
				left, top, right, bottom, first = p.X, p.Y, p.X, p.Y, false
			}
			left, top, right, bottom = min(left, p.X), min(top, p.Y), max(right, p.X), max(bottom, p.Y)
		}
	}
	return left, top, right, bottom
}

// inputType returns the type of an input for values of a type.
func inputType(t flow.Type) flow.Type {
	if slices.Contains(contract.InputTypes, t) {
		return t
	}
	return flow.TypeJSON // takes any value
}

// notInName matches the characters that names of inputs and outputs cannot have.
var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// portLabel returns a name for the value of an output port that is not taken yet: the name of an
// input, the name of the port if it says something, or else the title of the node.
func (t *typer) portLabel(ref string, taken map[string]bool) string {
	id, port := flow.SplitPort(ref)
	base := port
	if n := t.nodes[id]; n != nil && n.kind != nil && n.kind.Role == flow.RoleInput {
		base = flow.NameOf(n.Node)
	} else if slices.Contains([]string{"value", "text", "result", "outputs", "json", "true", "false", "else", flow.ErrorPort}, port) {
		base = id
		if n != nil && n.Label != "" {
			base = strings.ToLower(n.Label)
		}
	}
	base = flow.FirstRunes(strings.Trim(notInName.ReplaceAllString(base, "_"), "_"), 50)
	if !flow.InputNamePattern.MatchString(base) {
		base = "v_" + base
	}
	return freeID(cmp.Or(base, "value"), taken)
}

// freeID returns an ID that is not taken, and takes it.
func freeID(base string, taken map[string]bool) string {
	id := base
	for n := 2; taken[id]; n++ {
		id = base + "_" + strconv.Itoa(n)
	}
	taken[id] = true
	return id
}

// Edits returns the edits that put a node which runs the child into the place of its nodes. run is
// the ID of the flow. Edges keep their order at the ports that they lead to.
func (c *Child) Edits(run flow.FlowID) []Edit {
	taken := map[string]bool{}
	var gone []string
	for i := range c.parent.Nodes {
		id := c.parent.Nodes[i].ID
		if taken[id] = true; c.inside[id] {
			gone = append(gone, id)
		}
	}
	left, top, right, bottom := c.bounds()
	node := &flow.Node{ID: freeID("subflow", taken), Kind: "subflow", Label: c.Document.Name, Config: map[string]any{"flow": string(run)}}
	node.Position = &flow.Position{X: snap((left + right) / 2), Y: snap((top + bottom) / 2)}
	ops := []Edit{{Op: OpRemove, Nodes: gone}}
	for _, g := range c.parent.Groups {
		if c.holds(g) {
			ops = append(ops, Edit{Op: OpGroup, ID: g.ID})
		}
	}
	ops = append(ops, Edit{Op: OpAdd, New: node})
	given := map[string]bool{}
	for _, e := range c.incoming() {
		if !given[e.From] {
			given[e.From] = true
			ops = append(ops, Edit{Op: OpConnect, Edge: flow.Edge{From: e.From, To: node.ID + ".input." + c.inputs[e.From]}})
		}
	}
	seen := map[string]int{} // edges so far by the port that they lead to
	for _, e := range c.parent.Edges {
		at := seen[e.To]
		seen[e.To]++
		if c.inside[e.FromNode()] && !c.inside[e.ToNode()] {
			ops = append(ops, Edit{Op: OpConnect, Edge: flow.Edge{From: node.ID + "." + c.outputs[e.From], To: e.To}, At: &at})
		}
	}
	return ops
}

// snap rounds a coordinate to the grid of the canvas.
func snap(v float64) float64 { return float64(int(v/10)) * 10 }
