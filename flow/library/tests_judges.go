package library

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/cases"
)

// aCheck is what runs a flow, in an error.
const aCheck = "A check"

// MayAsk returns an error if checks run flows that a key with a list of flows does not have. Keys may not save such checks either: a
// person or a schedule with more rights would run them.
func (s *Tests) MayAsk(ctx context.Context, key *flow.Key, f *flow.Flow, checks []cases.Check) error {
	for i := range checks {
		if err := s.mayUse(ctx, key, f, checks[i].Flow(), aCheck); err != nil {
			return err
		}
	}
	return nil
}

// JudgeState is a judge of a flow with what people said of its verdicts.
type JudgeState struct {
	cases.Check
	cases.Agreement
}

// Judges returns the judges in the cases of a flow.
func (s *Tests) Judges(ctx context.Context, f *flow.Flow) ([]JudgeState, error) {
	file, _, err := s.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	marks, err := s.Store.CountJudgeMarks(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(file.Cases))
	for i := range file.Cases {
		ids[i] = file.Cases[i].ID
	}
	var list []JudgeState
	for _, judge := range file.Judges(ids) {
		list = append(list, JudgeState{judge, marks[judge.JudgeHash()]})
	}
	return list, nil
}

// SetNotes stores what a person wrote about the report of a test. Another text replaces it.
func (s *Tests) SetNotes(ctx context.Context, by flow.Actor, t *cases.Test, notes string) error {
	if notes = strings.TrimSpace(notes); utf8.RuneCountInString(notes) > cases.MaxNotes {
		return testInvalid("/notes", "too_long", fmt.Sprintf("notes have at most %d characters", cases.MaxNotes))
	}
	t.Notes, t.NotesBy = notes, by.ID
	return s.Store.SaveTestNotes(ctx, t)
}

// MarkVerdict stores whether the verdict of a judge in a test is right. Another mark of the same verdict replaces it.
func (s *Tests) MarkVerdict(ctx context.Context, by flow.Actor, t *cases.Test, m cases.JudgeMark) error {
	p, _, verdicts, err := s.Report(ctx, t)
	if err != nil {
		return err
	}
	c := p.File.Find(m.Case)
	i := slices.IndexFunc(verdicts, func(v cases.Verdict) bool {
		return v.Candidate == m.Candidate && v.Case == m.Case && v.Repeat == m.Repeat
	})
	if c == nil || i < 0 {
		return testInvalid("/case", "unknown", fmt.Sprintf("the test has no verdict on the case %q for this candidate and repeat", m.Case))
	}
	if err := s.Store.AddChecks(ctx, t, []*cases.Verdict{&verdicts[i]}); err != nil {
		return err
	}
	judge := p.File.JudgeOf(c, m.Check)
	given := slices.ContainsFunc(verdicts[i].Checks, func(o cases.Outcome) bool {
		return o.Kind == cases.Judge && o.Check == m.Check && (o.State == cases.Passed || o.State == cases.Failed)
	})
	if judge == nil || !given {
		return testInvalid("/check", "unknown", fmt.Sprintf("the verdict has no judge %q that passed or failed", m.Check))
	}
	m.Judge, m.By = judge.JudgeHash(), by.ID
	return s.Store.SaveJudgeMark(ctx, t, &m)
}
