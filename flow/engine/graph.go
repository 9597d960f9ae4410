package engine

import (
	"slices"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
)

// Graph is a document made ready to run: kinds found, ports known, edges
// resolved to indexes, nodes in topological order. It is immutable and shared
// by all runs of the document.
type Graph struct {
	Document *flow.Document
	nodes    []graphNode
	index    map[string]int // node ID to place in nodes
	edges    int            // of all nodes
}

// graphNode is one node that runs. Edges refer to places in Graph.nodes; in
// Topological order every edge goes from a lower place to a higher one.
type graphNode struct {
	*flow.Node
	kind      *flow.Kind
	input     *contract.Input // of an input node
	ports     map[string]flow.Port
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

// graphEdge is an edge as the node that it arrives at sees it, with nodes as indexes.
type graphEdge struct {
	from     int
	fromPort string
	toPort   string
	collects string // name of the collected output, for implicit edges
}

// Compile makes a document ready to run. All problems are reported at once as
// the Fields of a CodeDocumentInvalid error.
func Compile(d *flow.Document, kinds *flow.Registry) (*Graph, error) {
	if problems := document.Validate(d, kinds); len(problems) > 0 {
		return nil, &flow.Error{Code: flow.CodeDocumentInvalid, Message: "The flow has problems that keep it from running.", Fields: problems}
	}
	return compile(d, kinds), nil
}

// Len is the number of nodes that take part in a run.
func (g *Graph) Len() int { return len(g.nodes) }

// compile expects a valid document.
func compile(d *flow.Document, kinds *flow.Registry) *Graph {
	g := &Graph{Document: d, index: map[string]int{}}
	for _, i := range document.Topological(d, kinds) {
		n := &d.Nodes[i]
		k := kinds.For(n)
		g.index[n.ID] = len(g.nodes)
		g.nodes = append(g.nodes, graphNode{
			Node: n, kind: k, ports: flow.PortsByName(flow.InputPorts(n, k)), templates: parseTemplates(n, k),
			hash: flow.Hash(flow.EncodeJSON([]any{n.Kind, n.Config})), secrets: flow.CredentialsIn(n.Config),
		})
		if k.Role == flow.RoleInput {
			in := contract.ReadInput(n)
			g.nodes[len(g.nodes)-1].input = &in
		}
	}
	for _, e := range d.Edges {
		from, fromPort := e.Source()
		to, toPort := e.Target()
		g.connect(g.index[from], g.index[to], graphEdge{fromPort: fromPort, toPort: toPort})
	}
	for _, e := range document.Collected(d, kinds) {
		g.connect(g.index[e.From], g.index[e.To], graphEdge{fromPort: "value", toPort: flow.CollectedPort, collects: e.Name})
	}
	return g
}

// connect adds an edge at both ends. A node lists each dependent once in out, however many
// edges lead to it.
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
func (n *graphNode) port(name string) flow.Port {
	p, ok := n.ports[name]
	if !ok && n.kind.TakesAny(name) {
		return flow.Port{Name: name, Type: flow.TypeAny}
	}
	return p
}

// parseTemplates replaces every text in the template fields by its *Template.
func parseTemplates(n *flow.Node, k *flow.Kind) map[string]any {
	m := map[string]any{}
	for i := range k.Fields {
		f := &k.Fields[i]
		v, typed := n.Config[f.Name]
		if !typed {
			v = f.Default
		}
		if f.Template && v != nil {
			m[f.Name], _ = flow.EachText(v, "", func(s, _ string) (any, error) { return flow.ParseTemplate(f.Places(s)) })
		}
	}
	return m
}

// Has reports whether a node takes part in runs.
func (g *Graph) Has(id string) bool { _, ok := g.index[id]; return ok }

// EmptyGraph has no nodes; a plan over it can only end.
func EmptyGraph() *Graph { return &Graph{Document: &flow.Document{}} }

// fixedURL is Document.FixedURL for a node of a compiled document.
func (n *graphNode) fixedURL() bool {
	arrives := func(e graphEdge) bool { return e.toPort == flow.WebhookURLField }
	return len(flow.TemplateNames(n.Config[flow.WebhookURLField])) == 0 && !slices.ContainsFunc(n.in, arrives)
}
