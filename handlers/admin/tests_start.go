package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/estimates"
	"sluice/flow/library"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// startHeaders are the headers of the response to a start.
var startHeaders = []string{"Location", "Preference-Applied", "Idempotent-Replayed"}

// childrenType is the type of what flows below run; true is their drafts.
var childrenType = api.Type[bool]{Schema: schema{"type": "string", "enum": []string{"live", "draft"}}, Wanted: `"live" or "draft"`, As: func(v any) (bool, bool) { return v == "draft", v == "live" || v == "draft" }}

// expectRequest is the body of an expect.
type expectRequest struct {
	id        string
	candidate int
}

var expectBody = api.Body[expectRequest]{Name: "ExpectResult", Of: "an expected result", Example: schema{"case": "refund-late"}, Fields: []api.Field[expectRequest]{
	api.Member("case", "ID of the case.", api.TextType, func(r *expectRequest) *string { return &r.id }).Required(`"case" is missing`),
	api.Member("candidate", "Index of the candidate.", api.Type[int]{Schema: schema{"type": "integer", "minimum": 0, "maximum": cases.MaxCandidates - 1}, Wanted: "the index of a candidate, from 0", As: func(v any) (int, bool) {
		n, ok := api.AsWhole(v, 0, cases.MaxCandidates-1)
		return int(n), ok
	}}.OrAbsent().With("default", 0), func(r *expectRequest) *int { return &r.candidate }),
}}

// TestEstimate is the JSON of what a test will do, as far as that is known.
type TestEstimate struct {
	Steps    int      `json:"steps" doc:"Of all runs, that call models and services. What runs for each item of a list counts once."`
	Recorded int      `json:"recorded" doc:"Of them, that may have a recorded result: there are results for their settings."`
	Calls    int      `json:"calls" doc:"That the test makes at most."`
	USD      *float64 `json:"usd" doc:"What the calls cost at most; null if a model has no price and the test no limit."`
}

// RecordingList is one page of recordings.
type RecordingList struct {
	Recordings []*flow.Object `json:"recordings" doc:"As in files sluice.recording/v1."`
	NextCursor *string        `json:"next_cursor"`
}

// RecordingsAdded is the response to added recordings.
type RecordingsAdded struct {
	Added int `json:"added" doc:"Those that existed are not counted, and stay as they are."`
}

// recordingsBody declares the body of added recordings.
var recordingsBody = api.Body[[]any]{Name: "AddRecordings", Of: "recordings", Limit: 32 << 20, Example: schema{"recordings": []any{}}, Fields: []api.Field[[]any]{
	api.Member("recordings", "As in files sluice.recording/v1; at most 1,000.", api.ListType(schema{"type": "object"}, cases.MaxRecordings), func(r *[]any) *[]any { return r }).Required(`"recordings" is missing`),
}}

