package library

import (
	"context"

	"sluice/flow"
	"sluice/flow/cases"
)

// RetryTest starts a test with what an ended one ran: the same cases, documents and mode. Runs of cases that succeeded are reused; those that
// failed, such as after an outage, run again. The first report stays as it is.
func (s *Tests) RetryTest(ctx context.Context, by flow.Actor, key *flow.Key, userID string, f *flow.Flow, old *cases.Test, r TestRequest) (*cases.Test, *flow.Run, error) {
	r.Mode, r.Allow, r.MaxUSD, r.Candidates = old.Spec.Mode, old.Spec.Allow, old.Spec.MaxUSD, nil
	for _, c := range old.Spec.Candidates {
		again := CandidateRequest{Version: c.Version, Draft: c.Draft, Set: c.Set}
		if c.Version == 0 && !c.Draft {
			again.Document = []byte{}
		}
		r.Candidates = append(r.Candidates, again)
	}
	if err := r.MayTest(key, f); err != nil {
		return nil, nil, err
	}
	file, err := s.Store.FindCaseSet(ctx, old.WorkspaceID, old.Spec.Set)
	if err != nil {
		return nil, nil, err
	}
	t := &cases.Test{ID: s.IDs.New(cases.PrefixTest), WorkspaceID: f.WorkspaceID, FlowID: f.ID, MadeBy: by.ID, Spec: old.Spec}
	documents := map[string][]byte{}
	for _, c := range t.Spec.Candidates {
		if documents[c.Hash], err = s.Library.Store.FindDocument(ctx, f.WorkspaceID, c.Hash); err != nil {
			return nil, nil, err
		}
	}
	if err := s.createTest(ctx, by, f, t, file.Encode(), documents); err != nil {
		return nil, nil, err
	}
	rerun := func(ctx context.Context, start flow.Start) (flow.Started, error) {
		return s.Rerun(ctx, flow.Rerun{Start: start, ParentRunID: old.RunID})
	}
	return s.startTest(ctx, f, t, rerun, s.newStart(key, userID, f, t, &r))
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
