package jobs

import (
	"context"
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/redaction"
)

// Bounds of a run that becomes a test case, with the runs below it.
const (
	maxPastRuns  = 1_000
	maxPastSteps = 20_000
)

// pastFinder finds what a run that has ended gives to a test case. It serves one call.
type pastFinder struct {
	r       *Runner
	secrets redaction.Redactor // of texts that recordings leave out
	runs    int
	steps   int
	out     *cases.Past
}

// pastRun is a run with what it recorded.
type pastRun struct {
	*flow.Run
	document  *compiledDocument
	steps     []flow.Step
	approvals []flow.Approval
	below     map[string][]*pastRun // by the path of the step that started them
}

// PastOf returns a function that finds what a run that has ended, with the runs below it, gives to a test case. What services
// returned under names of secrets is removed from all of it, wherever else it appears.
func PastOf(r *Runner) func(ctx context.Context, run *flow.Run) (*cases.Past, error) {
	return func(ctx context.Context, run *flow.Run) (*cases.Past, error) {
		f := &pastFinder{r: r, out: &cases.Past{Modeled: map[string]bool{}, Answers: map[string]flow.CaseAnswer{}, Failed: map[string]*flow.Error{}}}
		tree, err := f.read(ctx, run)
		if err != nil {
			return nil, err
		}
		f.clean(tree, true)
		if err := f.inputs(tree); err != nil {
			return nil, err
		}
		if _, err := f.add(ctx, tree, true); err != nil {
			return nil, err
		}
		if len(tree.Context) > 0 {
			f.out.Memory, _ = flow.AsObject(flow.Ordered(tree.Context))
		}
		outputs, _ := flow.AsObject(f.secrets.Value(run.Outputs))
		if f.out.Outputs = outputs; outputs == nil {
			f.out.Outputs = &flow.Object{}
		}
		f.out.Origin, err = r.originOf(ctx, run, "")
		return f.out, err
	}
}

// read reads a run and those below it, and collects the secrets in results.
func (f *pastFinder) read(ctx context.Context, run *flow.Run) (*pastRun, error) {
	r := &pastRun{Run: run, below: map[string][]*pastRun{}}
	var err error
	if r.document, err = f.r.documents.find(ctx, run.WorkspaceID, run.DocumentHash); err != nil {
		return nil, err
	}
	if r.steps, err = f.r.store.FindSteps(ctx, run.WorkspaceID, run.ID); err != nil {
		return nil, err
	}
	if r.approvals, err = f.r.store.ListApprovals(ctx, run.WorkspaceID, run.ID); err != nil {
		return nil, err
	}
	f.runs, f.steps = f.runs+1, f.steps+len(r.steps)
	if f.runs > maxPastRuns || f.steps > maxPastSteps {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The run is too large for a test case: the limit is %d runs below it and %d steps.", maxPastRuns, maxPastSteps)
	}
	if err := loadContext(ctx, f.r, run); err != nil {
		return nil, err
	}
	r.document.graph.SecretTexts(r.steps, func(text string) { f.secrets.Add(text) })
	if !r.document.starts {
		return r, nil
	}
	list, err := f.r.store.ListChildren(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return nil, err
	}
	last := map[string]*flow.Children{} // later attempts replace earlier ones
	for i := range list {
		if c := last[list[i].Caller.Path]; c == nil || c.Caller.Round < list[i].Caller.Round {
			last[list[i].Caller.Path] = &list[i]
		}
	}
	for path, c := range last {
		if c.Total > maxPastRuns {
			return nil, flow.Errorf(flow.CodeInputInvalid, "The run is too large for a test case: %s started %d runs; the limit is %d.", path, c.Total, maxPastRuns)
		}
		results, err := f.r.store.ReadChildren(ctx, run.WorkspaceID, c.Caller, 0, max(0, c.Total))
		if err != nil {
			return nil, err
		}
		for i := range results {
			if results[i].RunID == "" {
				continue
			}
			child, err := f.r.store.FindRun(ctx, run.WorkspaceID, "", results[i].RunID)
			if err != nil {
				return nil, fmt.Errorf("find the child run %s: %w", results[i].RunID, err)
			}
			if child.Erased != "" {
				continue
			}
			below, err := f.read(ctx, child)
			if err != nil {
				return nil, err
			}
			r.below[path] = append(r.below[path], below)
		}
	}
	return r, nil
}

