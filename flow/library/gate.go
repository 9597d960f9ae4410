package library

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/callees"
	"sluice/flow/cases"
	"sluice/flow/document"
	"sluice/flow/sorting"
)

// gatedTests is how many of the latest tests of a flow may be the report that a gate needs.
const gatedTests = 50

// GateReport is what the gate of a flow says about a document that may go live.
type GateReport struct {
	Gate     *cases.Gate
	Test     *cases.Test    // the latest report of exactly this document and the cases as they are; nil without one
	Run      *flow.Run      // of the test
	Problems []flow.Problem // why the document does not pass; none while the test runs
	file     *cases.File
}

// Ended reports whether the test of a document has ended.
func (g *GateReport) Ended() bool { return g.Test != nil && g.Run.State.Ended() }

// CaseName returns the name of a case, or its ID if it has none.
func (g *GateReport) CaseName(id string) string {
	if c := g.file.Find(id); c != nil {
		return cmp.Or(c.Name, id)
	}
	return id
}

// FindGate returns what the gate of a flow says about its draft, or nil if it needs no report.
func FindGate(ctx context.Context, l *Library, f *flow.Flow) (*GateReport, error) {
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return nil, nil
	}
	return findGate(ctx, l, f, d, nil, nil)
}

// StartGate starts the test that publishing the draft needs, for a person. Unlike publishing it also starts one that may call models.
func StartGate(ctx context.Context, l *Library, f *flow.Flow, by flow.Actor) (*cases.Test, error) {
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return nil, flow.Errorf(flow.CodeDocumentInvalid, "The draft cannot be read.")
	}
	g, err := findGate(ctx, l, f, d, nil, nil)
	if err != nil || g == nil {
		return nil, err
	}
	r := gateRequest(f, d.Compact(), g.file)
	r.Mode = g.Gate.Mode
	t, _, err := l.Tests.StartTest(ctx, by, nil, userOf(by), f, r)
	return t, err
}

// findGate is FindGate for a document. file has the cases and the gate; nil reads them. together are documents that go live at the same time.
func findGate(ctx context.Context, l *Library, f *flow.Flow, d *flow.Document, file *cases.File, together replaced) (*GateReport, error) {
	if l.Tests == nil {
		return nil, nil
	}
	if file == nil {
		found, _, err := l.Tests.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID)
		if err != nil {
			return nil, err
		}
		file = found
	}
	hash := flow.DocumentHash(d.Compact())
	if file.Gate == nil || hash == f.LiveHash {
		return nil, nil
	}
	ids := file.Select(file.Gate.Tags)
	if len(ids) == 0 {
		return nil, nil
	}
	g := &GateReport{Gate: file.Gate, file: file}
	var err error
	if g.Test, g.Run, err = l.Tests.findReport(ctx, f, d, file, file.Gate, ids, together); err != nil || !g.Ended() {
		return g, err
	}
	g.Problems, err = l.Tests.judgeGate(ctx, f, g.Test, hash, file, file.Gate, ids)
	return g, err
}

// passed says with which cases a flow passed its gate.
type passed struct {
	flow *flow.Flow
	set  string // hash of the cases
}

// hold returns an error if the cases were changed since then. Otherwise they stay as they are until the end of the transaction of ctx.
func (p *passed) hold(ctx context.Context, l *Library) error {
	if p == nil {
		return nil
	}
	owner := CompanionOwner{p.flow.WorkspaceID, p.flow}
	if _, err := l.Tests.Store.LockCompanion(ctx, owner.id(FindCompanion(testsFile))); err != nil {
		return err
	}
	file, _, err := l.Tests.Store.FindCaseFile(ctx, p.flow.WorkspaceID, p.flow.ID)
	if err == nil && flow.Hash(file.Encode()) != p.set {
		err = testsRequired(nil, fmt.Sprintf("The test cases of %q were changed in the meantime. Publish again, which tests with them.", p.flow.Slug))
	}
	return err
}

