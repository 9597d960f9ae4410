package document

import (
	"fmt"
	"slices"

	"sluice/flow"
)

// LeakProblems returns the agents of a document that could be misled into sending private data away: those that read content
// from outside, have private data, and have a tool that sends data anywhere without always asking people. A private value is a
// credential or a bound value of a tool. Flows as tools count with all that they do; reach returns that of a node, or nil. A
// server of tools may get what it has sent itself.
func LeakProblems(d *flow.Document, kinds *flow.Registry, reach func(n *flow.Node) *Reach) (problems []flow.Problem) {
	for i := range d.Nodes {
		agent := &d.Nodes[i]
		if k := kinds.For(agent); k == nil || k.Expand == nil || agent.Disabled {
			continue
		}
		tools := agentTools(d, kinds, agent, reach)
		if !hasUntrustedInput(d, kinds) && !slices.ContainsFunc(tools, func(t agentTool) bool { return t.untrusted }) {
			continue
		}
		for at := range tools {
			t := &tools[at]
			private := slices.IndexFunc(tools, func(other agentTool) bool { return other.private && !(t.server && other.at == t.at) })
			if !t.open || private < 0 {
				continue
			}
			detail := fmt.Sprintf("Text from outside could make the agent send private data of %s to any host with %s: set Ask first of %s to always, or list its hosts.", tools[private].title, t.title, t.title)
			switch {
			case t.server:
				detail = fmt.Sprintf("Text from outside could make the agent send private data of %s to the server of %s: set Ask first of %s to always, or list the host of the server in its hosts if the server is yours.", tools[private].title, t.title, t.title)
			case t.below != "":
				detail = fmt.Sprintf("Text from outside could make the agent send private data of %s to any host with %s, through %s: set Ask first of %s to always.", tools[private].title, t.title, t.below, t.title)
			}
			problems = append(problems, flow.Problem{Pointer: flow.Pointer("nodes", t.at, "tool"), Code: "open_destination", Node: d.Nodes[t.at].ID, Detail: detail})
		}
	}
	return problems
}

// agentTool is what a tool of an agent brings in and sends away.
type agentTool struct {
	at                       int // index of its node
	title                    string
	untrusted, private, open bool
	server                   bool   // it stands for the tools of a server
	below                    string // a node of a flow that sends data anywhere
}

// agentTools returns the enabled tools of an agent.
func agentTools(d *flow.Document, kinds *flow.Registry, agent *flow.Node, reach func(n *flow.Node) *Reach) (list []agentTool) {
	for at := range d.Nodes {
		n := &d.Nodes[at]
		k := kinds.For(n)
		if k == nil || k.Tool == nil || n.Tool == nil || n.Disabled || !leads(d, n, agent) {
			continue
		}
		t := agentTool{at: at, title: NodeTitle(n, k), open: sendsAnywhere(d, n, k), server: k.Tool.Offers != nil}
		t.untrusted = k.Untrusted != nil && k.Untrusted(n)
		t.private = len(SentCredentials(n, k)) > 0 || slices.ContainsFunc(d.Edges, func(e flow.Edge) bool { return e.ToNode() == n.ID })
		if k.StartsRuns() {
			if r := reach(n); r != nil {
				t.untrusted, t.private = r.Untrusted, t.private || r.Private != ""
				if n.Tool.Approval != flow.ApprovalAlways {
					t.open, t.below = r.Open != "", r.Open
				}
			}
		}
		list = append(list, t)
	}
	return list
}

// AgentWrites lists, for each agent of a document, the nodes that change something when the agent calls its tools.
func AgentWrites(d *flow.Document, kinds *flow.Registry, reach func(n *flow.Node) *Reach) (list []AgentReach) {
	for i := range d.Nodes {
		agent := &d.Nodes[i]
		if k := kinds.For(agent); k == nil || k.Expand == nil || agent.Disabled {
			continue
		}
		a := AgentReach{Agent: agent.ID, Title: NodeTitle(agent, kinds.For(agent))}
		for _, t := range agentTools(d, kinds, agent, reach) {
			n := &d.Nodes[t.at]
			tool := ToolReach{Node: n.ID, Title: t.title, Approval: n.Tool.Approval, ClaimsRead: n.Tool.Effect == flow.EffectRead}
			if k := kinds.For(n); k.StartsRuns() {
				r := reach(n)
				if r.Effect() == flow.EffectRead {
					continue
				}
				if r != nil {
					tool.Writes = r.Writes
				}
			} else if !flow.Writes(n, k) {
				continue
			}
			a.Tools = append(a.Tools, tool)
		}
		if len(a.Tools) > 0 {
			list = append(list, a)
		}
	}
	return list
}

// AgentReach is an agent with its tools that change something.
type AgentReach struct {
	Agent, Title string
	Tools        []ToolReach
}

// ToolReach is a tool that changes something.
type ToolReach struct {
	Node, Title string
	Approval    string    // see flow.Tool
	ClaimsRead  bool      // the setting says that calls only read
	Writes      []Reached // of a flow: the nodes in it and below it
}

// hasUntrustedInput reports whether an input says that its value comes from outside.
func hasUntrustedInput(d *flow.Document, kinds *flow.Registry) bool {
	return slices.ContainsFunc(d.Nodes, func(n flow.Node) bool {
		return flow.RoleOf(kinds, &n) == flow.RoleInput && n.Config["untrusted"] == true
	})
}

// leads reports whether a node is a tool of an agent.
func leads(d *flow.Document, tool, agent *flow.Node) bool {
	return slices.ContainsFunc(d.Edges, func(e flow.Edge) bool { return e.From == tool.ID+"."+flow.ToolPort && e.ToNode() == agent.ID })
}
