package admin

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/library"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// testNames maps the Go types of responses to the names of their schemas in the OpenAPI document.
var testNames = map[reflect.Type]string{
	reflect.TypeFor[CaseList]():        "CaseList",
	reflect.TypeFor[CaseSaved]():       "CaseSaved",
	reflect.TypeFor[CaseFromRun]():     "CaseFromRun",
	reflect.TypeFor[JudgeObject]():     "Judge",
	reflect.TypeFor[JudgeList]():       "JudgeList",
	reflect.TypeFor[CasesFromRuns]():   "CasesMade",
	reflect.TypeFor[TestObject]():      "Test",
	reflect.TypeFor[TestReport]():      "TestReport",
	reflect.TypeFor[TestList]():        "TestList",
	reflect.TypeFor[TestCandidate]():   "TestCandidate",
	reflect.TypeFor[TestCase]():        "TestCase",
	reflect.TypeFor[TestResult]():      "TestResult",
	reflect.TypeFor[TestVerdict]():     "TestVerdict",
	reflect.TypeFor[RecordingList]():   "RecordingList",
	reflect.TypeFor[RecordingsAdded](): "RecordingsAdded",
	reflect.TypeFor[TestEstimate]():    "TestEstimate",
	reflect.TypeFor[CaseFromEvent]():   "CaseMade",
	reflect.TypeFor[CasesLabeled]():    "CasesLabeled",
	reflect.TypeFor[LabelProblem]():    "LabelProblem",
	reflect.TypeFor[cases.FindsRate](): "FindsRate",
}

var testParams = map[string]map[string]any{
	"case":          {"name": "case", "in": "path", "required": true, "description": "ID of the case.", "schema": schema{"type": "string"}},
	"test":          {"name": "test", "in": "path", "required": true, "description": "ID of the test.", "schema": schema{"type": "string"}},
	"report_format": {"name": "format", "in": "query", "description": "The format; default json. junit is XML for CI servers, markdown a comment for pull requests.", "schema": schema{"type": "string", "enum": []string{"json", "csv", "junit", "markdown"}}},
	"with_case":     {"name": "case", "in": "query", "description": "Adds the verdicts on the runs of this case, with the reasons of its checks.", "schema": schema{"type": "string"}},
}

// testServer serves the routes of cases and tests.
type testServer struct {
	*Server
	cancel func(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error)
	await  func(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID, limit time.Duration) (*flow.Run, error)
	*library.Tests
}

// CaseList is the JSON of the cases of a flow.
type CaseList struct {
	Defaults *flow.Object   `json:"defaults" doc:"Checks and repeats of all cases."`
	Gate     *flow.Object   `json:"gate" doc:"What a report must say before a version is published; null without a gate."`
	Cases    []*flow.Object `json:"cases" doc:"By ID. See the schema sluice.tests/v1."`
	Hash     string         `json:"hash" doc:"Of the cases, by which reports name them."`
}

// CaseSaved is the response to a changed case.
type CaseSaved struct {
	ID      string `json:"id"`
	Created bool   `json:"created"`
}

// TestCandidate is the JSON of a candidate with what the test found.
type TestCandidate struct {
	Label         string         `json:"label"`
	Version       int64          `json:"version" doc:"0 for the draft or another document."`
	Draft         bool           `json:"draft"`
	Set           map[string]any `json:"set" doc:"Fields with other values than in the document."`
	Hash          string         `json:"hash" doc:"Of the document."`
	Passed        int            `json:"passed" doc:"Cases, like the next four."`
	Failed        int            `json:"failed"`
	Errored       int            `json:"errored" doc:"Nothing can be said, such as after an outage."`
	Stale         int            `json:"stale" doc:"A result is not recorded."`
	Pending       int            `json:"pending"`
	PassRate      float64        `json:"pass_rate"`
	Low           float64        `json:"pass_rate_low" doc:"95 % interval."`
	High          float64        `json:"pass_rate_high"`
	USD           float64        `json:"usd" doc:"What all runs cost, with recorded results at their cost."`
	SpentUSD      float64        `json:"spent_usd" doc:"What the test itself spent."`
	JudgeUSD      float64        `json:"judge_usd" doc:"What the checks cost that ask a model or a flow, with recorded results at their cost. Not part of usd."`
	JudgeSpentUSD float64        `json:"judge_spent_usd" doc:"What these spent now. Not part of spent_usd."`
	P95MS         int64          `json:"p95_ms" doc:"Time along the longest path."`
	Recorded      bool           `json:"recorded" doc:"Cost and time are those of recorded results."`
	Worse         []string       `json:"worse" doc:"Cases that the baseline passes."`
	Better        []string       `json:"better" doc:"Cases that the baseline fails."`
	Finds         []FindsRate    `json:"finds" doc:"How often searches had the wanted source among their first hits (hits@k), for each k."`
	Clear         bool           `json:"clear" doc:"The difference is more than chance."`
}

