// Package tests declares the kind of node that runs the cases of a test, and finds out what is known of the run of each case.
package tests

import (
	"context"
	"fmt"
	"maps"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/nodes/expression"
	"sluice/providers"
)

// Store has tests and the runs of their cases.
type Store interface {
	FindTest(ctx context.Context, ws flow.WorkspaceID, id string) (*cases.Test, error)
	FindCaseSet(ctx context.Context, ws flow.WorkspaceID, hash string) (*cases.File, error)
	SaveVerdicts(ctx context.Context, t *cases.Test, first int, list []cases.Verdict) error
	FindDocument(ctx context.Context, ws flow.WorkspaceID, hash string) ([]byte, error)
	// FindCaseSteps returns the steps of a run, with the outputs of webhooks and searches only.
	FindCaseSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error)
	ListChildren(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Children, error)
	ReadChildren(ctx context.Context, ws flow.WorkspaceID, step flow.CallingStep, from, to int) ([]flow.ChildResult, error)
}

// Deps is what the kind needs.
type Deps struct {
	Store Store
	// Await reports whether the step can continue, and Suspension lets it wait for its child runs.
	Await      func(ctx context.Context, in *flow.In, children *flow.Children) (done bool, err error)
	Suspension func(in *flow.In) *flow.Suspension
	Cleanup    func(ctx context.Context, in *flow.In) error
}

// Kind returns the kind that runs the cases of a test for one candidate, and stores the verdicts.
func (d Deps) Kind(group string) flow.Kind {
	return flow.Kind{
		Name: cases.Kind, Title: "Test", Group: group, Icon: "list-tree", Class: flow.Outside, Timeout: flow.ModelTimeout, WaitsFor: flow.WaitsForChildren, Internal: true,
		Summary: "Runs the cases of a test.",
		Fields: []flow.Field{
			{Name: "test", Title: "Test", Type: flow.FieldText, Typed: true, Required: true, Help: "ID of the test."},
			{Name: "candidate", Title: "Candidate", Type: flow.FieldInteger, Typed: true, Required: true, Help: "Index of the candidate."},
			{Name: "check", Title: "Check", Type: flow.FieldInteger, Typed: true, Help: "Number of the group of checks to answer, instead of running the cases."},
			{Name: "verdicts", Title: "Verdicts", Type: flow.FieldBoolean, Typed: true, Help: "Stores the verdicts, instead of running the cases."},
		},
		Inputs: []flow.Port{{Name: "after", Title: "After", Type: flow.TypeAny, List: true, Optional: true, Help: "The steps that must have ended."}},
		Outputs: []flow.Port{
			{Name: "total", Title: "Total", Type: flow.TypeNumber, Help: "How many runs there are."},
			{Name: "passed", Title: "Passed", Type: flow.TypeNumber, Help: "How many of them pass."},
		},
		Run:     d.run,
		Cleanup: d.Cleanup,
	}
}

// run starts a child run for each case and repeat. It stores the verdicts once all have ended, unless other steps of the test answer checks.
func (d Deps) run(ctx context.Context, in *flow.In) (flow.Out, error) {
	t, err := d.Store.FindTest(ctx, in.WorkspaceID, in.Text("test"))
	if err != nil {
		return flow.Out{}, err
	}
	f, err := d.Store.FindCaseSet(ctx, in.WorkspaceID, t.Spec.Set)
	if err != nil {
		return flow.Out{}, err
	}
	p, candidate := cases.NewPlan(t, f), in.Int("candidate")
	switch {
	case in.Config["verdicts"] == true:
		return d.storeVerdicts(ctx, in, p, candidate)
	case in.Int("check") > 0:
		return d.answerChecks(ctx, in, p, candidate, in.Int("check")-1)
	}
	document, err := d.Store.FindDocument(ctx, in.WorkspaceID, t.Spec.Candidates[candidate].Hash)
	if err != nil {
		return flow.Out{}, err
	}
	children, err := in.Children.Start(ctx, flow.ChildRequest{
		Flow: string(t.FlowID), Document: document, Concurrency: t.Spec.Concurrency, KeepErrors: true, MaySkip: true, Case: &flow.CaseRun{Test: t.ID, Candidate: candidate},
		Rows: func(yield func(flow.ChildRow, error) bool) {
			for i := range p.Items {
				if !yield(flow.ChildRow{Number: i + 1, Inputs: p.Items[i].Case.Inputs.Clone()}, nil) {
					return
				}
			}
		},
	})
	if err != nil {
		return flow.Out{}, err
	}
	if done, err := d.Await(ctx, in, children); !done || err != nil {
		return flow.Out{Suspend: d.Suspension(in)}, err
	}
	if len(t.Spec.Groups) > 0 {
		return flow.Out{Outputs: map[string]any{"total": children.Total, "passed": 0}}, nil
	}
	passed, err := d.judge(ctx, in, p, candidate)
	if err != nil {
		return flow.Out{}, err
	}
	return flow.Out{Outputs: map[string]any{"total": children.Total, "passed": passed}}, nil
}

// judgedAtOnce is how many verdicts are stored together.
const judgedAtOnce = 200

// judge stores the verdicts on all runs of a candidate. It returns how many passed.
func (d Deps) judge(ctx context.Context, in *flow.In, p *cases.Plan, candidate int) (passed int, err error) {
	return d.judgeEach(ctx, in, p, candidate, nil)
}

// judgeEach is judge with the outcomes of checks that other steps answered, for runs that pass all cheaper checks.
func (d Deps) judgeEach(ctx context.Context, in *flow.In, p *cases.Plan, candidate int, judged func(item int, v *cases.Verdict) map[int]cases.Outcome) (passed int, err error) {
	var page []cases.Verdict
	first := 0
	save := func() error {
		if len(page) == 0 {
			return nil
		}
		err := d.Store.SaveVerdicts(ctx, p.Test, first, page)
		first, page = first+len(page), page[:0]
		return err
	}
	c := collector{store: d.Store, ws: in.WorkspaceID, paths: map[string]paths{}}
	read := in.Children.Read // of this step, which also keeps the files of the results
	if judged != nil {
		read = func(ctx context.Context, each func(*flow.ChildResult) error) error {
			return d.eachChild(ctx, in, cases.Step(candidate), func(r *flow.ChildResult, _ string) error { return each(r) })
		}
	}
	err = read(ctx, func(r *flow.ChildResult) error {
		if r.Item >= len(p.Items) {
			return fmt.Errorf("the test %s has no item %d", p.ID, r.Item)
		}
		result, err := c.result(ctx, r, p.Spec.Candidates[candidate].Hash)
		if err != nil {
			return err
		}
		item := &p.Items[r.Item]
		v := cases.Evaluate(ctx, p.File, item.Case, result, Tools, nil)
		if judged != nil && v.State == cases.Passed {
			asked := cases.Verdict{}
			v = cases.Evaluate(ctx, p.File, item.Case, result, Tools, judged(r.Item, &asked))
			v.JudgeUSD, v.JudgeSpent = asked.JudgeUSD, asked.JudgeSpent
		}
		v.Candidate, v.Repeat = candidate, item.Repeat
		if v.State == cases.Passed {
			passed++
		}
		if page = append(page, v); len(page) == judgedAtOnce {
			return save()
		}
		return nil
	})
	if err == nil {
		err = save()
	}
	return passed, err
}

// Tools evaluate expressions and schemas of checks.
var Tools = cases.Tools{
	Expression: func(ctx context.Context, source string, variables map[string]any) (any, error) {
		return expression.Evaluate(ctx, source, maps.Clone(variables))
	},
	Schema: providers.CheckValue,
}
