package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/engine"
)

// Rerun starts a new run of another run's document. Results of the parent that
// are still valid are reused.
func (r *Runner) Rerun(ctx context.Context, s flow.Rerun) (flow.Started, error) {
	return r.acceptOnce(ctx, s.Start, func() (flow.Started, error) { return r.startRerun(ctx, s) })
}

// startRerun starts a run that repeats an ended one, with its inputs unless others are given.
// It executes the same document, even if another version is live now, except that a test
// run executes the current draft. The engine then reuses results of the earlier run.
func (r *Runner) startRerun(ctx context.Context, s flow.Rerun) (flow.Started, error) {
	parent, err := r.store.FindRun(ctx, s.WorkspaceID, s.FlowID, s.ParentRunID)
	if err != nil {
		return flow.Started{}, err
	}
	if parent.Erased != "" {
		return flow.Started{}, flow.Errorf(parent.Erased, "The content of this run is gone, so it cannot be run again. Start a new run.")
	}
	if !parent.State.Ended() {
		return flow.Started{}, flow.Errorf(flow.CodeRunNotEnded, "The run has not ended. Wait for its end or cancel it, then run it again.")
	}
	n := newRerun(ctx, r, s, parent)
	c, err := r.resolveRerunDocument(ctx, s, parent, n)
	if err != nil {
		return flow.Started{}, err
	}
	if s.From != "" && !c.graph.HasStep(s.From) {
		return flow.Started{}, optionError("/from", "unknown", fmt.Sprintf("this run has no node %q", s.From))
	}
	if err := addEdits(ctx, r.store, s, parent, n, c.graph); err != nil {
		return flow.Started{}, err
	}
	inputs := requiredInputs(c, n.Steps)
	given := parent.Inputs.Clone()
	if s.Given != nil {
		given = s.Given
	} else if s.TestRun != nil {
		given = dropUnknown(inputs, given)
	}
	if s.Given == nil {
		if err := r.inheritSecrets(ctx, parent, inputs, given); err != nil {
			return flow.Started{}, err
		}
	}
	if err := r.setInputs(ctx, s.Start, n, inputs, given, flow.Pointer("inputs")); err != nil {
		return flow.Started{}, err
	}
	return r.createRun(ctx, s.Start, n, c)
}

// inheritSecrets puts the parent's secret inputs into the given values. A rerun with
// inputs of its own inherits none: a caller who chooses where a flow sends something
// must know the secret that goes there.
func (r *Runner) inheritSecrets(ctx context.Context, parent *flow.Run, inputs []contract.Input, given *flow.Object) error {
	if !slices.ContainsFunc(inputs, func(in contract.Input) bool { return in.Secret }) {
		return nil
	}
	texts, err := r.store.RunSecrets(ctx, parent.WorkspaceID, parent.ID)
	if err != nil {
		return fmt.Errorf("open the secret inputs of %s: %w", parent.ID, err)
	}
	for i := range inputs {
		if text, ok := texts[inputs[i].Name]; ok && inputs[i].Secret {
			given.Set(inputs[i].Name, text)
		}
	}
	return nil
}

// newRerun returns a run that still lacks its document and inputs. It inherits the
// parent's metadata, retention, time limit and limit in dollars, but not its webhook.
func newRerun(ctx context.Context, r *Runner, s flow.Rerun, parent *flow.Run) *flow.NewRun {
	n := r.newRun(ctx, s.Start)
	n.Run.FlowSlug = parent.FlowSlug
	n.Run.ParentRunID, n.Run.RerunFrom, n.Run.SkipFailed = parent.ID, s.From, s.SkipFailed
	switch n.Run.ChildVersions = s.ChildVersions; {
	case s.ChildVersions == flow.ChildrenRecorded && parent.ChildVersions == flow.ChildrenDraft:
		n.Run.ChildVersions = flow.ChildrenDraft // for flows that are run for the first time, and those below
	case s.ChildVersions == flow.ChildrenDraft && !parent.Draft && s.TestRun == nil:
		n.Run.ChildVersions = flow.ChildrenRecorded // a published version keeps doing what was published
	}
	n.Run.Continues, n.Run.ContextHash = parent.Continues, parent.ContextHash
	n.Run.Untrusted |= parent.Untrusted & flow.UntrustedInputs
	n.Run.Metadata, n.Run.Timeout, n.Run.Save = parent.Metadata, parent.Timeout, parent.Save
	limitCost(&n.Run, parent.MaxUSD)
	return n
}

