package library

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/document"
)

// Allow returns an error if the caller may not use a flow. f is nil for a flow that does not
// exist, or would be created.
type Allow func(f *flow.Flow) error

// Calls checks which flows a caller starts through documents. A key with a list of flows may change
// these flows, so without this check it could start any other flow of its workspace by naming that
// one in a document.
type Calls struct {
	Library     *Library
	WorkspaceID flow.WorkspaceID
	Allow       Allow // nil for a caller that may use all flows
}

// Check returns CodeFlowNotAllowed, with the nodes, if a document runs a flow that Allow
// rejects. Flows that one of the earlier documents runs already are exempt: the caller gains
// nothing. Earlier documents may be nil. A node that is disabled runs nothing, but its ports show
// the inputs and outputs of the flow, so it is exempt only if an earlier node names that flow.
func (c *Calls) Check(ctx context.Context, d *flow.Document, earlier ...*flow.Document) error {
	if c.Allow == nil || d == nil {
		return nil
	}
	var exempt *calledFlows // read when it is needed
	var problems []flow.Problem
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if !c.Library.runsFlow(n) || calledRef(n) == "" {
			continue
		}
		called, err := c.Library.calledFlow(ctx, c.WorkspaceID, n)
		if err != nil {
			return err
		}
		if c.Allow(called) == nil {
			continue
		}
		if exempt == nil {
			if exempt, err = c.list(ctx, earlier); err != nil {
				return err
			}
		}
		if !exempt.include(n, called) {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer("nodes", i, "config", "flow"), Code: string(flow.CodeFlowNotAllowed), Node: n.ID,
				Detail: fmt.Sprintf("the node %q runs %q, which is not in the list of flows of this key", n.ID, calledRef(n))})
		}
	}
	return callsNotAllowed(problems)
}

// callsNotAllowed returns the error for nodes that run flows which the caller may not use, or nil.
func callsNotAllowed(problems []flow.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &flow.Error{Code: flow.CodeFlowNotAllowed, Fields: problems,
		Message: "The document runs flows that this key may not call. Remove these nodes, or use a key that may call the flows."}
}

// CheckDrafts is Check for a run that executes the drafts of the flows that its document
// runs, and of those below them: a draft may be run only by a caller that may use its flow, so
// nothing is exempt.
func (c *Calls) CheckDrafts(ctx context.Context, d *flow.Document) error {
	if c.Allow == nil || d == nil {
		return nil
	}
	seen := map[flow.FlowID]bool{}
	for open := []*flow.Document{d}; len(open) > 0; open = open[1:] {
		for i := range open[0].Nodes {
			n := &open[0].Nodes[i]
			if !c.Library.runsFlow(n) || n.Disabled {
				continue
			}
			called, err := c.Library.calledFlow(ctx, c.WorkspaceID, n)
			switch {
			case err != nil:
				return err
			case called == nil || seen[called.ID]:
				continue // a missing flow cannot run
			case c.Allow(called) != nil:
				return flow.Errorf(flow.CodeFlowNotAllowed, "The run would execute drafts of flows that this key may not call. Run it without children: draft.")
			}
			seen[called.ID] = true
			if below, _ := document.ParseDocument(called.Draft); below != nil {
				open = append(open, below)
			}
		}
	}
	return nil
}

// CheckDraft is Check for a document that becomes the draft of a flow.
func (c *Calls) CheckDraft(ctx context.Context, f *flow.Flow, d *flow.Document) error {
	draft, _ := document.ParseDocument(f.Draft)
	return c.Check(ctx, d, draft)
}

// CheckAny is Check for a document that may become the draft of any of some flows.
func (c *Calls) CheckAny(ctx context.Context, d *flow.Document, flows []flow.Flow) error {
	var drafts []*flow.Document
	for i := range flows {
		draft, _ := document.ParseDocument(flows[i].Draft)
		drafts = append(drafts, draft)
	}
	return c.Check(ctx, d, drafts...)
}

