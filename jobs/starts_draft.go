package jobs

import (
	"context"
	"fmt"
	"slices"

	"sluice/flow"
)

// draftFor makes a run one of the draft as it is now. Its text must be stored
// with the run.
func (r *Runner) useDraft(s flow.Start, f *flow.Flow, run *flow.Run) ([]byte, *compiledDocument, error) {
	until := ""
	if s.Trial != nil {
		until = s.Trial.Until
	}
	doc, c, err := r.compileDraft(f, until)
	run.Draft, run.DocumentHash = true, flow.Hash(doc)
	return doc, c, err
}

// draft is the draft, or the part of it that a node depends on: problems
// elsewhere do not keep that part from running.
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

func (r *Runner) draftUpstream(f *flow.Flow, until string) ([]byte, error) {
	d, _ := flow.ParseDocument(f.Draft)
	if d == nil || d.Node(until) == nil {
		return nil, optionError("/until", "unknown", fmt.Sprintf("the draft has no node %q", until))
	}
	if d.Node(until).Disabled {
		return nil, optionError("/until", "disabled", fmt.Sprintf("the node %q is disabled; enable it to run it", until))
	}
	if k := r.documents.kinds.Find(d.Node(until).Kind); k != nil && k.Role == flow.RoleCanvas {
		return nil, optionError("/until", "invalid", fmt.Sprintf("%q is a note; there is nothing to run", until))
	}
	return d.Upstream(until, r.documents.kinds).Canonical(), nil
}

// ahead gives a trial the steps that it has from its start.
func (r *Runner) addPinnedSteps(ctx context.Context, s flow.Start, run *flow.Run, n *flow.NewRun, g *flow.Graph) error {
	if s.Trial == nil {
		return nil
	}
	pins, err := r.store.ListPins(ctx, s.WorkspaceID, s.FlowID)
	if err != nil {
		return fmt.Errorf("find what is pinned: %w", err)
	}
	n.Steps = g.StepsAhead(pins, s.Trial.Until, run.CreatedAt)
	for i := range n.Steps {
		run.Seq++
		n.Steps[i].Seq = run.Seq
		n.Files = append(n.Files, flow.FileIDs(n.Steps[i].Outputs)...)
	}
	run.Progress.Done = len(n.Steps)
	return nil
}

// asked are the inputs that somebody must give: not those of steps that are
// skipped from the start.
func requiredInputs(c *compiledDocument, ahead []flow.Step) []flow.Input {
	return slices.DeleteFunc(slices.Clone(c.inputs), func(in flow.Input) bool {
		return slices.ContainsFunc(ahead, func(s flow.Step) bool { return s.Node == in.Node })
	})
}

// known leaves out what the draft does not ask for any more.
func dropUnknown(inputs []flow.Input, given map[string]any) map[string]any {
	m := map[string]any{}
	for _, in := range inputs {
		if v, ok := given[in.Name]; ok {
			m[in.Name] = v
		}
	}
	return m
}

// TrialInputs are the inputs that a trial of the draft asks for. A draft that
// cannot run is an error whose Fields tell each of its problems.
func (r *Runner) TrialInputs(ctx context.Context, ws, flowID, until string) ([]flow.Input, error) {
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
		return nil, fmt.Errorf("find what is pinned: %w", err)
	}
	return requiredInputs(c, c.graph.StepsAhead(pins, until, r.now())), nil
}
