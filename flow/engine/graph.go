package engine

import (
	"slices"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
)

// Graph is a compiled document: kinds and ports are resolved, edges refer to nodes by index,
// and nodes are in topological order. It is immutable and shared by all runs of the document.
type Graph struct {
	Document *flow.Document
	nodes    []graphNode
	index    map[string]int // node ID to index in nodes
	edges    int            // total number
	outputs  []string       // names of the outputs in the order of the document
}

// graphNode is a node that takes part in runs. Its edges refer to indexes in Graph.nodes; in
// topological order every edge leads from a lower index to a higher one.
type graphNode struct {
	*flow.Node
	kind      *flow.Kind
	input     *contract.Input // of an input node
	ports     map[string]flow.Port
	templates map[string]any // field name to its config value with parsed templates
	hash      string         // of kind and config, which together with the input determine the result
	secrets   []string       // names of the credentials in its config
	in        []graphEdge
	out       []int // indexes of the nodes that depend on this one, without duplicates
	ends      []edgeEnd
	sub       *flow.SubStep // of a sub-step, which has no edges; nil for a node of the document
	tools     []graphTool   // of a node with a port for tools
}

// edgeEnd is the target of an outgoing edge: the index of the target node and the index of the
// edge in its in list.
type edgeEnd struct{ node, edge int }

// graphEdge is an incoming edge of a node.
type graphEdge struct {
	from     int
	fromPort string
	toPort   string
	collects string // name of the collected output, for implicit edges
	tool     int    // index in graphNode.tools, plus 1, of an implicit edge that binds a port of a tool
}

// Compile validates a document and prepares it for execution. It reports all problems at once,
// as the Fields of a CodeDocumentInvalid error.
func Compile(d *flow.Document, kinds *flow.Registry) (*Graph, error) {
	if problems := document.Validate(d, kinds); len(problems) > 0 {
		return nil, &flow.Error{Code: flow.CodeDocumentInvalid, Message: "The flow has problems that keep it from running.", Fields: problems}
	}
	return compile(d, kinds), nil
}

// Len returns the number of nodes that take part in a run.
func (g *Graph) Len() int { return len(g.nodes) }

// compile is Compile for a document that is known to be valid.
func compile(d *flow.Document, kinds *flow.Registry) *Graph {
	g := &Graph{Document: d, index: map[string]int{}}
	for _, o := range contract.Outputs(d, kinds) {
		g.outputs = append(g.outputs, o.Name)
	}
	for _, i := range document.Topological(d, kinds) {
		n := &d.Nodes[i]
		k := kinds.For(n)
		g.index[n.ID] = len(g.nodes)
		g.nodes = append(g.nodes, newGraphNode(n, k))
		if k.Role == flow.RoleInput {
			in := contract.ReadInput(n)
			g.nodes[len(g.nodes)-1].input = &in
		}
	}
	tools := newToolSet(d, kinds)
	for _, e := range d.Edges {
		from, fromPort := e.Source()
		to, toPort := e.Target()
		if !tools.takes(e) {
			g.connect(g.index[from], g.index[to], graphEdge{fromPort: fromPort, toPort: toPort})
		}
	}
	tools.connect(g)
	for _, e := range document.Collected(d, kinds) {
		g.connect(g.index[e.From], g.index[e.To], graphEdge{fromPort: "value", toPort: flow.CollectedPort, collects: e.Name})
	}
	return g
}

// newGraphNode returns a node without edges.
func newGraphNode(n *flow.Node, k *flow.Kind) graphNode {
	return graphNode{
		Node: n, kind: k, ports: flow.PortsByName(flow.InputPorts(n, k)), templates: parseTemplates(n, k),
		hash: document.NodeHash(n), secrets: flow.CredentialsIn(n.Config),
	}
}

// connect adds an edge to its source and its target. out lists each dependent once, even if
// several edges lead to it.
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

// port returns an input port of the node. Kinds with open ports accept any name with their
// prefix, with type any.
func (n *graphNode) port(name string) flow.Port {
	p, ok := n.ports[name]
	if !ok && n.kind.AcceptsPort(name) {
		return flow.Port{Name: name, Type: flow.TypeAny}
	}
	return p
}

// parseTemplates returns the values of the template fields with every text replaced by its
// parsed *flow.Template.
func parseTemplates(n *flow.Node, k *flow.Kind) map[string]any {
	m := map[string]any{}
	for i := range k.Fields {
		f := &k.Fields[i]
		v, typed := n.Config[f.Name]
		if !typed {
			v = f.Default
		}
		if f.Template && v != nil {
			m[f.Name], _ = flow.EachText(v, "", func(s, _ string) (any, error) { return flow.ParseTemplate(f.TemplateText(s)) })
		}
	}
	return m
}

// EmptyGraph returns a graph without nodes. It serves to end a run whose document does not
// compile.
func EmptyGraph() *Graph { return &Graph{Document: &flow.Document{}} }

// fixedURL reports whether the webhook URL of the node is the same in all runs: it has no
// template and no incoming edge.
func (n *graphNode) fixedURL() bool {
	arrives := func(e graphEdge) bool { return e.toPort == flow.WebhookURLField }
	return len(flow.TemplateNames(n.Config[flow.WebhookURLField])) == 0 && !slices.ContainsFunc(n.in, arrives)
}
