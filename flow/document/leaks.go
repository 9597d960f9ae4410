package document

import (
	"fmt"
	"slices"

	"sluice/flow"
)

// LeakProblems returns the agents of a document that could be misled into sending private data away: those that read content
// from outside, have private data, and choose the host of a tool that does not always ask people. A private value is a
// credential or a bound value of a tool.
func LeakProblems(d *flow.Document, kinds *flow.Registry) (problems []flow.Problem) {
	for i := range d.Nodes {
		agent := &d.Nodes[i]
		if k := kinds.For(agent); k == nil || k.Expand == nil || agent.Disabled {
			continue
		}
		untrusted, private := hasUntrustedInput(d, kinds), ""
		var open []int // tools whose host the model chooses
		for at := range d.Nodes {
			n := &d.Nodes[at]
			k := kinds.For(n)
			if k == nil || k.Tool == nil || n.Tool == nil || n.Disabled || !leads(d, n, agent) {
				continue
			}
			untrusted = untrusted || k.StartsRuns() || k.Untrusted != nil && k.Untrusted(n)
			if private == "" && (len(SentCredentials(n, k)) > 0 || slices.ContainsFunc(d.Edges, func(e flow.Edge) bool { return e.ToNode() == n.ID })) {
				private = NodeTitle(n, k)
			}
			if k.Sends != nil && k.Sends.Field != "" && k.Tool.Offers == nil && !d.IsFed(n.ID, k.Sends.Field) && len(k.Sends.Hosts(n)) == 0 && n.Tool.Approval != flow.ApprovalAlways && len(n.Tool.Hosts) == 0 {
				open = append(open, at)
			}
		}
		for _, at := range open {
			if n := &d.Nodes[at]; untrusted && private != "" {
				title := NodeTitle(n, kinds.For(n))
				problems = append(problems, flow.Problem{Pointer: flow.Pointer("nodes", at, "tool"), Code: "open_destination", Node: n.ID, Detail: fmt.Sprintf(
					"Text from outside could make the agent send private data of %s to any host with %s: set Ask first of %s to always, or list its hosts.", private, title, title)})
			}
		}
	}
	return problems
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
