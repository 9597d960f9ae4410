package library

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/contract"
	"sluice/flow/document"
)

// CaseStore stores the cases of flows.
type CaseStore interface {
	companionRows
	featureStore
	// FindCaseFile returns the cases of a flow, and where each was applied from. In a transaction it sees what that wrote.
	FindCaseFile(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (*cases.File, map[string]string, error)
	SaveCase(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, c *cases.Case, source string) error
	SetCaseSource(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, id, source string) error
	DeleteCase(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, id string) error
	SaveCaseSettings(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, f *cases.File) error
	// CreateTest stores a test with the cases and the documents that it runs. runs are those of a backtest: what the cases have of them is
	// erased with them.
	CreateTest(ctx context.Context, t *cases.Test, set []byte, documents map[string][]byte, runs []flow.RunID) error
	DeleteTest(ctx context.Context, t *cases.Test) error
	FindTest(ctx context.Context, ws flow.WorkspaceID, id string) (*cases.Test, error)
	FindTestOfRun(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (*cases.Test, error)
	FindCaseSet(ctx context.Context, ws flow.WorkspaceID, hash string) (*cases.File, error)
	ListTests(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, before string, limit int) ([]cases.Test, error)
	FindRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error)
	// ListVerdicts returns the verdicts without the outcomes of their checks, except those that a report counts.
	ListVerdicts(ctx context.Context, p *cases.Plan) ([]cases.Verdict, error)
	// AddChecks reads the outcomes of the checks of some verdicts of a test.
	AddChecks(ctx context.Context, t *cases.Test, list []*cases.Verdict) error
	ListRuns(ctx context.Context, f flow.RunFilter) ([]flow.Run, error)
	FindStepHeads(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, prefix string) ([]flow.Step, error)
	FindFiles(ctx context.Context, ws flow.WorkspaceID, ids []string) (map[string]*flow.File, error)
	// ListCasesOfRun returns the cases that were made from a run.
	ListCasesOfRun(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]cases.OfRun, error)
	// EraseCopies removes what versions of the cases of a flow, and revisions of its tests file, have of a run.
	EraseCopies(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) error
	SaveTestDigest(ctx context.Context, t *cases.Test) error
	SaveTestNotes(ctx context.Context, t *cases.Test) error
	SaveJudgeMark(ctx context.Context, t *cases.Test, m *cases.JudgeMark) error
	// ListJudgeMarks returns the marks of the verdicts on a case.
	ListJudgeMarks(ctx context.Context, t *cases.Test, id string) ([]cases.JudgeMark, error)
	// CountJudgeMarks returns the marks of the judges of a flow, by cases.Check.JudgeHash.
	CountJudgeMarks(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (map[string]cases.Agreement, error)
	SaveRecording(ctx context.Context, r *flow.Recording) (*flow.Recording, error)
	ListRecordings(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, after *flow.Recording, limit int) ([]flow.Recording, error)
	AddRecordings(ctx context.Context, list []flow.Recording) (added int, err error)
}

// Tests changes the cases of flows, and starts tests.
type Tests struct {
	Store   CaseStore
	IDs     flow.IDs
	Now     func() time.Time
	Library *Library // finds and checks documents; nil for acts on cases only
	Start   func(ctx context.Context, s flow.Start) (flow.Started, error)
	// Past finds what a run that has ended gives to a case; nil if cases cannot be made from runs.
	Past  func(ctx context.Context, run *flow.Run) (*cases.Past, error)
	Rerun func(ctx context.Context, s flow.Rerun) (flow.Started, error)
	// CheckExpression returns an error for a wrong expression over variables.
	CheckExpression func(source string, names ...string) error
}

// recordCases is recordCompanion for the cases of a flow.
func (s *Tests) recordCases(ctx context.Context, by flow.Actor, f *flow.Flow, action, detail string, act func(ctx context.Context) error) error {
	read := func(ctx context.Context) (any, error) {
		file, _, err := s.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID)
		return file, err
	}
	return recordCompanion(ctx, s.Store, FindCompanion(testsFile), CompanionOwner{f.WorkspaceID, f}, by, entry(f.WorkspaceID, action, string(f.ID), detail), read, act)
}