// FindsRate is the JSON of how often searches found a source.
type FindsRate = cases.FindsRate

// TestObject is the JSON of a test.
type TestObject struct {
	ID         string          `json:"id"`
	FlowID     flow.FlowID     `json:"flow_id"`
	RunID      flow.RunID      `json:"run_id" doc:"The run of the test: its events, its rerun and its erasing are those of runs."`
	Status     flow.RunState   `json:"status" doc:"Of the run."`
	State      cases.State     `json:"state" doc:"passed, failed, errored, stale, or pending until all runs have ended."`
	Summary    string          `json:"summary"`
	Mode       flow.CaseMode   `json:"mode"`
	Set        string          `json:"set" doc:"Hash of the cases."`
	Baseline   *int            `json:"baseline" doc:"Index of the candidate that the others are compared with, or null."`
	Candidates []TestCandidate `json:"candidates"`
	Runs       int             `json:"runs" doc:"Of all cases, repeats and candidates."`
	Done       int             `json:"runs_done"`
	CreatedAt  api.Time        `json:"created_at"`
	CreatedBy  string          `json:"created_by"`
	Notes      string          `json:"notes" doc:"What a person wrote about the report."`
	NotesBy    string          `json:"notes_by" doc:"Who; empty without notes."`
	Estimate   *TestEstimate   `json:"estimate,omitempty" doc:"In the response to a start: what the test will do."`
}

// TestResult is the JSON of what the runs of a case say about a candidate.
type TestResult struct {
	cases.CaseResult
	USD float64 `json:"usd"`
}

// TestCase is the JSON of a case in a report.
type TestCase struct {
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	Tags    []string     `json:"tags"`
	Results []TestResult `json:"results" doc:"By candidate."`
}

// TestVerdict is the JSON of the verdict on one run.
type TestVerdict struct {
	cases.Verdict
	USD      float64 `json:"usd"`
	JudgeUSD float64 `json:"judge_usd"`
}

// TestReport is the JSON of the report of a test.
type TestReport struct {
	TestObject
	Cases    []TestCase    `json:"cases"`
	Verdicts []TestVerdict `json:"verdicts" doc:"Of the case that was asked for; otherwise empty."`
}

// TestList is one page of tests.
type TestList struct {
	Tests      []TestObject `json:"tests"`
	NextCursor *string      `json:"next_cursor"`
}

var (
	candidateBody = api.Body[library.CandidateRequest]{Of: "a candidate", Unknown: "unknown", Ordered: true, Fields: []api.Field[library.CandidateRequest]{
		api.SetMember("version", `The number of a version, "draft" or "live". Others than live need the scope manage.`, candidateVersion, func(r *library.CandidateRequest, v int64) {
			r.Version, r.Draft = max(v, 0), v < 0
		}),
		api.SetMember("set", "Values that replace those of fields, by NODE.FIELD; needs the scopes edit and manage.", api.ObjectType, func(r *library.CandidateRequest, o *flow.Object) { r.Set = o.Map() }),
		api.SetMember("document", "A document instead of a version; needs the scopes edit and manage.", api.ObjectType, func(r *library.CandidateRequest, o *flow.Object) { r.Document = flow.EncodeJSON(o) }),
	}}
	candidateType    = api.BodyType(&candidateBody)
	candidatesType   = api.Type[[]library.CandidateRequest]{Schema: schema{"type": "array", "items": candidateType.Schema, "maxItems": cases.MaxCandidates}, Read: readCandidates}
	candidateVersion = api.Type[int64]{
		Schema: schema{"oneOf": []any{schema{"type": "integer", "minimum": 1}, schema{"type": "string", "enum": []string{"draft", "live"}}}}, Wanted: `the number of a version, "draft" or "live"`,
		As: func(v any) (int64, bool) {
			switch v {
			case "draft":
				return -1, true
			case "live":
				return 0, true
			}
			return api.AsWhole(v, 1, 1<<53)
		}}
	repeatType = api.Type[int]{Schema: schema{"type": "integer", "minimum": 1, "maximum": cases.MaxRepeats}, Wanted: "a whole number from 1 to 10", As: func(v any) (int, bool) {
		n, ok := api.AsWhole(v, 1, cases.MaxRepeats)
		return int(n), ok
	}}
	concurrencyType = api.Type[int]{Schema: schema{"type": "integer", "minimum": 1, "maximum": flow.MaxChildConcurrency}, Wanted: "a whole number from 1 to 1000", As: func(v any) (int, bool) {
		n, ok := api.AsWhole(v, 1, flow.MaxChildConcurrency)
		return int(n), ok
	}}
)