// checkGate returns an error unless a report says that a document of a flow may go live. file has the cases and the gate; nil reads them, and
// the transaction that publishes must hold what passed. A missing report of a gate with the mode replay is started.
func checkGate(ctx context.Context, l *Library, f *flow.Flow, d *flow.Document, by flow.Actor, file *cases.File, together replaced) (*passed, error) {
	g, err := findGate(ctx, l, f, d, file, together)
	switch {
	case err != nil || g == nil:
		return nil, err
	case g.Test == nil:
		return nil, l.Tests.startGate(ctx, by, f, d.Compact(), g.file, together)
	case !g.Ended():
		return nil, testsRequired(g.Test, fmt.Sprintf("The test %s is in progress. Publish again when it has ended.", g.Test.ID))
	case len(g.Problems) > 0:
		return nil, &flow.Error{Code: flow.CodeTestsFailed, Fields: g.Problems,
			Message: fmt.Sprintf("The test %s does not pass the gate of this flow: %s, %s. Fix the flow or the cases, then publish again.", g.Test.ID, strings.TrimPrefix(g.Problems[0].Pointer, "/"), g.Problems[0].Detail)}
	case file != nil:
		return nil, nil
	}
	return &passed{f, flow.Hash(g.file.Encode())}, nil
}

// testsRequired returns the error for a missing report. t may be nil.
func testsRequired(t *cases.Test, message string) error {
	e := flow.Errorf(flow.CodeTestsRequired, "%s", message)
	if t != nil {
		e.Fields = []flow.Problem{{Pointer: "/tests/" + t.ID, Code: "pending", Detail: "GET /v1/flow/" + string(t.FlowID) + "/tests/" + t.ID + " is its report"}}
	}
	return e
}

// findReport finds the latest test of exactly this document, these cases and the present versions of the flows below.
func (s *Tests) findReport(ctx context.Context, f *flow.Flow, d *flow.Document, file *cases.File, gate *cases.Gate, ids []string, together replaced) (*cases.Test, *flow.Run, error) {
	hash, set := flow.DocumentHash(d.Compact()), flow.Hash(file.Encode())
	below, err := s.finder(false).Find(ctx, f.WorkspaceID, d, together)
	if err != nil {
		return nil, nil, err
	}
	list, err := s.Store.ListTests(ctx, f.WorkspaceID, f.ID, "", gatedTests)
	if err != nil {
		return nil, nil, err
	}
	for i := range list {
		spec := &list[i].Spec
		covers := !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(spec.Cases, id) })
		is := slices.ContainsFunc(spec.Candidates, func(c cases.Candidate) bool { return c.Hash == hash && c.Below == below.Hash })
		compared := !comparesLive(f, gate) || spec.Baseline >= 0 && spec.Candidates[spec.Baseline].Hash == f.LiveHash
		if spec.Set != set || !covers || !is || !compared || spec.Repeat > 0 {
			continue
		}
		run, err := s.Store.FindRun(ctx, f.WorkspaceID, f.ID, list[i].RunID)
		if flow.IsNotFound(err) || err == nil && (run.State == flow.RunCanceled || run.State == flow.RunFailed) { // it says nothing about all cases
			continue
		}
		return &list[i], run, err
	}
	return nil, nil, nil
}

// comparesLive reports whether a gate compares with the live version.
func comparesLive(f *flow.Flow, g *cases.Gate) bool {
	return f.LiveVersion != 0 && (g.NoWorse || strings.HasSuffix(g.USD, "%"))
}

// gateRequest asks for the test that a gate needs.
func gateRequest(f *flow.Flow, data []byte, file *cases.File) TestRequest {
	r := TestRequest{Candidates: []CandidateRequest{{Document: data, checked: true}}, Mode: flow.CaseReplay, Tags: file.Gate.Tags, File: file}
	if comparesLive(f, file.Gate) {
		r.Baseline = &CandidateRequest{}
	}
	return r
}

