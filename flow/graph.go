package flow

import (
	"slices"
	"strings"
)

// Graph is a document made ready to run: kinds found, ports known, edges
// resolved to indexes, nodes in topological order. It is immutable and shared
// by all runs of the document.
type Graph struct {
	Document *Document
	nodes    []graphNode
	index    map[string]int // node ID to place in nodes
	edges    int            // of all nodes
}

// graphNode is one node that runs. Edges refer to places in Graph.nodes; in
// topological order every edge goes from a lower place to a higher one.
type graphNode struct {
	*Node
	kind      *Kind
	ports     map[string]Port
	templates map[string]any // field name to its config value with parsed templates
	hash      string         // of kind and config: what decides the result
	secrets   []string       // credentials that its config names
	in        []graphEdge
	out       []int // places of the nodes that depend on this one, without repeats
	ends      []edgeEnd
}

// edgeEnd is where an edge arrives: the place of the node, and the place of
// the edge among those that arrive there.
type edgeEnd struct{ node, edge int }

type graphEdge struct {
	from     int
	fromPort string
	toPort   string
	collects string // name of the collected output, for implicit edges
}

// CollectedPort is the name that implicit edges of a collecting node arrive at.
const CollectedPort = "(outputs)"

// Compile makes a document ready to run. All problems are reported at once as
// the Fields of a CodeDocumentInvalid error.
func Compile(d *Document, kinds *Registry) (*Graph, error) {
	if problems := Validate(d, kinds); len(problems) > 0 {
		return nil, &Error{Code: CodeDocumentInvalid, Message: "The flow has problems that keep it from running.", Fields: problems}
	}
	return compile(d, kinds), nil
}

// Len is the number of nodes that take part in a run.
func (g *Graph) Len() int { return len(g.nodes) }

// NodeIDs are the nodes that take part in a run, in topological order.
func (g *Graph) NodeIDs() []string {
	ids := make([]string, len(g.nodes))
	for i := range g.nodes {
		ids[i] = g.nodes[i].ID
	}
	return ids
}

// compile expects a valid document.
func compile(d *Document, kinds *Registry) *Graph {
	g := &Graph{Document: d, index: map[string]int{}}
	for _, i := range topological(d, kinds) {
		n := &d.Nodes[i]
		k := kinds.For(n)
		g.index[n.ID] = len(g.nodes)
		g.nodes = append(g.nodes, graphNode{
			Node: n, kind: k, ports: byName(InputPorts(n, k)), templates: parseTemplates(n, k),
			hash: Hash(EncodeJSON([]any{n.Kind, n.Config})), secrets: credentialsIn(n.Config),
		})
	}
	for _, e := range d.Edges {
		from, fromPort := e.source()
		to, toPort := e.target()
		g.connect(g.index[from], g.index[to], graphEdge{fromPort: fromPort, toPort: toPort})
	}
	for _, e := range collected(d, kinds) {
		g.connect(g.index[e.from], g.index[e.to], graphEdge{fromPort: "value", toPort: CollectedPort, collects: e.name})
	}
	return g
}

func (g *Graph) connect(from, to int, e graphEdge) {
	g.edges++
	e.from = from
	g.nodes[from].ends = append(g.nodes[from].ends, edgeEnd{to, len(g.nodes[to].in)})
	g.nodes[to].in = append(g.nodes[to].in, e)
	for _, known := range g.nodes[from].out {
		if known == to {
			return
		}
	}
	g.nodes[from].out = append(g.nodes[from].out, to)
}

// port is an input port of the node, declared or taken as it comes.
func (n *graphNode) port(name string) Port {
	p, ok := n.ports[name]
	if !ok && n.kind.takesAny(name) {
		return Port{Name: name, Type: TypeAny}
	}
	return p
}

func (e Edge) source() (node, port string) { return splitPort(e.From) }
func (e Edge) target() (node, port string) { return splitPort(e.To) }

// FromNode is the node that the edge leaves from.
func (e Edge) FromNode() string { node, _ := e.source(); return node }

// ToNode is the node that the edge arrives at.
func (e Edge) ToNode() string { node, _ := e.target(); return node }

func splitPort(s string) (node, port string) {
	node, port, _ = strings.Cut(s, ".")
	return node, port
}

// InputPorts are the ports that edges may arrive at: the kind's own, one per
// field that is not Typed, and one per template name.
func InputPorts(n *Node, k *Kind) []Port {
	ports := append([]Port(nil), k.Inputs...)
	for i := range k.Fields {
		f := &k.Fields[i]
		if !f.Typed {
			ports = append(ports, Port{Name: f.Name, Title: f.Title, Help: f.Help, Type: f.PortType(), Required: f.Required && !n.typed(f) && f.Default == nil})
		}
	}
	own := len(ports)
	for _, name := range templateNames(n, k) {
		if slices.ContainsFunc(ports[:own], func(p Port) bool { return p.Name == name }) {
			continue // refused by Validate
		}
		ports = append(ports, Port{Name: name, Title: name, Type: TypeAny, Required: true, Template: true})
	}
	return ports
}

// typed tells whether a field has a value of its own; an empty text is none
// where a value is required.
func (n *Node) typed(f *Field) bool {
	v, ok := n.Config[f.Name]
	return ok && !(f.Required && v == "")
}

// OutputPorts are the ports that edges may leave from.
func OutputPorts(n *Node, k *Kind) []Port {
	if n.OnError != nil && n.OnError.Route {
		return append(append([]Port(nil), k.Outputs...), Port{Name: ErrorPort, Title: "Error", Help: "What went wrong: code, message and node.", Type: TypeJSON})
	}
	return k.Outputs
}

