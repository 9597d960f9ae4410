package admin

import (
	"fmt"
	"net/http"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/library"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// CaseFromRun is the JSON of the outcome for a run.
type CaseFromRun struct {
	RunID      flow.RunID   `json:"run_id"`
	ID         *string      `json:"id" doc:"Of the case; null if the run was left out."`
	Created    bool         `json:"created" doc:"The case was stored, and is new."`
	Skipped    string       `json:"skipped" doc:"Why the run was left out, such as another case with the same inputs; empty if it was not."`
	Unrecorded []string     `json:"unrecorded" doc:"Nodes whose results are not recorded, because they go into a field for a secret. Give the case stubs of them."`
	Case       *flow.Object `json:"case" doc:"As in a file sluice.tests/v1; null if the run was left out."`
}

// CasesFromRuns is the response to a request for cases from runs.
type CasesFromRuns struct {
	Cases []CaseFromRun `json:"cases"`
}

// runFilterBody declares which runs become cases.
var runFilterBody = api.Body[flow.RunFilter]{Name: "CaseRuns", Of: "a filter of runs", Fields: []api.Field[flow.RunFilter]{
	api.SetMember("status", "How the runs ended. Default: succeeded or failed.", api.ListType(schema{"type": "string", "enum": []any{"succeeded", "failed", "canceled"}}, 3), func(f *flow.RunFilter, list []any) {
		for _, v := range list {
			text, _ := v.(string)
			f.States = append(f.States, flow.RunState(text))
		}
	}),
	api.Member("created_after", "", timeType.OrAbsent(), func(f *flow.RunFilter) *time.Time { return &f.CreatedAfter }),
	api.Member("created_before", "", timeType.OrAbsent(), func(f *flow.RunFilter) *time.Time { return &f.CreatedBefore }),
}}

var (
	runFilterType = api.BodyType(&runFilterBody)
	sampleType    = api.Type[int]{Schema: schema{"type": "integer", "minimum": 1, "maximum": cases.MaxCases}, Wanted: "a whole number from 1 to 1000", As: func(v any) (int, bool) {
		n, ok := api.AsWhole(v, 1, cases.MaxCases)
		return int(n), ok
	}}
)

// fromRunsBody declares the request for cases from runs.
var fromRunsBody = api.Body[library.FromRuns]{Name: "CasesFromRuns", Of: "a request for cases", Example: schema{"filter": schema{"status": []any{"failed"}}, "sample": 20}, Fields: []api.Field[library.FromRuns]{
	api.SetMember("runs", "IDs of runs of the flow, instead of a filter.", textsType.OrAbsent(), func(r *library.FromRuns, list []string) {
		for _, id := range list {
			r.Runs = append(r.Runs, flow.RunID(id))
		}
	}),
	api.SetMember("filter", "The newest 1,000 runs that match are looked at.", runFilterType.OrAbsent(), func(r *library.FromRuns, f *flow.RunFilter) { r.Filter = *f }),
	api.Member("sample", "How many cases are made of the runs of the filter.", sampleType.OrAbsent().With("default", 50), func(r *library.FromRuns) *int { return &r.Sample }),
	api.Member("spread", "status: as many of each way in which runs ended. switch: as many of each set of branches that ran. Default: the newest runs.",
		api.EnumType("invalid", cases.Spreads...).OrAbsent(), func(r *library.FromRuns) *cases.Spread { return &r.Spread }),
	api.SetMember("secrets", "By secret input: the name of the credential that stands for its value in the cases. Default: the name of the input.", api.ObjectType.OrAbsent(), func(r *library.FromRuns, o *flow.Object) {
		r.Secrets = map[string]string{}
		for name, v := range o.All() {
			r.Secrets[name], _ = v.(string)
		}
	}),
	api.Member("tags", "Tags of the cases.", textsType.OrAbsent(), func(r *library.FromRuns) *[]string { return &r.Tags }),
	api.Member("preview", "Shows the cases and stores nothing.", api.BoolType.OrAbsent(), func(r *library.FromRuns) *bool { return &r.Preview }),
}}

// fromRunsRoute returns the route that makes cases from runs.
func (s testServer) fromRunsRoute(list, tag string) api.Route {
	return api.Route{
		Method: http.MethodPost, Path: list + "/from-runs", Scopes: []flow.Scope{flow.ScopeEdit}, Handle: s.casesFromRuns, Role: flow.MemberEditor, Audit: []string{"case.change"}, Commands: []string{"case from-run"},
		Doc: openapi.Operation{ID: "casesFromRuns", Tag: tag, Summary: "Make test cases from runs",
			Text: "A case has the inputs of its run, the outputs as expected ones, suggested checks, and the answers of people; the results of models and services are recorded, so that it can be replayed at once. A run that failed gives a case without expected outputs, which counts once it has some. " +
				"Secrets are left out. Runs with the same inputs as a case, and runs whose content is gone or was not to be saved, are left out. Needs the scope read, too.",
			Body: fromRunsBody.Doc(), Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeScopeMissing, flow.CodeCaseInvalid, flow.CodeResultNotSaved, flow.CodeRunExpired, flow.CodeRunNotEnded, flow.CodeQuotaExceeded, flow.CodeStorageFull, flow.CodeUpgradeInProgress},
			Answers: openapi.OK("The outcome for each run.", CasesFromRuns{})},
	}
}