// SetCase adds a case to a flow, or replaces the one with its ID. The same case again changes nothing.
func (s *Tests) SetCase(ctx context.Context, by flow.Actor, f *flow.Flow, c *cases.Case) (created bool, err error) {
	file, sources, err := s.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return false, err
	}
	old := file.Find(c.ID)
	if old != nil && old.Same(c) {
		return false, nil
	}
	return old == nil, s.setCase(ctx, by, f, c, sources[c.ID])
}

// SetCases adds cases to a flow, or replaces those with their IDs: all or none.
func (s *Tests) SetCases(ctx context.Context, by flow.Actor, f *flow.Flow, list []*cases.Case) error {
	_, sources, err := s.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID)
	if err != nil || len(list) == 0 {
		return err
	}
	return s.setCases(ctx, by, f, list, sources)
}

// setCases stores cases that were applied from sources.
func (s *Tests) setCases(ctx context.Context, by flow.Actor, f *flow.Flow, list []*cases.Case, sources map[string]string) error {
	detail := list[0].ID
	if len(list) > 1 {
		detail += fmt.Sprintf(" and %d more", len(list)-1)
	}
	for _, c := range list {
		if problems := secretsOfCase(f, c, s.Library); len(problems) > 0 {
			return caseInvalid(problems)
		}
	}
	if err := s.allCanTest(ctx); err != nil {
		return err
	}
	return s.recordCases(ctx, by, f, "case.change", detail, func(ctx context.Context) error {
		for _, c := range list {
			if err := s.Store.SaveCase(ctx, f.WorkspaceID, f.ID, c, sources[c.ID]); err != nil {
				return err
			}
		}
		return nil
	})
}

// setCase stores a case that was applied from a source.
func (s *Tests) setCase(ctx context.Context, by flow.Actor, f *flow.Flow, c *cases.Case, source string) error {
	return s.setCases(ctx, by, f, []*cases.Case{c}, map[string]string{c.ID: source})
}

// allCanTest returns an error while an instance of a release runs that does not know tests: it would execute case runs like others.
func (s *Tests) allCanTest(ctx context.Context) error {
	can, err := s.Store.AllCan(ctx, flow.FeatureTests)
	if err == nil && !can {
		err = flow.Errorf(flow.CodeUpgradeInProgress, "An instance of an earlier release is running, which does not know tests of flows. Try again when all instances have been upgraded.")
	}
	return err
}

// caseInvalid returns the error for problems of a case.
func caseInvalid(problems []flow.Problem) error {
	return &flow.Error{Code: flow.CodeCaseInvalid, Message: "The case is invalid: " + problems[0].Detail + ".", Fields: problems}
}

// ParseCase reads a case that a caller sent.
func (s *Tests) ParseCase(v any) (*cases.Case, error) {
	c, problems := cases.ParseCase(v, s.CheckExpression)
	if len(problems) > 0 {
		return nil, caseInvalid(problems)
	}
	return &c, nil
}

// secretsOfCase returns the problems of texts where the flow has secret inputs: a case names a credential instead.
func secretsOfCase(f *flow.Flow, c *cases.Case, l *Library) (problems []flow.Problem) {
	d, _ := document.ParseDocument(f.Draft)
	if d == nil || l == nil {
		return nil
	}
	for _, in := range contract.Inputs(d, l.Kinds) {
		v, given := c.Inputs.Lookup(in.Name)
		if !in.Secret || !given {
			continue
		}
		if _, isRef := flow.SecretRef(v); !isRef {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer("inputs", in.Name), Code: "invalid", Detail: `a secret input must name a credential, such as {"credential": "name"}; a case has no secrets`})
		}
	}
	return problems
}

// DeleteCase deletes a case of a flow.
func (s *Tests) DeleteCase(ctx context.Context, by flow.Actor, f *flow.Flow, id string) error {
	return s.recordCases(ctx, by, f, "case.delete", id, func(ctx context.Context) error { return s.Store.DeleteCase(ctx, f.WorkspaceID, f.ID, id) })
}