// CheckApplied is CheckDraft for documents that become the drafts of the flows with their slugs. It
// also returns an error if the caller may not use one of these flows, or a flow is missing and the
// caller may not create it.
func (c *Calls) CheckApplied(ctx context.Context, documents []*flow.Document) error {
	if c.Allow == nil {
		return nil
	}
	for i, d := range documents {
		if d == nil {
			continue
		}
		f, err := findSlug(ctx, c.Library.Store, c.WorkspaceID, document.WantedSlug(d))
		if err == nil {
			err = c.Allow(f)
		}
		if err == nil && f != nil {
			err = inDocument(i, c.CheckDraft(ctx, f, d))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inDocument puts the place of a document before the pointers of an error about it.
func inDocument(i int, err error) error {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok {
		return err
	}
	located := *e
	located.Fields = slices.Clone(e.Fields)
	for j := range located.Fields {
		located.Fields[j].Pointer = flow.Pointer("documents", i) + located.Fields[j].Pointer
	}
	return &located
}

// CheckAlias returns an error if the caller may not use the flow that has, or had, a slug: requests
// with the slug would no longer reach that flow once another one takes it.
func (c *Calls) CheckAlias(ctx context.Context, slug string) error {
	if c.Allow == nil || slug == "" {
		return nil
	}
	holder, err := findSlug(ctx, c.Library.Store, c.WorkspaceID, slug)
	if err != nil || holder == nil {
		return err
	}
	return c.Allow(holder)
}

// CheckVersion is Check for a version of a flow that is to run or to become live. It may run what
// the live version and the draft run.
func (c *Calls) CheckVersion(ctx context.Context, f *flow.Flow, version int64) error {
	if c.Allow == nil || version == f.LiveVersion {
		return nil
	}
	d, err := c.Library.Document(ctx, f.WorkspaceID, f.ID, version)
	if flow.IsNotFound(err) {
		return nil // then it cannot run, for which there is another error
	}
	if err != nil {
		return err
	}
	return c.checkEarlier(ctx, f, d)
}

// checkEarlier is Check for a document that a flow had. It may run what the live version and the
// draft run.
func (c *Calls) checkEarlier(ctx context.Context, f *flow.Flow, d *flow.Document) error {
	draft, _ := document.ParseDocument(f.Draft)
	live, err := c.Library.liveDocument(ctx, f)
	if err != nil {
		return err
	}
	return c.Check(ctx, d, draft, live)
}

// CheckStart checks the options of a start. The live version and the draft may run what they name.
func (c *Calls) CheckStart(ctx context.Context, flowID flow.FlowID, o flow.RunOptions) error {
	if c.Allow == nil || o.Version == 0 && o.Children != flow.ChildrenDraft {
		return nil
	}
	f, err := c.Library.Store.FindFlow(ctx, c.WorkspaceID, flowID)
	if err != nil {
		return err
	}
	if o.Children == flow.ChildrenDraft {
		draft, _ := document.ParseDocument(f.Draft)
		return c.CheckDrafts(ctx, draft)
	}
	return c.CheckVersion(ctx, f, o.Version)
}

// CheckRerun checks a run that repeats an earlier one.
func (c *Calls) CheckRerun(ctx context.Context, parent *flow.Run) error {
	if c.Allow == nil {
		return nil
	}
	data, err := c.Library.Store.FindDocument(ctx, c.WorkspaceID, parent.DocumentHash)
	if flow.IsNotFound(err) {
		return nil // then it cannot run
	}
	if err != nil {
		return err
	}
	f, err := c.Library.Store.FindFlow(ctx, c.WorkspaceID, parent.FlowID)
	if err != nil {
		return err
	}
	d, _ := document.ParseDocument(data)
	if err := c.checkEarlier(ctx, f, d); err != nil || parent.ChildVersions != flow.ChildrenDraft {
		return err
	}
	return c.CheckDrafts(ctx, d)
}

// calledFlows are the flows that documents name: by the text in the node and, if the flow exists,
// by its ID. The value is true if an enabled node names it.
type calledFlows struct {
	refs map[string]bool
	ids  map[flow.FlowID]bool
}

// list returns the flows that documents name.
func (c *Calls) list(ctx context.Context, documents []*flow.Document) (*calledFlows, error) {
	named := &calledFlows{map[string]bool{}, map[flow.FlowID]bool{}}
	for _, d := range documents {
		if d == nil {
			continue
		}
		for i := range d.Nodes {
			n := &d.Nodes[i]
			if !c.Library.runsFlow(n) {
				continue
			}
			called, err := c.Library.calledFlow(ctx, c.WorkspaceID, n)
			if err != nil {
				return nil, err
			}
			if called != nil {
				named.ids[called.ID] = named.ids[called.ID] || !n.Disabled
			} else {
				named.refs[calledRef(n)] = named.refs[calledRef(n)] || !n.Disabled
			}
		}
	}
	return named, nil
}

// include reports whether the flow of a node is among them; called is nil if it does not exist.
func (c *calledFlows) include(n *flow.Node, called *flow.Flow) bool {
	runs, named := c.refs[calledRef(n)]
	if called != nil {
		runs, named = c.ids[called.ID]
	}
	return runs || named && n.Disabled
}