// testBody declares the body of a start.
var testBody = api.Body[library.TestRequest]{Name: "StartTest", Of: "a test", Example: schema{"candidates": []any{schema{"version": "draft"}}, "mode": "fill"}, Fields: []api.Field[library.TestRequest]{
	api.Member("candidates", "What is tested. Default: the live version.", candidatesType.OrAbsent(), func(r *library.TestRequest) *[]library.CandidateRequest { return &r.Candidates }),
	api.Member("baseline", "A candidate that the others are compared with.", candidateType.OrAbsent(), func(r *library.TestRequest) **library.CandidateRequest { return &r.Baseline }),
	api.Member("mode", "replay: only recorded results. fill: models and reads that are not recorded are called, and recorded. live: models and reads are called; needs the scope manage. Nothing is ever changed outside, except by nodes in allow.",
		api.EnumType("invalid", flow.CaseModes...).OrAbsent().With("default", flow.CaseFill), func(r *library.TestRequest) *flow.CaseMode { return &r.Mode }),
	api.Member("allow", "IDs of nodes that may change something outside, in the mode live.", textsType.OrAbsent(), func(r *library.TestRequest) *[]string { return &r.Allow }),
	api.Member("tags", "Only cases with one of these.", textsType.OrAbsent(), func(r *library.TestRequest) *[]string { return &r.Tags }),
	api.SetMember("cases", "IDs of the cases, instead of all with the tags. An object with runs tests on recent runs that succeeded instead: their outputs are what is expected, and nothing of them is stored as a case. That needs the scope read.", testedType.OrAbsent(), func(r *library.TestRequest, t tested) { r.Cases, r.Backtest = t.cases, t.runs }),
	api.Member("repeat", "How often each case runs. Default: as the cases say.", repeatType.OrAbsent(), func(r *library.TestRequest) *int { return &r.Repeat }),
	api.Member("concurrency", "Runs at the same time.", concurrencyType.OrAbsent().With("default", 10), func(r *library.TestRequest) *int { return &r.Concurrency }),
	api.Member("children", "The version of other flows that the flow runs. draft needs the scope manage.", childrenType.OrAbsent().With("default", "live"), func(r *library.TestRequest) *bool { return &r.Drafts }),
	api.Member("max_usd", "What the test may spend in dollars. Models need a price.", api.DollarsType, func(r *library.TestRequest) *flow.NanoUSD { return &r.MaxUSD }),
}}

// readCandidates reads the list of candidates.
func readCandidates(v any) (list []library.CandidateRequest, problems []flow.Problem) {
	items, ok := v.([]any)
	if !ok || len(items) > cases.MaxCandidates {
		return nil, []flow.Problem{{Code: "wrong_type", Detail: "wanted a list of at most 20 candidates"}}
	}
	for i, item := range items {
		r, wrong := candidateType.Read(item)
		for _, p := range wrong {
			p.Pointer = flow.Pointer(i) + p.Pointer
			problems = append(problems, p)
		}
		if len(wrong) == 0 {
			list = append(list, *r)
		}
	}
	return list, problems
}