// SetSettings stores what holds for all cases of a flow: the defaults and the gate of a file.
func (s *Tests) SetSettings(ctx context.Context, by flow.Actor, f *flow.Flow, file *cases.File) error {
	return s.recordCases(ctx, by, f, "case.settings", f.Slug, func(ctx context.Context) error { return s.Store.SaveCaseSettings(ctx, f.WorkspaceID, f.ID, file) })
}

// CandidateRequest asks for a candidate: a version, the draft, or a document. With Set, values of its fields are replaced.
type CandidateRequest struct {
	Version  int64 // 0 for the live one, unless Draft or Document is set
	Draft    bool
	Document []byte
	Set      map[string]any // by NODE.FIELD
	checked  bool           // the document was checked as for publishing
}

// TestRequest asks for a test.
type TestRequest struct {
	Candidates  []CandidateRequest // none: the live version
	Baseline    *CandidateRequest  // nil for none
	Mode        flow.CaseMode      // empty: fill
	Allow       []string           // nodes that may change something, in the mode live
	Tags        []string
	Cases       []string // IDs; empty: all with the tags
	Repeat      int      // 0: as the cases say
	Concurrency int      // 0: 10
	MaxUSD      flow.NanoUSD
	File        *cases.File // the cases; nil: those of the flow
	Backtest    *FromRuns   // tests on these runs instead of on cases; nothing of them is stored as a case
	Drafts      bool        // flows below run their drafts instead of what is live
	together    replaced    // documents that flows below run instead of what is live

	IdempotencyKey, Fingerprint string
	Wait                        time.Duration
	Occurrence                  *flow.Occurrence // of the schedule that starts the test; otherwise nil
}

// testConcurrency is how many cases run at the same time by default.
const testConcurrency = 10

// MayTest returns an error for a key that may not start a test: the scope run is enough for the live version, other versions and the mode
// live need manage, changed documents edit and manage.
func (r *TestRequest) MayTest(key *flow.Key, f *flow.Flow) error {
	if key == nil {
		return nil
	}
	need := map[flow.Scope]bool{}
	if r.Mode == flow.CaseLive || len(r.Allow) > 0 || r.Drafts {
		need[flow.ScopeManage] = true
	}
	if r.Backtest != nil {
		need[flow.ScopeRead] = true
	}
	for _, c := range r.all() {
		if c.Draft || c.Version != 0 && c.Version != f.LiveVersion {
			need[flow.ScopeManage] = true
		}
		if c.Document != nil || len(c.Set) > 0 {
			need[flow.ScopeManage], need[flow.ScopeEdit] = true, true
		}
	}
	for scope := range need {
		if !key.Has(scope) {
			return flow.Errorf(flow.CodeScopeMissing, "This test needs a key with the scope %s: it tests a draft or another version than the live one, changes a document, reads runs, or may call everything.", scope)
		}
	}
	return nil
}

// all returns the candidates with the baseline as the last one.
func (r *TestRequest) all() []CandidateRequest {
	list := r.Candidates
	if len(list) == 0 {
		list = []CandidateRequest{{}}
	}
	if r.Baseline != nil {
		list = append(slices.Clone(list), *r.Baseline)
	}
	return list
}

// testInvalid returns an error for an option of a test.
func testInvalid(pointer, code, detail string) error {
	return &flow.Error{Code: flow.CodeInputInvalid, Message: "Invalid test: " + detail + ".", Fields: []flow.Problem{{Pointer: pointer, Code: code, Detail: detail}}}
}

// StartTest starts a test of a flow: a run whose child runs are the cases.
func (s *Tests) StartTest(ctx context.Context, by flow.Actor, key *flow.Key, userID string, f *flow.Flow, r TestRequest) (*cases.Test, *flow.Run, error) {
	if err := s.allCanTest(ctx); err != nil {
		return nil, nil, err
	}
	p, err := s.PlanTest(ctx, key, f, &r)
	if err != nil {
		return nil, nil, err
	}
	t := p.Test
	t.ID, t.MadeBy = s.IDs.New(cases.PrefixTest), by.ID
	if err := s.createTest(ctx, by, f, t, p.File.Encode(), p.Documents, p.Runs); err != nil {
		return nil, nil, err
	}
	return s.startTest(ctx, f, t, s.Start, s.newStart(key, userID, f, t, &r))
}

