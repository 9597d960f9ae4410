package library

import (
	"context"

	"sluice/flow"
	"sluice/flow/document"
)

// below returns the function that finds the flows which nodes run: the versions that would run now.
func below(ctx context.Context, l *Library, ws flow.WorkspaceID) document.Below {
	return func(n *flow.Node) (*flow.Flow, *flow.Document, error) {
		f, err := l.calledFlow(ctx, ws, n)
		if err != nil || f == nil {
			return nil, nil, err
		}
		d, err := l.calledDocument(ctx, f, n)
		return f, d, err
	}
}

// reaches finds out what the flows that are tools in a document can do. The function that it returns has the reach of a node, or
// nil for a node that is not such a tool.
func reaches(ctx context.Context, l *Library, ws flow.WorkspaceID, d *flow.Document) (func(n *flow.Node) *document.Reach, error) {
	known := map[string]*document.Reach{} // by what the node runs
	key := func(n *flow.Node) string { return calledRef(n) + "@" + flow.Text(n.Config["version"]) }
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Tool == nil || !l.runsFlow(n) || known[key(n)] != nil {
			continue
		}
		r, err := document.ReachOfNode(n, l.Kinds, below(ctx, l, ws))
		if err != nil {
			return nil, err
		}
		known[key(n)] = r
	}
	return func(n *flow.Node) *document.Reach { return known[key(n)] }, nil
}

// AgentWrites lists, for each agent of a document, the nodes that change something when the agent calls its tools, also in the
// flows that are tools.
func AgentWrites(ctx context.Context, l *Library, ws flow.WorkspaceID, d *flow.Document) ([]document.AgentReach, error) {
	reach, err := reaches(ctx, l, ws, d)
	if err != nil {
		return nil, err
	}
	return document.AgentWrites(d, l.Kinds, reach), nil
}

// leakProblems returns document.LeakProblems of a document that a flow would publish.
func leakProblems(ctx context.Context, l *Library, ws flow.WorkspaceID, d *flow.Document) ([]flow.Problem, error) {
	reach, err := reaches(ctx, l, ws, d)
	if err != nil {
		return nil, err
	}
	return document.LeakProblems(d, l.Kinds, reach), nil
}
