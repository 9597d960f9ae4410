package library

import (
	"context"
	"fmt"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/document"
)

// Again asks for a test like an earlier one: with the same candidates, but with the draft, the cases and the flows below as they are now.
func (s *Tests) Again(ctx context.Context, old *cases.Test) (r TestRequest, err error) {
	spec := &old.Spec
	r = TestRequest{Mode: spec.Mode, Allow: spec.Allow, Repeat: spec.Repeat, Concurrency: spec.Concurrency, MaxUSD: spec.MaxUSD, together: replaced{}}
	for i := range spec.Candidates {
		c := &spec.Candidates[i]
		again := CandidateRequest{Version: c.Version, Draft: c.Draft, Set: c.Set}
		if c.Version == 0 && !c.Draft {
			again.Set = nil // the document has them
			if again.Document, err = s.Library.Store.FindDocument(ctx, old.WorkspaceID, c.Hash); err != nil {
				return r, err
			}
		}
		if r.Drafts = r.Drafts || c.DraftsBelow(); i == spec.Baseline {
			r.Baseline = &again
		} else {
			r.Candidates = append(r.Candidates, again)
		}
	}
	for id, hash := range spec.Replaced {
		data, err := s.Library.Store.FindDocument(ctx, old.WorkspaceID, hash)
		if err != nil {
			return r, err
		}
		if d, _ := document.ParseDocument(data); d != nil {
			r.together[id] = d
		}
	}
	return r, nil
}

// RetryTest starts a test with what an ended one ran: the same cases, documents and mode. Runs of cases that succeeded are reused; those that
// failed, such as after an outage, run again. The first report stays as it is.
func (s *Tests) RetryTest(ctx context.Context, by flow.Actor, key *flow.Key, userID string, f *flow.Flow, old *cases.Test, r TestRequest) (*cases.Test, *flow.Run, error) {
	again, err := s.Again(ctx, old)
	if err != nil {
		return nil, nil, err
	}
	again.IdempotencyKey, again.Fingerprint = r.IdempotencyKey, r.Fingerprint
	if err := again.MayTest(key, f); err != nil {
		return nil, nil, err
	}
	file, err := s.Store.FindCaseSet(ctx, old.WorkspaceID, old.Spec.Set)
	if err != nil {
		return nil, nil, err
	}
	t := &cases.Test{ID: s.IDs.New(cases.PrefixTest), WorkspaceID: f.WorkspaceID, FlowID: f.ID, MadeBy: by.ID, Spec: old.Spec}
	documents := map[string][]byte{}
	for _, hash := range t.Spec.Documents() {
		if documents[hash], err = s.Library.Store.FindDocument(ctx, f.WorkspaceID, hash); err != nil {
			return nil, nil, err
		}
	}
	if err := s.createTest(ctx, by, f, t, file.Encode(), documents, nil); err != nil {
		return nil, nil, err
	}
	rerun := func(ctx context.Context, start flow.Start) (flow.Started, error) {
		return s.Rerun(ctx, flow.Rerun{Start: start, ParentRunID: old.RunID})
	}
	return s.startTest(ctx, f, t, rerun, s.newStart(key, userID, f, t, &again))
}

// Expect makes the outputs of a case in a report what the case expects; see cases.Case.Expect.
func (s *Tests) Expect(ctx context.Context, by flow.Actor, f *flow.Flow, t *cases.Test, id string, candidate int) (*cases.Case, error) {
	if candidate < 0 || candidate >= len(t.Spec.Candidates) {
		return nil, testInvalid("/candidate", "unknown", "the test has "+flow.Count(len(t.Spec.Candidates), "candidate"))
	}
	_, report, _, err := s.Report(ctx, t)
	if err != nil {
		return nil, err
	}
	file, _, err := s.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	row, found := report.Find(id), file.Find(id)
	if row == nil || found == nil {
		return nil, testInvalid("/case", "unknown", fmt.Sprintf("the test or the flow has no case %q", id))
	}
	run, err := s.Store.FindRun(ctx, f.WorkspaceID, "", row.Results[candidate].RunID)
	if flow.IsNotFound(err) || err == nil && (run.Outputs == nil || run.State != flow.RunSucceeded || run.Erased != "") {
		return nil, flow.Errorf(flow.CodeRunNotEnded, "The case %s has no outputs in this report: its run has not succeeded, or its content is gone.", id)
	}
	if err != nil {
		return nil, err
	}
	now := found.Expect(run.Outputs)
	_, err = s.SetCase(ctx, by, f, now)
	return now, err
}

// AddRecordings stores recorded results of a flow, except for those that it has. It returns how many it added.
func (s *Tests) AddRecordings(ctx context.Context, by flow.Actor, f *flow.Flow, list []flow.Recording) (added int, err error) {
	if err := s.allCanTest(ctx); err != nil {
		return 0, err
	}
	for i := range list {
		list[i].WorkspaceID, list[i].FlowID = f.WorkspaceID, f.ID
	}
	e := entry(f.WorkspaceID, "case.recordings", string(f.ID), "")
	err = record(ctx, s.Store, by, e, func(ctx context.Context) error {
		if added, err = s.Store.AddRecordings(ctx, list); err == nil && added == 0 {
			e.Action = ""
		}
		e.Detail = flow.Count(added, "recording")
		return err
	})
	return added, err
}

// Label makes the outputs in the rows of a CSV table what the cases of a flow expect. If a row is wrong, nothing is stored unless skip is set.
func (s *Tests) Label(ctx context.Context, by flow.Actor, f *flow.Flow, csv string, outputs []string, skip, preview bool) (labeled, changed int, problems []cases.LabelProblem, err error) {
	if err := s.allCanTest(ctx); err != nil {
		return 0, 0, nil, err
	}
	file, sources, err := s.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return 0, 0, nil, err
	}
	labels, problems := cases.ParseLabels(csv, file, outputs)
	if len(problems) > 0 && !skip {
		return 0, 0, problems, nil
	}
	var list []*cases.Case
	for i := range labels {
		c := labels[i].Labeled()
		if _, wrong := cases.ParseCase(c.Object(), nil); len(wrong) > 0 {
			return 0, 0, nil, caseInvalid(wrong)
		}
		if !c.Same(labels[i].Case) {
			list = append(list, c)
		}
	}
	if preview || len(list) == 0 {
		return len(labels), len(list), problems, nil
	}
	return len(labels), len(list), problems, s.recordCases(ctx, by, f, "case.labels", flow.Count(len(list), "case"), func(ctx context.Context) error {
		for _, c := range list {
			if err := s.Store.SaveCase(ctx, f.WorkspaceID, f.ID, c, sources[c.ID]); err != nil {
				return err
			}
		}
		return nil
	})
}
