package jobs

import (
	"context"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/engine"
)

// useDraft sets the current draft in the new run. Its text is committed with the
// run, so later edits do not affect the run.
func (r *Runner) useDraft(s flow.Start, f *flow.Flow, n *flow.NewRun) (*compiledDocument, error) {
	until := ""
	if s.TestRun != nil {
		until = s.TestRun.Until
	}
	doc, c, err := r.compileDraft(f, until)
	if err != nil {
		return nil, err
	}
	n.Document, n.Run.Draft, n.Run.DocumentHash = doc, true, flow.DocumentHash(doc)
	return c, nil
}

// compileDraft compiles the draft or, if until is the ID of a node, only that node
// and what it depends on. Problems in the rest of the draft do not prevent that
// part from running.
func (r *Runner) compileDraft(f *flow.Flow, until string) (doc []byte, c *compiledDocument, err error) {
	doc = f.Draft
	if until != "" {
		if doc, err = r.draftUpstream(f, until); err != nil {
			return nil, nil, err
		}
	}
	if c, err = r.documents.compile(doc); err != nil {
		return nil, nil, &flow.Error{Code: flow.CodeInputInvalid, Message: "The draft has problems that keep it from running.", Fields: flow.AsError(err).Fields}
	}
	return doc, c, nil
}

// draftUpstream returns the part of the draft that ends at a node.
func (r *Runner) draftUpstream(f *flow.Flow, until string) ([]byte, error) {
	d, _ := document.ParseDocument(f.Draft)
	if d == nil || d.Node(until) == nil {
		return nil, optionError("/until", "unknown", fmt.Sprintf("the draft has no node %q", until))
	}
	if d.Node(until).Disabled {
		return nil, optionError("/until", "disabled", fmt.Sprintf("the node %q is disabled; enable it to run it", until))
	}
	if k := r.documents.kinds.Find(d.Node(until).Kind); k != nil && k.Role == flow.RoleCanvas {
		return nil, optionError("/until", "invalid", fmt.Sprintf("%q is a note; there is nothing to run", until))
	}
	return document.Upstream(d, until, r.documents.kinds).Compact(), nil
}

// addPinnedSteps gives a test run in the builder the steps that do not run because
// of pinned outputs. They are committed with the run, so a later change of the pins
// does not affect it. Other runs ignore pins.
func (r *Runner) addPinnedSteps(ctx context.Context, s flow.Start, n *flow.NewRun, g *engine.Graph) error {
	if s.TestRun == nil {
		return nil
	}
	pins, err := r.store.ListPins(ctx, s.WorkspaceID, s.FlowID)
	if err != nil {
		return fmt.Errorf("list pins: %w", err)
	}
	n.Steps = g.InitialSteps(pins, s.TestRun.Until, n.Run.CreatedAt)
	for i := range n.Steps {
		n.Run.Seq++
		n.Steps[i].Seq = n.Run.Seq
		n.Files = append(n.Files, flow.FileIDs(n.Steps[i].Outputs)...)
	}
	n.Run.Progress.Done = len(n.Steps)
	return nil
}

// requiredInputs returns the inputs that the caller must give. Input nodes that
// pinned steps make unnecessary are left out.
func requiredInputs(c *compiledDocument, pinned []flow.Step) []contract.Input {
	return slices.DeleteFunc(slices.Clone(c.inputs), func(in contract.Input) bool {
		return slices.ContainsFunc(pinned, func(s flow.Step) bool { return s.Node == in.Node })
	})
}

// DraftInputs returns the inputs of a test run of the draft up to a node, or of the
// whole draft if until is empty. The error for a draft that cannot run lists all
// of its problems in Fields.
func (r *Runner) DraftInputs(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, until string) ([]contract.Input, error) {
	f, err := r.store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	_, c, err := r.compileDraft(f, until)
	if err != nil {
		return nil, err
	}
	pins, err := r.store.ListPins(ctx, ws, flowID)
	if err != nil {
		return nil, fmt.Errorf("list pins: %w", err)
	}
	return requiredInputs(c, c.graph.InitialSteps(pins, until, r.now())), nil
}
