package admin

import (
	"net/http"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// JudgeObject is the JSON of a judge of a flow.
type JudgeObject struct {
	Model     string   `json:"model"`
	Rubric    string   `json:"rubric"`
	Marks     int      `json:"marks" doc:"How many of its verdicts people marked."`
	Agreed    int      `json:"agreed" doc:"How many of these are right."`
	Agreement *float64 `json:"agreement" doc:"The share, from 0 to 1; null without marks."`
	Warning   string   `json:"warning" doc:"Empty if nothing is wrong."`
	MayDecide bool     `json:"may_decide" doc:"It can decide a gate without other checks: at least 20 marks, and 95 % of them right."`
}

// JudgeList is the JSON of the judges of a flow.
type JudgeList struct {
	Judges []JudgeObject `json:"judges"`
}

// markBody declares a mark of a verdict.
var markBody = api.Body[cases.JudgeMark]{Name: "JudgeMark", Of: "a mark", Example: schema{"case": "refund-late", "check": "judge", "right": true}, Fields: []api.Field[cases.JudgeMark]{
	api.Member("case", "ID of the case.", api.TextType, func(m *cases.JudgeMark) *string { return &m.Case }).Required("send the ID of a case"),
	api.Member("check", "Name of the judge as in the report.", api.TextType, func(m *cases.JudgeMark) *string { return &m.Check }).Required("send the name of the check"),
	api.Member("right", "Whether the verdict is right.", api.BoolType, func(m *cases.JudgeMark) *bool { return &m.Right }).Required("send true or false"),
	api.Member("candidate", "Index of the candidate.", indexType.OrAbsent().With("default", 0), func(m *cases.JudgeMark) *int { return &m.Candidate }),
	api.Member("repeat", "From 0.", indexType.OrAbsent().With("default", 0), func(m *cases.JudgeMark) *int { return &m.Repeat }),
}}

var indexType = api.Type[int]{Schema: schema{"type": "integer", "minimum": 0, "maximum": cases.MaxCandidates}, Wanted: "a whole number from 0 to 20", As: func(v any) (int, bool) {
	n, ok := api.AsWhole(v, 0, cases.MaxCandidates)
	return int(n), ok
}}

// notesBody declares the notes of a report.
var notesBody = api.Body[cases.Test]{Name: "TestNotes", Of: "notes", Example: schema{"notes": "The new prompt is shorter."}, Fields: []api.Field[cases.Test]{
	api.Member("notes", "The text; empty removes it.", api.TextType.With("maxLength", cases.MaxNotes), func(t *cases.Test) *string { return &t.Notes }).Required("send a text"),
}}

// judgeRoutes returns the routes of judges, and of the notes of people.
func (s testServer) judgeRoutes(tests, tag string) []api.Route {
	return []api.Route{{
		Method: get, Path: "/v1/flow/:flow_id/judges", Scopes: []flow.Scope{flow.ScopeRead, flow.ScopeEdit, flow.ScopeManage}, Handle: s.listJudges, Role: flow.MemberViewer,
		Doc: openapi.Operation{ID: "listJudges", Tag: tag, Summary: "Check the judges of a flow", Text: "How often people agree with the verdicts of the judges in its cases.", Answers: openapi.OK("The judges, each once.", JudgeList{})},
	}, {
		Method: http.MethodPost, Path: tests + "/:test/marks", Scopes: []flow.Scope{flow.ScopeEdit}, Handle: s.markVerdict, Role: flow.MemberEditor,
		Doc: openapi.Operation{ID: "markVerdict", Tag: tag, Summary: "Mark the verdict of a judge as right or wrong", Text: "Another mark of the same verdict replaces it.",
			Body: markBody.Doc(), Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeStorageFull}, Answers: openapi.NoContent("Marked.")},
	}, {
		Method: http.MethodPut, Path: tests + "/:test/notes", Scopes: []flow.Scope{flow.ScopeEdit}, Handle: s.putNotes, Role: flow.MemberEditor,
		Doc: openapi.Operation{ID: "putTestNotes", Tag: tag, Summary: "Write notes about a report", Text: "They are kept as long as the report. Other notes replace them.",
			Body: notesBody.Doc(), Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeStorageFull, flow.CodeQuotaExceeded}, Answers: openapi.NoContent("Stored.")},
	}}
}

// listJudges is GET judges.
func (s testServer) listJudges(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	list, err := s.Judges(c.Request().Context(), f)
	if err != nil {
		return err
	}
	o := JudgeList{Judges: []JudgeObject{}}
	for i := range list {
		j := &list[i]
		rubric, _ := j.Value.(string)
		one := JudgeObject{Model: j.Model, Rubric: rubric, Marks: j.Marks, Agreed: j.Agreed, Warning: j.Warning(), MayDecide: j.MayDecide()}
		if rate, _ := j.Rate(); j.Marks > 0 {
			one.Agreement = &rate
		}
		o.Judges = append(o.Judges, one)
	}
	return c.WriteJSON(http.StatusOK, o)
}

// markVerdict is POST marks.
func (s testServer) markVerdict(c *api.Call) error {
	t, _, err := s.findTest(c)
	if err != nil {
		return err
	}
	set, err := markBody.ReadFrom(c)
	if err != nil {
		return err
	}
	m := cases.JudgeMark{}
	set(&m)
	if err := s.MarkVerdict(c.Request().Context(), c.Actor(), t, m); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// putNotes is PUT notes.
func (s testServer) putNotes(c *api.Call) error {
	t, _, err := s.findTest(c)
	if err != nil {
		return err
	}
	set, err := notesBody.ReadFrom(c)
	if err != nil {
		return err
	}
	wanted := cases.Test{}
	set(&wanted)
	if err := s.SetNotes(c.Request().Context(), c.Actor(), t, wanted.Notes); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
