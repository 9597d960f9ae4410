package library

import (
	"context"
	"fmt"

	"sluice/flow"
	"sluice/flow/document"
)

// problemNoFlow is the code of the problem of a node that runs a flow which does not exist.
const problemNoFlow = "flow_not_found"

// Missing returns a problem for each enabled node that runs a flow, or a version of one, that the
// workspace does not have. Documents in among count as flows with their slugs.
func (c *Calls) Missing(ctx context.Context, d *flow.Document, among ...*flow.Document) ([]flow.Problem, error) {
	l := c.Library
	return missing(l, d, among, "in this workspace", func(n *flow.Node) (found bool, err error) {
		called, err := l.calledFlow(ctx, c.WorkspaceID, n)
		if err != nil || called == nil {
			return false, err
		}
		if version, _ := flow.Float(n.Config["version"]); version > 0 {
			below, err := l.calledDocument(ctx, called, n)
			return below != nil, err
		}
		return true, nil
	})
}

// Exists reports whether the workspace has a flow with a slug or ID.
func (c *Calls) Exists(ctx context.Context, ref string) (bool, error) {
	called, err := findRef(ctx, c.Library.Store, c.WorkspaceID, ref)
	return called != nil, err
}

// CheckTogether is Library.Check for documents that may run each other. find reports whether another flow
// exists, by slug or ID; it may be nil. errs has one error, or nil, for each document.
func CheckTogether(l *Library, documents [][]byte, find func(ref string) (bool, error)) (errs []error, err error) {
	parsed, errs := make([]*flow.Document, len(documents)), make([]error, len(documents))
	for i, data := range documents {
		parsed[i], errs[i] = l.Check(data)
	}
	where := "in this workspace"
	if find == nil {
		where, find = "among these files", func(string) (bool, error) { return false, nil }
	}
	for i, d := range parsed {
		if d == nil {
			continue
		}
		problems, err := missing(l, d, parsed, where, func(n *flow.Node) (bool, error) { return find(calledRef(n)) })
		if err != nil {
			return nil, err
		}
		errs[i] = documentInvalid(problems)
	}
	return errs, nil
}

// missing returns a problem for each enabled node that runs a flow which is neither among the
// documents nor found by find. where says where it was looked up.
func missing(l *Library, d *flow.Document, among []*flow.Document, where string, find func(n *flow.Node) (bool, error)) (problems []flow.Problem, err error) {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if !l.runsFlow(n) || n.Disabled || calledRef(n) == "" || isAmong(n, d, among) {
			continue
		}
		found, err := find(n)
		if err != nil {
			return nil, err
		}
		if found {
			continue
		}
		detail := fmt.Sprintf("there is no flow %q %s; create it first, or choose another", calledRef(n), where)
		if version := flow.Text(n.Config["version"]); version != "" {
			detail = fmt.Sprintf("there is no version %s of a flow %q %s", version, calledRef(n), where)
		}
		problems = append(problems, flow.Problem{Pointer: flow.Pointer("nodes", i, "config", "flow"), Code: problemNoFlow, Node: n.ID, Detail: detail})
	}
	return problems, nil
}

// isAmong reports whether a node of d runs the flow that one of the other documents becomes.
func isAmong(n *flow.Node, d *flow.Document, among []*flow.Document) bool {
	for _, other := range among {
		if other != nil && other != d && n.Config["version"] == nil && document.WantedSlug(other) == calledRef(n) {
			return true
		}
	}
	return false
}
