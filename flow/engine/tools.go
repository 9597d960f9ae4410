package engine

import (
	"maps"
	"slices"

	"sluice/flow"
	"sluice/flow/value"
)

// graphTool is a tool of a node: another node of the document, which has no step of its own.
type graphTool struct {
	*graphNode
	open   []flow.Port
	offers []flow.ToolOffer
}

// toolSet collects the tools of a document while it is compiled.
type toolSet struct {
	tools  map[string]*graphNode // by node ID
	agents []flow.Edge           // from tools to the nodes that call them
	bound  map[string][]flow.Edge
}

func newToolSet(d *flow.Document, kinds *flow.Registry) *toolSet {
	s := &toolSet{tools: map[string]*graphNode{}, bound: map[string][]flow.Edge{}}
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.Tool != nil {
			tool := newGraphNode(n, kinds.For(n))
			s.tools[n.ID] = &tool
		}
	}
	return s
}

// takes reports whether an edge begins or ends at a tool, and keeps it then.
func (s *toolSet) takes(e flow.Edge) bool {
	switch {
	case s.tools[e.FromNode()] != nil:
		s.agents = append(s.agents, e)
	case s.tools[e.ToNode()] != nil:
		s.bound[e.ToNode()] = append(s.bound[e.ToNode()], e)
	default:
		return false
	}
	return true
}

// connect adds the tools to the nodes that call them, which depend on the values that the tools are
// bound to.
func (s *toolSet) connect(g *Graph) {
	for id, tool := range s.tools {
		for _, e := range s.bound[id] {
			from, fromPort := e.Source()
			_, toPort := e.Target()
			tool.in = append(tool.in, graphEdge{from: g.index[from], fromPort: fromPort, toPort: toPort})
		}
	}
	for _, e := range s.agents {
		tool, agent := s.tools[e.FromNode()], g.index[e.ToNode()]
		if tool.Disabled {
			continue
		}
		isFed := func(port string) bool { return g.Document.IsFed(tool.ID, port) }
		n := &g.nodes[agent]
		open := flow.OpenPorts(tool.Node, tool.kind, isFed)
		n.tools = append(n.tools, graphTool{tool, open, flow.ToolOffers(tool.Node, tool.kind, open, isFed)})
		n.hash = flow.Hash(value.Canonical([]any{n.hash, flow.ToolHash(tool.Node, open)}))
		for _, bound := range tool.in {
			g.connect(bound.from, agent, graphEdge{fromPort: bound.fromPort, toPort: bound.toPort, tool: len(n.tools)})
		}
	}
}

// tool returns the tool of a node, or nil.
func (n *graphNode) tool(id string) *graphNode {
	for i := range n.tools {
		if n.tools[i].ID == id {
			return n.tools[i].graphNode
		}
	}
	return nil
}

// bindTools adds the tools of a step whose bound ports all have values.
func (p *Plan) bindTools(i int, in *flow.In) *flow.Error {
	n := p.nodes[i].def
	for k := range n.tools {
		tool := &n.tools[k]
		given, missing, untrusted := &flow.In{Ports: map[string]any{}}, false, false
		for j, e := range n.in {
			if e.tool != k+1 {
				continue
			}
			if s := &p.nodes[i].edges[j]; !s.live {
				missing = true
			} else if err := tool.addInput(given, e, s.value); err != nil {
				return err
			}
			untrusted = untrusted || p.nodes[e.from].step.Untrusted
		}
		if !missing {
			in.Tools = append(in.Tools, flow.BoundTool{
				Node: tool.Node, Kind: tool.kind, Open: tool.open, Offers: tool.offers, Untrusted: untrusted, Bound: tool.shownBound(given.Ports),
				Hash: value.Hash([]any{flow.ToolHash(tool.Node, tool.open), given.Ports}),
				Bind: func(values map[string]any) (config, ports map[string]any, err error) {
					return tool.bind(given.Ports, values)
				},
			})
		}
	}
	return nil
}

// shownBound returns what the flow sets of a call, without secrets.
func (t *graphTool) shownBound(fed map[string]any) (list []flow.ApprovalValue) {
	for _, p := range flow.InputPorts(t.Node, t.kind) {
		if slices.ContainsFunc(t.open, func(open flow.Port) bool { return open.Name == p.Name }) {
			continue
		}
		f := t.kind.Field(p.Name)
		v, has := fed[p.Name]
		if !has && f != nil && f.Type != flow.FieldModel {
			v, has = t.Config[p.Name]
		}
		if _, isSecret := flow.SecretInput(v); !has || isSecret || flow.IsSecretRef(v) {
			continue
		}
		if f != nil {
			v = f.Redact(v)
		}
		list = append(list, flow.ApprovalValue{Name: p.Name, Value: v})
	}
	return list
}

// bind returns the config and the ports of a call.
func (t *graphTool) bind(bound, values map[string]any) (config, ports map[string]any, err error) {
	in := &flow.In{Config: make(map[string]any, len(t.kind.Fields)), Ports: maps.Clone(bound)}
	for port, v := range values {
		if err := t.addInput(in, graphEdge{toPort: port}, v); err != nil {
			return nil, nil, err
		}
	}
	if err := t.configure(in); err != nil {
		return nil, nil, err
	}
	return in.Config, in.Ports, nil
}