// routes returns the routes of cases and tests.
func (s testServer) routes() api.Extension {
	const list, tests, tag = "/v1/flow/:flow_id/cases", "/v1/flow/:flow_id/tests", "Tests"
	reads, edits, runs := []flow.Scope{flow.ScopeRead, flow.ScopeEdit, flow.ScopeManage}, []flow.Scope{flow.ScopeEdit}, []flow.Scope{flow.ScopeRun}
	return api.Extension{Names: testNames, Params: testParams, Routes: slices.Concat(s.judgeRoutes(tests, tag), s.moreRoutes(), []api.Route{{
		Method: get, Path: list, Scopes: reads, Handle: s.listCases, Tool: "list_cases", Role: flow.MemberViewer,
		Doc: openapi.Operation{ID: "listCases", Tag: tag, Summary: "List the test cases of a flow", Answers: openapi.OK("The cases, by ID.", CaseList{})},
	}, {
		Method: get, Path: list + "/:case", Scopes: reads, Handle: s.showCase, Role: flow.MemberViewer,
		Doc: openapi.Operation{ID: "showCase", Tag: tag, Summary: "Show a test case", Answers: []openapi.Answer{{Status: 200, Text: "The case, as in a file sluice.tests/v1.", Schema: "Case"}}},
	}, {
		Method: http.MethodPut, Path: list + "/:case", Scopes: edits, Handle: s.putCase, Tool: "save_case", Role: flow.MemberEditor, Audit: []string{"case.change"}, Commands: []string{"case add"},
		Doc: openapi.Operation{ID: "putCase", Tag: tag, Summary: "Create a test case or replace it", Text: "The body is the case as in a file sluice.tests/v1; its ID is that of the path.",
			Body: openapi.Body{Name: "Case"}, Problems: []flow.Code{flow.CodeCaseInvalid, flow.CodeQuotaExceeded, flow.CodeStorageFull, flow.CodeUpgradeInProgress}, Answers: openapi.OK("The case is stored.", CaseSaved{})},
	}, {
		Method: http.MethodDelete, Path: list + "/:case", Scopes: edits, Handle: s.deleteCase, Role: flow.MemberEditor, Audit: []string{"case.delete"}, Commands: []string{"case remove"},
		Doc: openapi.Operation{ID: "deleteCase", Tag: tag, Summary: "Delete a test case", Text: "Reports of tests that ran it stay.", Problems: []flow.Code{flow.CodeStorageFull}, Answers: openapi.NoContent("Deleted.")},
	}, s.fromRunsRoute(list, tag), s.fromEventRoute(list, tag), s.labelRoute(list, tag), {
		Method: http.MethodPost, Path: tests, Scopes: runs, Handle: s.startTest, Tool: "run_tests", Role: flow.MemberEditor, Commands: []string{"flow test"},
		Doc: openapi.Operation{ID: "startTest", Tag: tag, Summary: "Run the test cases of a flow",
			Text:   "A test is a run whose child runs are the cases, for each candidate. They count against dollars and concurrent runs, not against runs per day. Webhooks are not sent, approvals get the answers of the case, and delays end at once.",
			Params: []string{"Prefer", "Idempotency-Key"}, Body: testBody.Doc(), Problems: []flow.Code{flow.CodeIdempotencyInProgress, flow.CodeIdempotencyMismatch, flow.CodeInvalidHeader, flow.CodeInputInvalid, flow.CodeDocumentInvalid, flow.CodeSecretInDocument, flow.CodeScopeMissing, flow.CodeFlowNotAllowed, flow.CodeNotPublished, flow.CodeBudgetExceeded, flow.CodePriceUnknown, flow.CodeQuotaExceeded, flow.CodeConcurrencyLimited, flow.CodeQueueFull, flow.CodeDraining, flow.CodeStorageFull, flow.CodeUpgradeInProgress},
			Answers: []openapi.Answer{{Status: 202, Text: "The test has started. With Prefer: wait, it may have ended.", JSON: TestObject{}, Headers: startHeaders}}},
	}, {
		Method: get, Path: tests, Scopes: reads, Handle: s.listTests, Role: flow.MemberViewer,
		Doc: openapi.Operation{ID: "listTests", Tag: tag, Summary: "List tests, newest first", Params: []string{"limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid}, Answers: openapi.OK("One page of tests.", TestList{})},
	}, {
		Method: get, Path: tests + "/:test", Scopes: reads, Handle: s.showTest, Tool: "read_report", Role: flow.MemberViewer, Commands: []string{"flow test", "test show", "test watch"},
		Doc: openapi.Operation{ID: "showTest", Tag: tag, Summary: "Get the report of a test", Text: "At any time; cases whose runs have not ended are pending.", Params: []string{"report_format", "with_case"}, Problems: []flow.Code{flow.CodeInputInvalid}, Answers: openapi.OK("The report.", TestReport{})},
	}, {
		Method: http.MethodPost, Path: tests + "/:test/cancel", Scopes: runs, Handle: s.cancelTest, Role: flow.MemberEditor,
		Doc: openapi.Operation{ID: "cancelTest", Tag: tag, Summary: "Cancel a test", Problems: []flow.Code{flow.CodeStorageFull}, Answers: openapi.OK("The test.", TestObject{})},
	}})}
}

// listCases is GET cases.
func (s testServer) listCases(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	file, _, err := s.Store.FindCaseFile(c.Request().Context(), f.WorkspaceID, f.ID)
	if err != nil {
		return err
	}
	o := CaseList{Cases: []*flow.Object{}, Hash: flow.Hash(file.Encode())}
	head := file.Object()
	o.Defaults, _ = flow.AsObject(head.Get("defaults"))
	if o.Defaults == nil {
		o.Defaults = &flow.Object{}
	}
	o.Gate, _ = flow.AsObject(head.Get("gate"))
	for i := range file.Cases {
		o.Cases = append(o.Cases, file.Cases[i].Object())
	}
	return c.WriteJSON(http.StatusOK, o)
}

// findCase finds the case in the path.
func (s testServer) findCase(c *api.Call) (*flow.Flow, *cases.Case, error) {
	f, err := c.FindFlow()
	if err != nil {
		return nil, nil, err
	}
	file, _, err := s.Store.FindCaseFile(c.Request().Context(), f.WorkspaceID, f.ID)
	if err != nil {
		return nil, nil, err
	}
	found := file.Find(c.Param("case"))
	if found == nil {
		return nil, nil, flow.Errorf(flow.CodeNotFound, "There is no such case.")
	}
	return f, found, nil
}

// showCase is GET case.
func (s testServer) showCase(c *api.Call) error {
	_, found, err := s.findCase(c)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, found.Object())
}

// putCase is PUT case.
func (s testServer) putCase(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	body, err := c.ReadOrdered(false, nil)
	if err != nil {
		return err
	}
	body = body.Clone()
	body.Set("id", c.Param("case"))
	parsed, err := s.ParseCase(body)
	if err != nil {
		return err
	}
	if err := s.MayAsk(c.Request().Context(), c.Key, f, parsed.Checks); err != nil {
		return err
	}
	created, err := s.SetCase(c.Request().Context(), c.Actor(), f, parsed)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, CaseSaved{parsed.ID, created})
}