// startGate starts the test that a gate needs.
func (s *Tests) startGate(ctx context.Context, by flow.Actor, f *flow.Flow, data []byte, file *cases.File, together replaced) error {
	g, baseline, r := file.Gate, "", gateRequest(f, data, file)
	r.together = together
	if r.Baseline != nil {
		baseline = ` "baseline": {"version": "live"},`
	}
	if g.Mode != flow.CaseReplay {
		return testsRequired(nil, fmt.Sprintf(`Publishing needs a report of this document with the cases as they are now. Run POST /v1/flow/%s/tests with {"candidates": [{"version": "draft"}],%s "mode": %q}, then publish again.`, f.ID, baseline, g.Mode))
	}
	t, _, err := s.StartTest(ctx, by, nil, userOf(by), f, r)
	if err != nil {
		return err
	}
	return testsRequired(t, fmt.Sprintf("Publishing needs a report of this document with the cases as they are now. The test %s has started. Publish again when it has ended.", t.ID))
}

// userOf returns the ID of a person who acts, or "".
func userOf(by flow.Actor) string {
	if strings.HasPrefix(by.ID, flow.PrefixUser) {
		return by.ID
	}
	return ""
}

// judgeGate returns all reasons why a document does not pass.
func (s *Tests) judgeGate(ctx context.Context, f *flow.Flow, t *cases.Test, hash string, file *cases.File, gate *cases.Gate, ids []string) ([]flow.Problem, error) {
	_, report, _, err := s.Report(ctx, t)
	if err != nil {
		return nil, err
	}
	candidate := slices.IndexFunc(t.Spec.Candidates, func(c cases.Candidate) bool { return c.Hash == hash })
	baseline := t.Spec.Baseline
	if baseline >= 0 && t.Spec.Candidates[baseline].Hash != f.LiveHash {
		baseline = -1
	}
	marks, err := s.Store.CountJudgeMarks(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	return append(gate.Judge(report, candidate, baseline, ids), file.Undecided(ids, marks)...), nil
}

// finder finds the documents that a document runs in other flows.
func (s *Tests) finder(drafts bool) *callees.Finder {
	return &callees.Finder{Store: s.Library.Store, Kinds: s.Library.Kinds, Draft: func(*flow.Flow) bool { return drafts }}
}

// PublishAnyway is PublishDraft in spite of the gate, for a reason. Only owners may, in the dashboard. The version carries the reason.
func PublishAnyway(ctx context.Context, l *Library, f *flow.Flow, by flow.Actor, note, reason string) (v flow.Version, created bool, err error) {
	reason = strings.TrimSpace(reason)
	if n := len([]rune(reason)); n == 0 || n > maxReason {
		return v, false, flow.Errorf(flow.CodeInputInvalid, "Give a reason of 1 to %d characters.", maxReason)
	}
	if note = strings.TrimSpace(note); note != "" {
		note += " "
	}
	err = l.Store.InTransaction(ctx, func(ctx context.Context) error {
		if v, created, err = publishDraft(ctx, l, f, by, note+"Published without passing tests: "+reason, nil); err != nil {
			return err
		}
		return l.audit(ctx, f, by, "gate.override", fmt.Sprintf("v%d: %s", v.Number, reason))
	})
	return v, created, err
}

// maxReason is how many characters the reason for publishing in spite of a gate has at most.
const maxReason = 200

// casesAfter returns the cases of a flow as an apply leaves them; nil if it does not change them.
func casesAfter(ctx context.Context, l *Library, p *plan, files []*companionPlan, r *ApplyRequest) (*cases.File, error) {
	i := slices.IndexFunc(files, func(c *companionPlan) bool { return c.Name == testsFile && c.request.Owner.Flow.ID == p.flow.ID })
	if i < 0 || len(files[i].Changes) == 0 || l.Tests == nil {
		return nil, nil
	}
	was, sources, err := l.Tests.Store.FindCaseFile(ctx, p.flow.WorkspaceID, p.flow.ID)
	if err != nil {
		return nil, err
	}
	now := *files[i].wanted.(*cases.File)
	now.Cases = slices.Clone(now.Cases)
	for _, c := range was.Cases {
		if now.Find(c.ID) == nil && !files[i].request.prunes(sources[c.ID]) {
			now.Cases = append(now.Cases, c)
		}
	}
	if !now.HasSettings() && !r.Prune {
		now.Defaults, now.Gate = was.Defaults, was.Gate
	}
	sorting.By(now.Cases, func(a, b cases.Case) int { return strings.Compare(a.ID, b.ID) })
	return &now, nil
}