// moreRoutes returns the routes of recordings, and those that repeat tests and use their results.
func (s testServer) moreRoutes() []api.Route {
	const tests, recordings, tag = "/v1/flow/:flow_id/tests", "/v1/flow/:flow_id/recordings", "Tests"
	edits := []flow.Scope{flow.ScopeEdit}
	return []api.Route{{
		Method: http.MethodPost, Path: tests + "/:test/retry", Scopes: []flow.Scope{flow.ScopeRun}, Handle: s.retryTest, Role: flow.MemberEditor,
		Doc: openapi.Operation{ID: "retryTest", Tag: tag, Summary: "Run a test again", Text: "A new test with the same cases, documents and mode. Runs that succeeded are reused; those that failed, such as after an outage, run again.",
			Params: []string{"Prefer", "Idempotency-Key"}, Problems: []flow.Code{flow.CodeIdempotencyInProgress, flow.CodeIdempotencyMismatch, flow.CodeInvalidHeader, flow.CodeRunNotEnded, flow.CodeScopeMissing, flow.CodeBudgetExceeded, flow.CodePriceUnknown, flow.CodeQuotaExceeded, flow.CodeConcurrencyLimited, flow.CodeQueueFull, flow.CodeDraining, flow.CodeStorageFull, flow.CodeUpgradeInProgress, flow.CodeResultNotSaved, flow.CodeRunExpired},
			Answers: []openapi.Answer{{Status: 202, Text: "The new test has started.", JSON: TestObject{}, Headers: startHeaders}}},
	}, {
		Method: http.MethodPost, Path: tests + "/:test/expect", Scopes: edits, Handle: s.expectResult, Role: flow.MemberEditor, Audit: []string{"case.change"},
		Doc: openapi.Operation{ID: "expectResult", Tag: tag, Summary: "Use a result as expected", Text: "The outputs of the run become the expected values of the case, and the values of its checks equals. A case without such a check gets the check expected.",
			Body: expectBody.Doc(), Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeRunNotEnded, flow.CodeCaseInvalid, flow.CodeQuotaExceeded, flow.CodeStorageFull, flow.CodeUpgradeInProgress},
			Answers: []openapi.Answer{{Status: 200, Text: "The case, as in a file sluice.tests/v1.", Schema: "Case"}}},
	}, {
		Method: get, Path: recordings, Scopes: edits, Handle: s.listRecordings, Role: flow.MemberEditor, Commands: []string{"flow pull"},
		Doc: openapi.Operation{ID: "listRecordings", Tag: tag, Summary: "List the recorded results of a flow", Text: "They hold what models and other services answered.", Params: []string{"limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid}, Answers: openapi.OK("One page of recordings.", RecordingList{})},
	}, {
		Method: http.MethodPost, Path: recordings, Scopes: edits, Handle: s.addRecordings, Role: flow.MemberEditor, Audit: []string{"case.recordings"}, Commands: []string{"flow apply"},
		Doc: openapi.Operation{ID: "addRecordings", Tag: tag, Summary: "Add recorded results to a flow", Text: "So that its cases replay without calls. Results that the flow has already stay as they are.",
			Body: recordingsBody.Doc(), Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeQuotaExceeded, flow.CodeStorageFull, flow.CodeUpgradeInProgress}, Answers: openapi.OK("The recordings are stored.", RecordingsAdded{})},
	}}
}

// readStart reads the headers of a start into a request, whose body was read.
func readStart(c *api.Call, r *library.TestRequest) (err error) {
	if r.IdempotencyKey, err = api.IdempotencyKey(c); err != nil {
		return err
	}
	if r.Wait, err = api.PreferWait(c); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a request: %w", err)
	}
	r.Fingerprint = c.Request().Method + " " + c.Request().URL.Path + " " + flow.Hash(text)
	return nil
}

// startTest is POST tests.
func (s testServer) startTest(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	set, err := testBody.ReadFrom(c)
	if err != nil {
		return err
	}
	r := library.TestRequest{}
	set(&r)
	if err := readStart(c, &r); err != nil {
		return err
	}
	t, run, err := s.StartTest(c.Request().Context(), c.Actor(), c.Key, "", f, r)
	return s.answerStart(c, t, run, r.Wait, err)
}

// retryTest is POST retry.
func (s testServer) retryTest(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	old, _, err := s.findTest(c)
	if err != nil {
		return err
	}
	r := library.TestRequest{}
	if err := readStart(c, &r); err != nil {
		return err
	}
	t, run, err := s.RetryTest(c.Request().Context(), c.Actor(), c.Key, "", f, old, r)
	return s.answerStart(c, t, run, r.Wait, err)
}

// answerStart responds with a test that has started or, with a wait, with one that may have ended.
func (s testServer) answerStart(c *api.Call, t *cases.Test, run *flow.Run, wait time.Duration, err error) error {
	if err != nil {
		return c.LimitRuns(err)
	}
	if wait > 0 {
		release, err := c.Hold()
		if err != nil {
			return err
		}
		run, err = s.await(c.Request().Context(), t.WorkspaceID, t.FlowID, t.RunID, wait)
		release()
		if err != nil {
			return err
		}
		api.Waited(c, wait)
	}
	o, _, err := s.object(c, t, run)
	if err != nil {
		return err
	}
	if o.Estimate, err = s.estimate(c, t); err != nil {
		return err
	}
	c.Response().Header().Set("Location", "/v1/flow/"+string(t.FlowID)+"/tests/"+t.ID)
	return c.WriteJSON(http.StatusAccepted, o)
}

