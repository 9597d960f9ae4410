package tests

import (
	"context"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/cases"
)

// childPage is how many results are read at once.
const childPage = 500

// childrenAt returns the child runs of the last attempt of a step of the test; nil if it started none.
func (d Deps) childrenAt(ctx context.Context, in *flow.In, path string) (found *flow.Children, err error) {
	list, err := d.Store.ListChildren(ctx, in.WorkspaceID, in.RunID)
	for i := range list {
		if list[i].Caller.Path == path && (found == nil || found.Caller.Round < list[i].Caller.Round) {
			found = &list[i]
		}
	}
	return found, err
}

// eachChild calls each with the results of the child runs of a step, in order, and with the hash of their document.
func (d Deps) eachChild(ctx context.Context, in *flow.In, path string, each func(r *flow.ChildResult, hash string) error) error {
	children, err := d.childrenAt(ctx, in, path)
	if err != nil || children == nil {
		return err
	}
	for from := 0; from < children.Total; from += childPage {
		page, err := d.Store.ReadChildren(ctx, in.WorkspaceID, children.Caller, from, min(from+childPage, children.Total))
		if err != nil {
			return err
		}
		for i := range page {
			if err := each(&page[i], children.DocumentHash); err != nil {
				return err
			}
		}
	}
	return nil
}

// results returns what is known of the runs of a candidate, by item.
func (d Deps) results(ctx context.Context, in *flow.In, p *cases.Plan, candidate int) ([]*cases.Result, error) {
	c := collector{store: d.Store, ws: in.WorkspaceID, paths: map[string]paths{}}
	list := make([]*cases.Result, len(p.Items))
	err := d.eachChild(ctx, in, cases.Step(candidate), func(r *flow.ChildResult, hash string) error {
		if r.Item >= len(list) {
			return fmt.Errorf("the test %s has no item %d", p.ID, r.Item)
		}
		result, err := c.result(ctx, r, hash)
		list[r.Item] = result
		return err
	})
	return list, err
}

// questions are the runs of a candidate that checks ask about.
type questions struct {
	passing  []*cases.Result // those that pass all cheaper checks, by item
	baseline []*cases.Result // of the baseline; nil if no check compares with it
}

// questions returns the runs of a candidate that checks ask about.
func (d Deps) questions(ctx context.Context, in *flow.In, p *cases.Plan, candidate int, against bool) (q questions, err error) {
	if q.passing, err = d.results(ctx, in, p, candidate); err != nil {
		return q, err
	}
	for i, r := range q.passing {
		if r != nil && cases.Evaluate(ctx, p.File, p.Items[i].Case, r, Tools, nil).State != cases.Passed {
			q.passing[i] = nil
		}
	}
	if b := p.Spec.Baseline; against && b >= 0 && b != candidate {
		if q.baseline, err = d.results(ctx, in, p, b); err != nil {
			return q, err
		}
		for i, r := range q.baseline {
			if r != nil && r.State != flow.RunSucceeded {
				q.baseline[i] = nil
			}
		}
	}
	return q, nil
}

// asks returns the questions of a group of checks about these runs.
func (q *questions) asks(p *cases.Plan, g *cases.Group) []cases.Ask {
	if !g.Against {
		return p.Asks(g, q.passing, nil)
	}
	return p.Asks(g, q.passing, q.baseline)
}

// answerChecks starts a child run for each question of a group of checks.
func (d Deps) answerChecks(ctx context.Context, in *flow.In, p *cases.Plan, candidate, group int) (flow.Out, error) {
	g := &p.Spec.Groups[group]
	q, err := d.questions(ctx, in, p, candidate, g.Against)
	if err != nil {
		return flow.Out{}, err
	}
	asks := q.asks(p, g)
	done := flow.Out{Outputs: map[string]any{"total": len(asks), "passed": 0}}
	if len(asks) == 0 {
		return done, nil
	}
	request := flow.ChildRequest{
		Flow: string(p.FlowID), Document: g.Document(), Concurrency: p.Spec.Concurrency, KeepErrors: true, MaySkip: true, Case: &flow.CaseRun{Test: p.ID, Candidate: candidate, Check: group + 1},
		Rows: func(yield func(flow.ChildRow, error) bool) {
			for i := range asks {
				if !yield(flow.ChildRow{Number: i + 1, Inputs: asks[i].Inputs.Clone()}, nil) {
					return
				}
			}
		},
	}
	if g.Kind == cases.FlowCheck {
		request.Flow = g.Flow
	}
	children, err := in.Children.Start(ctx, request)
	if e := flow.AsError(err); err != nil && e.Code != flow.CodeInternal && !e.Retryable {
		return flow.Out{Outputs: done.Outputs, Log: e.Message}, nil // the checks are errored
	}
	if err != nil {
		return flow.Out{}, err
	}
	if ended, err := d.Await(ctx, in, children); !ended || err != nil {
		return flow.Out{Suspend: d.Suspension(in)}, err
	}
	return done, nil
}

// storeVerdicts stores the verdicts on all runs of a candidate, with the outcomes of the checks that other steps answered.
func (d Deps) storeVerdicts(ctx context.Context, in *flow.In, p *cases.Plan, candidate int) (flow.Out, error) {
	replies := make([][]cases.Reply, len(p.Items))
	usd, spent := make([]flow.NanoUSD, len(p.Items)), make([]flow.NanoUSD, len(p.Items))
	c := collector{store: d.Store, ws: in.WorkspaceID, paths: map[string]paths{}}
	q, err := d.questions(ctx, in, p, candidate, slices.ContainsFunc(p.Spec.Groups, func(g cases.Group) bool { return g.Against }))
	if err != nil {
		return flow.Out{}, err
	}
	for g := range p.Spec.Groups {
		asks := q.asks(p, &p.Spec.Groups[g])
		err := d.eachChild(ctx, in, cases.CheckStep(candidate, g), func(r *flow.ChildResult, hash string) error {
			if r.Item >= len(asks) {
				return fmt.Errorf("the test %s has no question %d of %s", p.ID, r.Item, cases.CheckStep(candidate, g))
			}
			ask := asks[r.Item]
			if p.Spec.Groups[g].Document() != nil && !flow.EqualValues(r.Inputs, ask.Inputs) { // content was erased in the meantime, so other questions follow
				return nil
			}
			result, err := c.result(ctx, r, hash)
			if err != nil {
				return err
			}
			replies[ask.Item] = append(replies[ask.Item], cases.Reply{Ask: ask, State: result.State, Error: result.Error, Outputs: result.Outputs, Missing: result.Missing})
			usd[ask.Item], spent[ask.Item] = usd[ask.Item]+result.USD, spent[ask.Item]+result.Spent
			return nil
		})
		if err != nil {
			return flow.Out{}, err
		}
	}
	passed, err := d.judgeEach(ctx, in, p, candidate, func(item int, v *cases.Verdict) map[int]cases.Outcome {
		v.JudgeUSD, v.JudgeSpent = usd[item], spent[item]
		return p.Outcomes(item, replies[item], candidate == p.Spec.Baseline)
	})
	if err != nil {
		return flow.Out{}, err
	}
	return flow.Out{Outputs: map[string]any{"total": len(p.Items), "passed": passed}}, nil
}
