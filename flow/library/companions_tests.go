package library

import (
	"context"
	"fmt"

	"sluice/flow"
	"sluice/flow/cases"
)

// The file with the cases of a flow and its gate. Recorded results are not in it.
var _ = RegisterCompanion(&Companion{
	Name: testsFile, Schema: cases.FileSchema, Title: "Test cases",
	Parse: func(o *flow.Object, check func(source string, names ...string) error) (any, []flow.Problem) {
		return parsed(cases.Parse(o, check))
	},
	Write: func(content any) *flow.Object { return content.(*cases.File).Object() },
	Read: func(ctx context.Context, s *Companions, of *CompanionOwner) (any, error) {
		f, _, err := s.Store.FindCaseFile(ctx, of.Flow.WorkspaceID, of.Flow.ID)
		return f, err
	},
	Plan: planCases,
	Apply: func(ctx context.Context, s *Companions, r *CompanionRequest, c *CompanionChange) error {
		return c.Value.(func(context.Context) error)(ctx)
	},
	MayChange:   func(*flow.Key) error { return nil },
	MarkApplied: markCases,
})

// testsFile is the name of the companion.
const testsFile = "tests"

// tests returns the acts on cases, with their rules.
func (s *Companions) tests() *Tests {
	return &Tests{Store: s.Store, IDs: s.IDs, Now: s.Now, CheckExpression: s.CheckExpression, Library: s.Library}
}

// planCases compares the cases of a file with those of the flow.
func planCases(ctx context.Context, s *Companions, r *CompanionRequest, _, wanted any) (changes []CompanionChange, problems []flow.Problem, err error) {
	f, now := r.Owner.Flow, wanted.(*cases.File)
	was, sources, err := s.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return nil, nil, err
	}
	if !was.SameSettings(now) {
		if err := s.tests().MayAsk(ctx, r.Caller, f, now.Defaults.Checks); err != nil {
			return nil, nil, err
		}
	}
	for i := range now.Cases {
		c := &now.Cases[i]
		old, source := was.Find(c.ID), sources[c.ID]
		if old != nil && old.Same(c) {
			continue
		}
		if err := s.tests().MayAsk(ctx, r.Caller, f, c.Checks); err != nil {
			return nil, nil, err
		}
		if r.Apply {
			source = r.Source
		}
		change := CompanionChange{Change: AppliedCreated, Entry: c.ID, Text: fmt.Sprintf("Adds the test case %s.", c.ID)}
		if old != nil {
			change.Change, change.Text = AppliedChanged, fmt.Sprintf("Changes the test case %s.", c.ID)
		}
		change.Value = func(ctx context.Context) error { return s.tests().setCase(ctx, r.By, f, c, source) }
		changes = append(changes, change)
	}
	for i := range was.Cases {
		id := was.Cases[i].ID
		if r.prunes(sources[id]) && now.Find(id) == nil {
			changes = append(changes, CompanionChange{Change: companionRemoved, Entry: id, Text: fmt.Sprintf("Removes the test case %s.", id),
				Value: func(ctx context.Context) error { return s.tests().DeleteCase(ctx, r.By, f, id) }})
		}
	}
	if !was.SameSettings(now) && (r.Prune || now.HasSettings()) {
		changes = append(changes, CompanionChange{Change: AppliedChanged, Entry: "settings", Text: "Changes the defaults or the gate of the tests.",
			Value: func(ctx context.Context) error { return s.tests().SetSettings(ctx, r.By, f, now) }})
	}
	return changes, nil, nil
}

// markCases records that cases were applied from the source of the request, which then prunes them.
func markCases(ctx context.Context, s *Companions, r *CompanionRequest, wanted any) error {
	f := r.Owner.Flow
	_, sources, err := s.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID)
	now := wanted.(*cases.File)
	for i := range now.Cases {
		if id := now.Cases[i].ID; err == nil && sources[id] != r.Source {
			err = s.Store.SetCaseSource(ctx, f.WorkspaceID, f.ID, id, r.Source)
		}
	}
	return err
}