// deleteCase is DELETE case.
func (s testServer) deleteCase(c *api.Call) error {
	f, found, err := s.findCase(c)
	if err != nil {
		return err
	}
	if err := s.DeleteCase(c.Request().Context(), c.Actor(), f, found.ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// findTest finds the test in the path with its run.
func (s testServer) findTest(c *api.Call) (*cases.Test, *flow.Run, error) {
	f, err := c.FindFlow()
	if err != nil {
		return nil, nil, err
	}
	t, err := s.Store.FindTest(c.Request().Context(), f.WorkspaceID, c.Param("test"))
	if err == nil && (t.FlowID != f.ID || t.RunID == "") {
		err = flow.Errorf(flow.CodeNotFound, "There is no such test.")
	}
	if err != nil {
		return nil, nil, err
	}
	run, err := s.Server.Store.FindRun(c.Request().Context(), t.WorkspaceID, t.FlowID, t.RunID)
	return t, run, err
}

// object returns the JSON of a test, and its report.
func (s testServer) object(c *api.Call, t *cases.Test, run *flow.Run) (o TestObject, r TestReport, err error) {
	plan, report, verdicts, err := s.Report(c.Request().Context(), t)
	if err != nil {
		return o, r, err
	}
	if o, err = s.digest(c, t, run, cases.NewDigest(plan, report, len(verdicts))); err != nil {
		return o, r, err
	}
	r = TestReport{TestObject: o, Cases: []TestCase{}, Verdicts: []TestVerdict{}}
	for i := range report.Cases {
		k := &report.Cases[i]
		row := TestCase{ID: k.ID, Name: k.Name, Tags: append([]string{}, k.Tags...)}
		for _, result := range k.Results {
			row.Results = append(row.Results, TestResult{result, result.USD.Dollars()})
		}
		r.Cases = append(r.Cases, row)
	}
	if id := c.QueryParam("case"); id != "" {
		var shown []*cases.Verdict
		for i := range verdicts {
			if verdicts[i].Case == id {
				shown = append(shown, &verdicts[i])
			}
		}
		if err := s.Store.AddChecks(c.Request().Context(), t, shown); err != nil {
			return o, r, err
		}
		for _, v := range shown {
			r.Verdicts = append(r.Verdicts, TestVerdict{*v, v.USD.Dollars(), v.JudgeUSD.Dollars()})
		}
	}
	return o, r, nil
}

// digest returns the JSON of a test from what it found.
func (s testServer) digest(c *api.Call, t *cases.Test, run *flow.Run, d *cases.Digest) (o TestObject, err error) {
	o = TestObject{
		ID: t.ID, FlowID: t.FlowID, RunID: t.RunID, Status: run.State, State: d.State, Summary: d.Summary, Mode: t.Spec.Mode, Set: t.Spec.Set, Candidates: []TestCandidate{},
		Runs: d.Runs, Done: d.Done, CreatedAt: api.Time(t.CreatedAt), CreatedBy: t.MadeBy, Notes: t.Notes, NotesBy: t.NotesBy,
	}
	if t.Spec.Baseline >= 0 {
		o.Baseline = &t.Spec.Baseline
	}
	if !run.State.Ended() {
		list, err := s.Server.Store.ListChildren(c.Request().Context(), t.WorkspaceID, t.RunID)
		if err != nil {
			return o, err
		}
		o.Done = 0
		for i := range list {
			if !strings.HasPrefix(list[i].Caller.Path, "check-") {
				o.Done += list[i].Succeeded + list[i].Failed
			}
		}
	}
	for i := range d.Candidates {
		k := &d.Candidates[i]
		o.Candidates = append(o.Candidates, TestCandidate{
			Label: k.Label, Version: k.Version, Draft: k.Draft, Set: k.Set, Hash: k.Hash, Passed: k.Passed, Failed: k.Failed, Errored: k.Errored, Stale: k.Stale, Pending: k.Pending,
			PassRate: k.PassRate(), Low: k.Low, High: k.High, USD: k.USD.Dollars(), SpentUSD: k.Spent.Dollars(), JudgeUSD: k.JudgeUSD.Dollars(), JudgeSpentUSD: k.JudgeSpent.Dollars(), P95MS: k.P95.Milliseconds(), Recorded: k.Recorded, Worse: append([]string{}, k.Worse...), Better: append([]string{}, k.Better...), Finds: append([]FindsRate{}, k.Finds...), Clear: k.Clear,
		})
		if o.Candidates[i].Set == nil {
			o.Candidates[i].Set = map[string]any{}
		}
	}
	return o, nil
}

// listTests is GET tests.
func (s testServer) listTests(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	before, limit, err := c.QueryPage(cases.PrefixTest)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	list, err := s.Server.Store.ListTests(ctx, f.WorkspaceID, f.ID, before, limit+1)
	if err != nil {
		return err
	}
	o := TestList{Tests: []TestObject{}}
	list, o.NextCursor = api.Page(list, limit, func(t *cases.Test) string { return t.ID })
	for i := range list {
		run, err := s.Server.Store.FindRun(ctx, f.WorkspaceID, f.ID, list[i].RunID)
		if flow.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		d, err := s.Digest(ctx, &list[i], run)
		if err != nil {
			return err
		}
		one, err := s.digest(c, &list[i], run, d)
		if err != nil {
			return err
		}
		o.Tests = append(o.Tests, one)
	}
	return c.WriteJSON(http.StatusOK, o)
}

// cancelTest is POST cancel.
func (s testServer) cancelTest(c *api.Call) error {
	t, run, err := s.findTest(c)
	if err != nil {
		return err
	}
	if !run.State.Ended() {
		if run, err = s.cancel(c.Request().Context(), t.WorkspaceID, t.FlowID, t.RunID); err != nil {
			return err
		}
	}
	o, _, err := s.object(c, t, run)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, o)
}