// ErrorPort carries what went wrong on a node that routes its errors.
const ErrorPort = "error"

func byName(ports []Port) map[string]Port {
	m := make(map[string]Port, len(ports))
	for _, p := range ports {
		m[p.Name] = p
	}
	return m
}

// templateNames are the ports grown by all template fields of a node, each
// once. Fields that do not parse grow none; Validate reports them.
func templateNames(n *Node, k *Kind) []string {
	var list []string
	seen := map[string]bool{}
	for i := range k.Fields {
		if !k.Fields[i].Template {
			continue
		}
		for _, name := range TemplateNames(n.Config[k.Fields[i].Name]) {
			if !seen[name] {
				seen[name] = true
				list = append(list, name)
			}
		}
	}
	return list
}

// TemplateNames are the ports that a config value grows as a template, each
// once. Texts that do not parse grow none.
func TemplateNames(value any) (list []string) {
	seen := map[string]bool{}
	_, _ = eachText(value, "", func(s, _ string) (any, error) {
		if t, err := ParseTemplate(s); err == nil {
			for _, name := range t.Names() {
				if !seen[name] {
					seen[name] = true
					list = append(list, name)
				}
			}
		}
		return nil, nil
	})
	return list
}

// parseTemplates replaces every text in the template fields by its *Template.
func parseTemplates(n *Node, k *Kind) map[string]any {
	m := map[string]any{}
	for i := range k.Fields {
		f := &k.Fields[i]
		v, typed := n.Config[f.Name]
		if !typed {
			v = f.Default
		}
		if f.Template && v != nil {
			m[f.Name], _ = eachText(v, "", func(s, _ string) (any, error) { return ParseTemplate(f.places(s)) })
		}
	}
	return m
}

// implicitEdge makes a collecting node depend on an output node.
type implicitEdge struct{ from, to, name string }

func collected(d *Document, kinds *Registry) []implicitEdge {
	var edges []implicitEdge
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := kinds.Find(n.Kind)
		if k == nil || k.Collects == "" {
			continue
		}
		chosen := textSet(n.Config[k.Collects])
		for _, o := range d.Outputs(kinds) {
			if len(chosen) == 0 || chosen[o.Name] {
				edges = append(edges, implicitEdge{from: o.Node, to: n.ID, name: o.Name})
			}
		}
	}
	return edges
}

func textSet(v any) map[string]bool {
	set := map[string]bool{}
	list, _ := v.([]any)
	for _, item := range list {
		if s, ok := item.(string); ok {
			set[s] = true
		}
	}
	return set
}

// dependents lists, for each node of the document, the places of the nodes
// that depend on it, implicit edges included. Edges to nowhere are left out.
func dependents(d *Document, kinds *Registry) [][]int {
	place := map[string]int{}
	for i := range d.Nodes {
		if id := d.Nodes[i].ID; id != "" {
			place[id] = i
		}
	}
	out := make([][]int, len(d.Nodes))
	add := func(from, to string) {
		f, okFrom := place[from]
		t, okTo := place[to]
		if okFrom && okTo {
			out[f] = append(out[f], t)
		}
	}
	for _, e := range d.Edges {
		from, _ := e.source()
		to, _ := e.target()
		add(from, to)
	}
	for _, e := range collected(d, kinds) {
		add(e.from, e.to)
	}
	return out
}

// topological orders the nodes that run so that edges go forward; among those
// free to come next, the document's order decides.
func topological(d *Document, kinds *Registry) []int {
	out := dependents(d, kinds)
	waits := make([]int, len(d.Nodes))
	for _, to := range out {
		for _, t := range to {
			waits[t]++
		}
	}
	var order, free []int
	for i := range d.Nodes {
		if waits[i] == 0 {
			free = append(free, i)
		}
	}
	for len(free) > 0 {
		i := free[0]
		free = free[1:]
		if roleOf(kinds, &d.Nodes[i]) != RoleCanvas {
			order = append(order, i)
		}
		for _, t := range out[i] {
			if waits[t]--; waits[t] == 0 {
				free = append(free, t)
			}
		}
	}
	return order
}

// cycles are the groups of nodes that depend on each other in a circle
// (Tarjan's strongly connected components), all of them at once.
func cycles(out [][]int) [][]int {
	t := &tarjan{out: out, index: make([]int, len(out)), low: make([]int, len(out)), on: make([]bool, len(out))}
	for v := range out {
		if t.index[v] == 0 {
			t.visit(v)
		}
	}
	return t.found
}

type tarjan struct {
	out        [][]int
	index, low []int
	on         []bool
	stack      []int
	next       int
	found      [][]int
}

func (t *tarjan) visit(v int) {
	t.next++
	t.index[v], t.low[v] = t.next, t.next
	t.stack, t.on[v] = append(t.stack, v), true
	self := false
	for _, w := range t.out[v] {
		self = self || w == v
		if t.index[w] == 0 {
			t.visit(w)
			t.low[v] = min(t.low[v], t.low[w])
		} else if t.on[w] {
			t.low[v] = min(t.low[v], t.index[w])
		}
	}
	if t.low[v] != t.index[v] {
		return
	}
	var group []int
	for w := -1; w != v; {
		w = t.stack[len(t.stack)-1]
		t.stack, t.on[w] = t.stack[:len(t.stack)-1], false
		group = append(group, w)
	}
	if len(group) > 1 || self {
		t.found = append(t.found, group)
	}
}

// Has tells whether a node takes part in runs.
func (g *Graph) Has(id string) bool { _, ok := g.index[id]; return ok }

// EmptyGraph has no nodes; a plan over it can only end.
func EmptyGraph() *Graph { return &Graph{Document: &Document{}} }