// estimate returns the JSON of what a test will do.
func (s testServer) estimate(c *api.Call, t *cases.Test) (*TestEstimate, error) {
	ctx, store := c.Request().Context(), s.Server.Store
	file, err := store.FindCaseSet(ctx, t.WorkspaceID, t.Spec.Set)
	if err != nil {
		return nil, err
	}
	documents := map[string][]byte{}
	for _, hash := range t.Spec.Documents() {
		if documents[hash], err = store.FindDocument(ctx, t.WorkspaceID, hash); err != nil {
			return nil, err
		}
	}
	e, err := (&estimates.Estimator{Store: store, Kinds: s.kinds, Prices: s.Server.Prices}).Test(ctx, t, file, documents)
	if err != nil {
		return nil, err
	}
	o := &TestEstimate{Steps: e.Steps, Recorded: e.Recorded, Calls: e.Calls}
	if e.Priced {
		usd := e.USD.Dollars()
		o.USD = &usd
	}
	return o, nil
}

// expectResult is POST expect.
func (s testServer) expectResult(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	t, _, err := s.findTest(c)
	if err != nil {
		return err
	}
	set, err := expectBody.ReadFrom(c)
	if err != nil {
		return err
	}
	var r expectRequest
	set(&r)
	now, err := s.Expect(c.Request().Context(), c.Actor(), f, t, r.id, r.candidate)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, now.Object())
}

// listRecordings is GET recordings. The cursor has the hashes and the repeat of the last one.
func (s testServer) listRecordings(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	cursor, limit, err := api.QueryAfter(c)
	if err != nil {
		return err
	}
	after := flow.Recording{Repeat: -1}
	if parts := strings.Split(cursor, "."); len(parts) == 3 {
		after.NodeHash, after.InputHash = parts[0], parts[1]
		after.Repeat, err = strconv.Atoi(parts[2])
	}
	if err != nil || cursor != "" && after.NodeHash == "" {
		return &flow.Error{Code: flow.CodeInputInvalid, Message: "Unknown cursor.", Fields: []flow.Problem{{Pointer: "/cursor", Code: "invalid", Detail: "wanted the next_cursor of an earlier answer"}}}
	}
	list, err := s.Tests.Store.ListRecordings(c.Request().Context(), f.WorkspaceID, f.ID, &after, limit+1)
	if err != nil {
		return err
	}
	o := RecordingList{Recordings: []*flow.Object{}}
	list, o.NextCursor = api.Page(list, limit, func(r *flow.Recording) string {
		return fmt.Sprintf("%s.%s.%d", r.NodeHash, r.InputHash, r.Repeat)
	})
	for i := range list {
		o.Recordings = append(o.Recordings, cases.RecordingObject(&list[i]))
	}
	return c.WriteJSON(http.StatusOK, o)
}

// addRecordings is POST recordings.
func (s testServer) addRecordings(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	set, err := recordingsBody.ReadFrom(c)
	if err != nil {
		return err
	}
	var given []any
	set(&given)
	var list []flow.Recording
	var problems []flow.Problem
	for i, v := range given {
		r, wrong := cases.ParseRecording(v)
		for _, p := range wrong {
			p.Pointer = flow.Pointer("recordings", i) + p.Pointer
			problems = append(problems, p)
		}
		if len(wrong) == 0 {
			list = append(list, *r)
		}
	}
	if err := api.Invalid(problems[:min(len(problems), maxRecordingProblems)]...); err != nil {
		return err
	}
	added, err := s.AddRecordings(c.Request().Context(), c.Actor(), f, list)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, RecordingsAdded{added})
}

// maxRecordingProblems is how many problems of a request are listed.
const maxRecordingProblems = 100
