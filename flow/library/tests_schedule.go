package library

import (
	"context"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/triggers"
)

// scheduledRequest returns the request of the test that a schedule starts at a time.
func scheduledRequest(t *triggers.Test, at time.Time) TestRequest {
	candidate := func(c triggers.TestCandidate) CandidateRequest {
		r := CandidateRequest{Version: max(int64(c.Version), 0), Draft: c.Version == triggers.VersionDraft}
		if c.Set.Len() > 0 {
			r.Set = c.Set.Map()
		}
		return r
	}
	r := TestRequest{
		Mode: t.Mode, Allow: t.Allow, Tags: t.Tags, Repeat: int(t.Repeat), Concurrency: int(t.Concurrency), MaxUSD: flow.USDOf(t.MaxUSD), Drafts: t.Children == "draft",
	}
	for _, c := range t.Candidates {
		r.Candidates = append(r.Candidates, candidate(c))
	}
	if t.Baseline != nil {
		c := candidate(*t.Baseline)
		r.Baseline = &c
	}
	if t.Cases == nil {
		return r
	}
	if r.Cases = t.Cases.IDs; t.Cases.Runs != nil {
		r.Backtest = &FromRuns{Sample: int(t.Cases.Runs.Limit), Spread: cases.Spread(t.Cases.Runs.Spread), Filter: flow.RunFilter{CreatedAfter: t.Cases.Runs.Since(at)}}
	}
	return r
}

// maySchedule returns an error for a key that may not start the test of a schedule itself: its rights are not checked later. A key with a list
// of flows may not replace fields, which can name other flows.
func maySchedule(key *flow.Key, f *flow.Flow, t *triggers.Test) error {
	if key == nil || t == nil {
		return nil
	}
	if len(key.Flows) > 0 && t.Changes() {
		return flow.Errorf(flow.CodeFlowNotAllowed, "A key with a list of flows may not schedule tests that replace fields of the flow. Leave out set, or use a key for all flows.")
	}
	r := scheduledRequest(t, time.Time{})
	return r.MayTest(key, f)
}

// StartScheduled starts the test of a schedule at a planned time, without a caller. claim makes it start once.
func StartScheduled(ctx context.Context, l *Library, t *triggers.Trigger, o *flow.Occurrence, claim string) (flow.Started, error) {
	return l.Tests.startScheduled(ctx, flow.Actor{ID: t.ID}, nil, "", t, o, claim)
}

// startScheduled starts the test of a schedule at a planned time. Like any test, it publishes nothing.
func (s *Tests) startScheduled(ctx context.Context, by flow.Actor, key *flow.Key, userID string, t *triggers.Trigger, o *flow.Occurrence, claim string) (flow.Started, error) {
	f, err := s.Library.Store.FindFlow(ctx, t.WorkspaceID, t.FlowID)
	if err == nil && !f.ArchivedAt.IsZero() {
		err = flow.Errorf(flow.CodeNotFound, "There is no such flow.")
	}
	if err != nil {
		return flow.Started{}, err
	}
	r := scheduledRequest(t.Config.Test, o.ScheduledAt)
	r.Occurrence, r.IdempotencyKey, r.Fingerprint = o, claim, claim
	var started flow.Started
	own := *s
	own.Start = func(ctx context.Context, what flow.Start) (flow.Started, error) {
		var err error
		started, err = s.Start(ctx, what)
		return started, err
	}
	_, _, err = own.StartTest(ctx, by, key, userID, f, r)
	return started, err
}