// resolveRerunDocument finds the document of a rerun and sets it in the new run:
// the parent's document or, in the builder, the current draft.
func (r *Runner) resolveRerunDocument(ctx context.Context, s flow.Rerun, parent *flow.Run, n *flow.NewRun) (*compiledDocument, error) {
	if s.Work != nil { // a test with the cases of an earlier one
		return useWork(ctx, r, s.Start, n)
	}
	if s.TestRun == nil {
		run := &n.Run
		run.Trigger, run.Version, run.Draft, run.DocumentHash = flow.TriggerRerun, parent.Version, parent.Draft, parent.DocumentHash
		if parent.Trigger.Work() != "" {
			run.Trigger = parent.Trigger
		}
		return r.documents.find(ctx, s.WorkspaceID, parent.DocumentHash)
	}
	f, err := r.store.FindFlow(ctx, s.WorkspaceID, s.FlowID)
	if err != nil {
		return nil, err
	}
	c, err := r.useDraft(s.Start, f, n)
	if err != nil {
		return nil, err
	}
	return c, r.addPinnedSteps(ctx, s.Start, n, c.graph)
}

// dropUnknown returns the given values that the inputs still include: the draft may
// have changed since the parent ran.
func dropUnknown(inputs []contract.Input, given *flow.Object) *flow.Object {
	known := &flow.Object{}
	for name, v := range given.All() {
		if slices.ContainsFunc(inputs, func(in contract.Input) bool { return in.Name == name }) {
			known.Set(name, v)
		}
	}
	return known
}

// addEdits gives a rerun the arguments that people have changed: those of the call at s.From, and those
// of former reruns that are still before it.
func addEdits(ctx context.Context, store Store, s flow.Rerun, parent *flow.Run, n *flow.NewRun, g *engine.Graph) error {
	var edits []flow.Step
	if parent.ParentRunID != "" {
		heads, err := store.FindStepHeads(ctx, s.WorkspaceID, parent.ID, "")
		if err != nil {
			return err
		}
		for i := range heads {
			if h := &heads[i]; h.Kind == flow.EditKind && isKept(g, h, s.From) {
				old, err := store.FindStep(ctx, s.WorkspaceID, parent.ID, h.Path)
				if err != nil {
					return err
				}
				edits = append(edits, *old)
			}
		}
	}
	if s.Arguments != nil {
		edit, err := editCall(ctx, store, s, parent, g)
		if err != nil {
			return err
		}
		edits = append(edits, edit)
	}
	for i := range edits {
		n.Run.Seq++
		edits[i].Seq, edits[i].StartedAt, edits[i].EndedAt = n.Run.Seq, n.Run.CreatedAt, n.Run.CreatedAt
	}
	n.Steps = append(n.Steps, edits...)
	return nil
}

// isKept reports whether a rerun that begins at from still makes a call whose arguments were changed.
func isKept(g *engine.Graph, edit *flow.Step, from string) bool {
	node, name, _ := strings.Cut(from, flow.SubSeparator)
	if name == "" || node != edit.Node {
		return from == "" || !g.Depends(edit.Node, from)
	}
	return flow.CompareSubSteps(strings.TrimSuffix(edit.Path, flow.EditSuffix), from) < 0
}

// editCall returns the sub-step with the new arguments of the call at s.From.
func editCall(ctx context.Context, store Store, s flow.Rerun, parent *flow.Run, g *engine.Graph) (flow.Step, error) {
	unknown := optionError("/from", "unknown", "arguments need the path of a call of this run, such as agent.3.1")
	asked, number, ok := flow.CallOf(s.From)
	if !ok {
		return flow.Step{}, unknown
	}
	call, err := store.FindStep(ctx, s.WorkspaceID, parent.ID, s.From)
	if err != nil {
		return flow.Step{}, err
	}
	turn, err := store.FindStep(ctx, s.WorkspaceID, parent.ID, asked)
	if err != nil {
		return flow.Step{}, err
	}
	if call == nil || turn == nil {
		return flow.Step{}, unknown
	}
	return g.EditCall(call, turn, number, s.Arguments)
}
