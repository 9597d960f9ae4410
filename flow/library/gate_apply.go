package library

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/cases"
)

// replaced are documents that go live together, by flow. Tests of flows that run these flows run the documents.
type replaced map[flow.FlowID]*flow.Document

// together returns the documents that an apply publishes, except for those of new flows.
func together(plans []*plan) replaced {
	docs := replaced{}
	for _, p := range plans {
		if p.publish && p.Change != AppliedCreated {
			docs[p.flow.ID] = p.doc
		}
	}
	return docs
}

// gateApply checks the gates of all flows that an apply publishes, with the cases as the apply leaves them. With Test, it demands a passing
// report of every changed flow that has cases, and of the flows that run one of these. The transaction of the apply must hold what passed.
func gateApply(ctx context.Context, l *Library, plans []*plan, files []*companionPlan, r *ApplyRequest) (gates []*passed, err error) {
	docs := together(plans)
	if r.Test {
		if gates, err = testApply(ctx, l, plans, files, r, docs); err != nil {
			return nil, err
		}
	}
	for _, p := range plans {
		if !p.publish {
			continue
		}
		var gate *passed
		file, err := casesAfter(ctx, l, p, files, r)
		if err == nil && p.Change == AppliedCreated {
			err = gateNew(p, file)
		} else if err == nil {
			gate, err = checkGate(ctx, l, p.flow, p.doc, r.By, file, docs)
		}
		if err != nil {
			return nil, err
		}
		gates = append(gates, gate)
	}
	return gates, nil
}

// gateNew returns an error for a new flow with a gate: its test needs the flow, which does not exist yet.
func gateNew(p *plan, file *cases.File) error {
	if file == nil || file.Gate == nil || len(file.Select(file.Gate.Tags)) == 0 {
		return nil
	}
	return testsRequired(nil, fmt.Sprintf("The flow %q is new and has a gate. Apply it without publishing, then with publishing: that tests it first.", p.Slug))
}

// subject is a flow that an apply tests.
type subject struct {
	flow *flow.Flow
	doc  *flow.Document
	file *cases.File
	kept bool // the apply does not change the cases
}

// testApply returns an error unless every flow that an apply changes passes its cases, and the flows that run one of these. It starts the tests
// that are missing.
func testApply(ctx context.Context, l *Library, plans []*plan, files []*companionPlan, r *ApplyRequest, docs replaced) (gates []*passed, err error) {
	if l.Tests == nil {
		return nil, nil
	}
	list, err := subjects(ctx, l, plans, files, r, docs)
	if err != nil {
		return nil, err
	}
	var pending, failed []flow.Problem
	for i := range list {
		s := &list[i]
		gate := s.file.Gate
		if gate == nil {
			gate = &cases.Gate{PassRate: 1, Mode: cmp.Or(r.TestMode, flow.CaseReplay)}
		}
		ids := s.file.Select(gate.Tags)
		if len(ids) == 0 {
			continue
		}
		t, run, err := l.Tests.findReport(ctx, s.flow, s.doc, s.file, gate, ids, docs)
		if err == nil && t == nil {
			t, run, err = l.Tests.startApplied(ctx, r, s, gate, docs)
		}
		if err != nil {
			return nil, err
		}
		if !run.State.Ended() {
			e := flow.AsError(testsRequired(t, ""))
			pending = append(pending, e.Fields...)
			continue
		}
		if s.kept {
			gates = append(gates, &passed{s.flow, flow.Hash(s.file.Encode())})
		}
		problems, err := l.Tests.judgeGate(ctx, s.flow, t, flow.DocumentHash(s.doc.Compact()), s.file, gate, ids)
		if err != nil {
			return nil, err
		}
		for _, p := range problems {
			p.Detail = s.flow.Slug + ": " + p.Detail + " (" + t.ID + ")"
			failed = append(failed, p)
		}
	}
	switch {
	case len(pending) > 0:
		return nil, &flow.Error{Code: flow.CodeTestsRequired, Fields: pending, Message: fmt.Sprintf("%s in progress. Apply again when they have ended.", flow.Count(len(pending), "test"))}
	case len(failed) > 0:
		return nil, &flow.Error{Code: flow.CodeTestsFailed, Fields: failed, Message: fmt.Sprintf("Tests do not pass: %s, %s. Nothing was applied.", strings.TrimPrefix(failed[0].Pointer, "/"), failed[0].Detail)}
	}
	return gates, nil
}

// subjects returns the flows that an apply tests: those that it publishes and, unless the request says otherwise, those that run one of
// these.
func subjects(ctx context.Context, l *Library, plans []*plan, files []*companionPlan, r *ApplyRequest, docs replaced) (list []subject, err error) {
	for _, p := range plans {
		if !p.publish {
			continue
		}
		file, err := casesAfter(ctx, l, p, files, r)
		if err != nil {
			return nil, err
		}
		if p.Change == AppliedCreated {
			if file != nil && len(file.Cases) > 0 {
				return nil, testsRequired(nil, fmt.Sprintf("The flow %q is new. Apply it without publishing before it can be tested.", p.Slug))
			}
			continue
		}
		list = append(list, subject{p.flow, p.doc, file, false})
	}
	if !r.NoCallers && len(docs) > 0 {
		ws := list[0].flow.WorkspaceID
		all, err := l.listFollowing(ctx, ws)
		if err != nil {
			return nil, err
		}
		seen := map[flow.FlowID]bool{}
		for _, p := range plans {
			for _, f := range all[p.flow.ID] {
				if docs[p.flow.ID] != nil && docs[f.parent.ID] == nil && !seen[f.parent.ID] {
					seen[f.parent.ID] = true
					file, err := casesAfter(ctx, l, &plan{flow: f.parent}, files, r)
					if err != nil {
						return nil, err
					}
					list = append(list, subject{f.parent, f.d, file, false})
				}
			}
		}
	}
	for i := range list {
		if list[i].file == nil {
			list[i].kept = true
			if list[i].file, _, err = l.Tests.Store.FindCaseFile(ctx, list[i].flow.WorkspaceID, list[i].flow.ID); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// startApplied starts the test of a flow that an apply changes. One in another mode than replay may cost money, so it needs what other such
// tests need.
func (s *Tests) startApplied(ctx context.Context, r *ApplyRequest, of *subject, gate *cases.Gate, docs replaced) (*cases.Test, *flow.Run, error) {
	request := TestRequest{
		Candidates: []CandidateRequest{{Document: of.doc.Compact(), checked: true}}, Mode: cmp.Or(r.TestMode, flow.CaseReplay), Tags: gate.Tags, MaxUSD: r.TestUSD, File: of.file, together: docs,
	}
	if comparesLive(of.flow, gate) {
		request.Baseline = &CandidateRequest{}
	}
	var key *flow.Key
	if request.Mode != flow.CaseReplay {
		if key = r.Caller; key != nil && !key.Has(flow.ScopeRun) {
			return nil, nil, flow.Errorf(flow.CodeScopeMissing, "Tests in the mode %s need a key with the scopes run and manage.", request.Mode)
		}
	}
	return s.StartTest(ctx, r.By, key, userOf(r.By), of.flow, request)
}