// clean removes the secrets from all that the steps of a run, and of those below it, passed on.
func (f *pastFinder) clean(r *pastRun, top bool) {
	if f.secrets.Empty() {
		return
	}
	own := *r.Run
	if !top {
		own.Inputs, _ = flow.AsObject(f.secrets.Value(r.Inputs))
	}
	own.Context, _ = flow.AsMap(f.secrets.Value(r.Run.Context))
	r.Run = &own
	for i := range r.steps {
		s := &r.steps[i]
		s.Outputs, _ = flow.AsMap(f.secrets.Value(s.Outputs))
		s.Input, _ = flow.AsMap(f.secrets.Value(s.Input))
	}
	for _, list := range r.below {
		for _, child := range list {
			f.clean(child, false)
		}
	}
}

// inputs sets the inputs of the case.
func (f *pastFinder) inputs(r *pastRun) error {
	f.out.Inputs = &flow.Object{}
	stored := map[string]map[string]any{}
	for i := range r.steps {
		stored[r.steps[i].Path] = r.steps[i].Outputs
	}
	for i := range r.document.inputs {
		in := &r.document.inputs[i]
		v, given := r.Inputs.Lookup(in.Name)
		switch {
		case !given || v == nil:
		case in.Secret:
			f.out.Secrets = append(f.out.Secrets, in.Name)
		case len(in.RemoteFiles(v)) > 0:
			file, fetched := stored[in.Node]["value"]
			if !fetched {
				return flow.Errorf(flow.CodeInputInvalid, "The file of the input %q was not fetched. Choose another run.", in.Name)
			}
			f.out.Inputs.Set(in.Name, file)
		default:
			f.out.Inputs.Set(in.Name, v)
		}
	}
	return nil
}

// add adds the recordings and answers of a run, and of those below it. It reports whether a model was called.
func (f *pastFinder) add(ctx context.Context, r *pastRun, top bool) (modeled bool, err error) {
	p, err := r.document.graph.Past(ctx, f.r.cfg.Files, r.Run, r.steps)
	if err != nil {
		return false, err
	}
	f.out.Recordings = append(f.out.Recordings, p.Recordings...)
	f.out.Unrecorded = append(f.out.Unrecorded, p.Unrecorded...)
	for i := range r.approvals {
		f.answer(&r.approvals[i])
	}
	for i := range r.steps {
		path := r.steps[i].Path
		for _, child := range r.below[path] {
			below, err := f.add(ctx, child, false)
			if err != nil {
				return false, err
			}
			if below {
				node, _, _ := strings.Cut(path, flow.SubSeparator)
				p.Models[node] = true
			}
		}
	}
	if top {
		f.out.Failed, f.out.Modeled = p.Failed, r.document.graph.OutputsAfter(p.Models)
	}
	return len(p.Models) > 0, nil
}

// answer adds the answer to a question. The first of several with the same node stays.
func (f *pastFinder) answer(a *flow.Approval) {
	node := a.Node
	if a.Question.Call != nil {
		node = a.Question.Call.Node
	}
	if _, has := f.out.Answers[node]; has || a.Decision == nil {
		return
	}
	answer := flow.CaseAnswer{Decision: a.Decision.Outcome, Comment: a.Decision.Comment, By: a.Decision.By.Name}
	for _, v := range a.Question.Values { // in their order
		if now, edited := a.Decision.Values[v.Name]; edited {
			if answer.Values == nil {
				answer.Values = &flow.Object{}
			}
			answer.Values.Set(v.Name, now)
		}
	}
	f.out.Answers[node] = answer
}