// casesFromRuns is POST from-runs.
func (s testServer) casesFromRuns(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	set, err := fromRunsBody.ReadFrom(c)
	if err != nil {
		return err
	}
	r := library.FromRuns{}
	set(&r)
	if !c.Key.Has(flow.ScopeRead) {
		return flow.Errorf(flow.CodeScopeMissing, "Cases from runs have their content, so the key needs the scope read.")
	}
	if len(r.Runs) > cases.MaxCases {
		return &flow.Error{Code: flow.CodeInputInvalid, Message: "Too many runs.", Fields: []flow.Problem{{Pointer: "/runs", Code: "too_many", Detail: fmt.Sprintf("at most %d, got %d", cases.MaxCases, len(r.Runs))}}}
	}
	made, err := s.FromRuns(c.Request().Context(), c.Actor(), f, r)
	if err != nil {
		return err
	}
	o := CasesFromRuns{Cases: []CaseFromRun{}}
	for i := range made {
		m := &made[i]
		one := CaseFromRun{RunID: m.RunID, Created: m.Created, Skipped: m.Skipped, Unrecorded: append([]string{}, m.Unrecorded...)}
		if m.Case != nil {
			one.ID, one.Case = &m.Case.ID, m.Case.Object()
		}
		o.Cases = append(o.Cases, one)
	}
	return c.WriteJSON(http.StatusOK, o)
}

// tested is what a test runs: cases by their IDs, or runs.
type tested struct {
	cases []string
	runs  *library.FromRuns
}

// backtestBody declares the runs that a test is run on.
var backtestBody = api.Body[library.FromRuns]{Name: "Backtest", Of: "a choice of runs", Fields: []api.Field[library.FromRuns]{
	api.SetMember("filter", "The newest 1,000 runs that match and succeeded are looked at.", runFilterType.OrAbsent(), func(r *library.FromRuns, f *flow.RunFilter) { r.Filter = *f }),
	api.Member("limit", "How many runs.", sampleType.OrAbsent().With("default", 50), func(r *library.FromRuns) *int { return &r.Sample }),
	api.Member("spread", "switch: as many of each set of branches that ran. Default: the newest runs.", api.EnumType("invalid", cases.SpreadSwitch).OrAbsent(), func(r *library.FromRuns) *cases.Spread { return &r.Spread }),
}}

var (
	backtestType = api.BodyType(&backtestBody)
	testedBody   = api.Body[tested]{Name: "TestedRuns", Of: "what is tested", Fields: []api.Field[tested]{
		api.Member("runs", "", backtestType, func(t *tested) **library.FromRuns { return &t.runs }).Required("send a filter, or an empty object"),
	}}
	testedRuns = api.BodyType(&testedBody)
	testedType = api.Type[tested]{Schema: schema{"oneOf": []any{textsType.Schema, testedRuns.Schema}}, Read: func(v any) (t tested, problems []flow.Problem) {
		if _, isObject := flow.AsObject(v); isObject {
			r, wrong := testedRuns.Read(v)
			if len(wrong) == 0 {
				t = *r
			}
			return t, wrong
		}
		ids, ok := asTexts(v)
		if !ok {
			return t, []flow.Problem{{Code: "wrong_type", Detail: "wanted a list of IDs, or an object with runs"}}
		}
		return tested{cases: ids}, nil
	}}
)