// PlannedTest is a test that is not stored yet.
type PlannedTest struct {
	*cases.Test
	File      *cases.File
	Documents map[string][]byte // by hash
	Runs      []flow.RunID      // of a backtest
}

// PlanTest returns the test that a request asks for, or why it cannot start. A backtest stores the recordings of its runs.
func (s *Tests) PlanTest(ctx context.Context, key *flow.Key, f *flow.Flow, r *TestRequest) (p PlannedTest, err error) {
	if err := r.MayTest(key, f); err != nil {
		return p, err
	}
	if p.File = r.File; p.File == nil {
		if p.File, _, err = s.Store.FindCaseFile(ctx, f.WorkspaceID, f.ID); err != nil {
			return p, err
		}
	}
	if r.Backtest != nil {
		if p.File, err = s.backtest(ctx, f, p.File, r.Backtest); err != nil {
			return p, err
		}
		for i := range p.File.Cases {
			p.Runs = append(p.Runs, p.File.Cases[i].FromRun)
		}
	}
	p.Documents, p.Test = map[string][]byte{}, &cases.Test{WorkspaceID: f.WorkspaceID, FlowID: f.ID, Spec: cases.Spec{
		Mode: cmp.Or(r.Mode, flow.CaseFill), Allow: r.Allow, Repeat: r.Repeat, Concurrency: min(max(cmp.Or(r.Concurrency, testConcurrency), 1), flow.MaxChildConcurrency), Tags: r.Tags, MaxUSD: r.MaxUSD, Baseline: -1,
	}}
	spec := &p.Spec
	chosen, wrong := p.File.Choose(r.Tags, r.Cases)
	if wrong != nil {
		return p, testInvalid(wrong.Pointer, wrong.Code, wrong.Detail)
	}
	spec.Cases, spec.Groups, spec.Set = chosen, p.File.Groups(chosen), flow.Hash(p.File.Encode())
	for _, g := range spec.Groups {
		if err := s.mayUse(ctx, key, f, g.Flow, aCheck); err != nil {
			return p, err
		}
	}
	list := r.all()
	if len(list) > cases.MaxCandidates {
		return p, testInvalid("/candidates", "too_many", fmt.Sprintf("a test has at most %d candidates", cases.MaxCandidates))
	}
	for i := range list {
		c, data, err := s.candidate(ctx, key, f, &list[i], flow.Pointer("candidates", i))
		if err == nil {
			err = s.addBelow(ctx, c, data, &p, r)
		}
		if err != nil {
			return p, err
		}
		if r.Drafts && c.Below != "" {
			c.Below += cases.AsDrafts
		}
		p.Documents[c.Hash] = data
		spec.Candidates = append(spec.Candidates, *c)
	}
	if r.Baseline != nil {
		spec.Baseline = len(list) - 1
	}
	for id, d := range r.together {
		data := d.Compact()
		hash := flow.DocumentHash(data)
		if spec.Replaced == nil {
			spec.Replaced = map[flow.FlowID]string{}
		}
		spec.Replaced[id], p.Documents[hash] = hash, data
	}
	if n := len(spec.Items(p.File)) * len(list); n > cases.MaxVerdicts {
		return p, testInvalid("/cases", "too_many", fmt.Sprintf("the test has %d runs; the limit is %d", n, cases.MaxVerdicts))
	}
	return p, nil
}

// addBelow makes the flows below a candidate run their documents as they are now, whatever is published in the meantime.
func (s *Tests) addBelow(ctx context.Context, c *cases.Candidate, data []byte, p *PlannedTest, r *TestRequest) error {
	d, _ := document.ParseDocument(data)
	if d == nil {
		return nil
	}
	below, err := s.finder(r.Drafts).Find(ctx, p.WorkspaceID, d, r.together)
	if err != nil {
		return err
	}
	c.Below = below.Hash
	for id, d := range below.Documents {
		data := d.Compact()
		if _, err := s.Library.Check(data); err != nil { // its runs say what is wrong
			continue
		}
		if p.Spec.Below == nil {
			p.Spec.Below = map[flow.FlowID]string{}
		}
		hash := flow.DocumentHash(data)
		p.Spec.Below[id], p.Documents[hash] = hash, data
	}
	return nil
}

// createTest stores a test. One that may change something outside is in the audit log.
func (s *Tests) createTest(ctx context.Context, by flow.Actor, f *flow.Flow, t *cases.Test, set []byte, documents map[string][]byte, runs []flow.RunID) error {
	e := entry(f.WorkspaceID, "", string(f.ID), "")
	if t.Spec.Mode == flow.CaseLive {
		e.Action, e.Detail = "test.live", t.ID
		if len(t.Spec.Allow) > 0 {
			e.Detail += ": " + strings.Join(t.Spec.Allow, ", ")
		}
	}
	return record(ctx, s.Store, by, e, func(ctx context.Context) error { return s.Store.CreateTest(ctx, t, set, documents, runs) })
}

// newStart returns the start of the run of a test.
func (s *Tests) newStart(key *flow.Key, userID string, f *flow.Flow, t *cases.Test, r *TestRequest) flow.Start {
	o := flow.RunOptions{Timeout: testTimeout, MaxUSD: r.MaxUSD}
	if r.Drafts {
		o.Children = flow.ChildrenDraft
	}
	return flow.Start{
		WorkspaceID: f.WorkspaceID, FlowID: f.ID, Key: key, UserID: userID, Trigger: flow.TriggerTest, Given: &flow.Object{},
		Options:        o,
		IdempotencyKey: r.IdempotencyKey, Fingerprint: r.Fingerprint, Occurrence: r.Occurrence,
		Work: &flow.WorkStart{Document: t.Document(f.Name), Version: f.LiveVersion, Test: t.ID, Free: t.Spec.Mode == flow.CaseReplay},
	}
}

// startTest starts the run of a stored test. A repeated request gets the test of the first.
func (s *Tests) startTest(ctx context.Context, f *flow.Flow, t *cases.Test, start func(context.Context, flow.Start) (flow.Started, error), what flow.Start) (*cases.Test, *flow.Run, error) {
	started, err := start(ctx, what)
	if err != nil || started.Replayed {
		if dropped := s.Store.DeleteTest(context.WithoutCancel(ctx), t); err == nil && dropped != nil {
			err = dropped
		}
		if err != nil {
			return nil, nil, err
		}
		first, err := s.Store.FindTestOfRun(ctx, f.WorkspaceID, started.Run.ID)
		return first, started.Run, err
	}
	t.RunID = started.Run.ID
	return t, started.Run, nil
}

// testTimeout is how long a test may take.
const testTimeout = 24 * time.Hour

// Report returns the report of a test, which need not have ended. CaseStore.AddChecks reads the outcomes of checks of its verdicts.
func (s *Tests) Report(ctx context.Context, t *cases.Test) (*cases.Plan, *cases.Report, []cases.Verdict, error) {
	file, err := s.Store.FindCaseSet(ctx, t.WorkspaceID, t.Spec.Set)
	if err != nil {
		return nil, nil, nil, err
	}
	p := cases.NewPlan(t, file)
	verdicts, err := s.Store.ListVerdicts(ctx, p)
	if err != nil {
		return nil, nil, nil, err
	}
	return p, cases.NewReport(p, verdicts), verdicts, nil
}

// settled is how long after its end the verdicts of a test that did not succeed may still arrive.
const settled = time.Minute

// Digest returns what a test found, without its cases. It counts the verdicts once after the end of the test.
func (s *Tests) Digest(ctx context.Context, t *cases.Test, run *flow.Run) (*cases.Digest, error) {
	if t.Digest != nil {
		return t.Digest, nil
	}
	p, r, verdicts, err := s.Report(ctx, t)
	if err != nil {
		return nil, err
	}
	d := cases.NewDigest(p, r, len(verdicts))
	if run.State == flow.RunSucceeded || run.State.Ended() && s.Now().Sub(run.EndedAt) > settled {
		counted := *t
		counted.Digest = d
		if err := s.Store.SaveTestDigest(ctx, &counted); err != nil && flow.AsError(err).Code == flow.CodeInternal {
			return nil, err
		}
	}
	return d, nil
}
