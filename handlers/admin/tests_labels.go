package admin

import (
	"net/http"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// LabelProblem is the JSON of what is wrong with a row of labels.
type LabelProblem = cases.LabelProblem

// CasesLabeled is the response to labels.
type CasesLabeled struct {
	Labeled  int            `json:"labeled" doc:"Cases that expect what the table says."`
	Changed  int            `json:"changed" doc:"Of these, that did not before."`
	Problems []LabelProblem `json:"problems" doc:"What is wrong, by row; row 1 is the header. At most 100. Without on_invalid, nothing is stored if there are any."`
}

// labelRequest is a table of labels.
type labelRequest struct {
	csv           string
	skip, preview bool
}

// labelBody declares the request with labels.
var labelBody = api.Body[labelRequest]{Name: "LabelCases", Of: "labels", Limit: 16 << 20, Example: schema{"csv": "case,label\nrefund-late,refund\nvat-id,invoice\n"}, Fields: []api.Field[labelRequest]{
	api.Member("csv", "A table: the column case has IDs or names of cases, each other column an output. Separated by commas, semicolons or tabs. An empty cell leaves its output as it is.", api.TextType, func(r *labelRequest) *string { return &r.csv }).Required("send a table"),
	api.SetMember("on_invalid", "skip: stores the rows that are right. Default: stores nothing if a row is wrong.", api.EnumType("not_allowed", "skip"), func(r *labelRequest, v string) { r.skip = v == "skip" }),
	api.Member("preview", "Checks the table and stores nothing.", api.BoolType.OrAbsent(), func(r *labelRequest) *bool { return &r.preview }),
}}

// labelRoute returns the route that labels cases.
func (s testServer) labelRoute(list, tag string) api.Route {
	return api.Route{
		Method: http.MethodPost, Path: list + "/labels", Scopes: []flow.Scope{flow.ScopeEdit}, Handle: s.labelCases, Tool: "label_cases", Role: flow.MemberEditor, Audit: []string{"case.labels"}, Commands: []string{"case label"},
		Doc: openapi.Operation{ID: "labelCases", Tag: tag, Summary: "Set the expected outputs of many test cases", Text: "From a CSV table with a row for each case. A case that compared no output gets the check expected.",
			Body: labelBody.Doc(), Problems: []flow.Code{flow.CodeInputInvalid, flow.CodeCaseInvalid, flow.CodeQuotaExceeded, flow.CodeStorageFull, flow.CodeUpgradeInProgress}, Answers: openapi.OK("What was stored, and what is wrong.", CasesLabeled{})},
	}
}

// labelCases is POST labels.
func (s testServer) labelCases(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	set, err := labelBody.ReadFrom(c)
	if err != nil {
		return err
	}
	var r labelRequest
	set(&r)
	d, _ := document.ParseDocument(f.Draft)
	if d == nil {
		return flow.Errorf(flow.CodeDocumentInvalid, "The draft cannot be read.")
	}
	var outputs []string
	for _, o := range contract.Outputs(d, s.kinds) {
		outputs = append(outputs, o.Name)
	}
	labeled, changed, problems, err := s.Label(c.Request().Context(), c.Actor(), f, r.csv, outputs, r.skip, r.preview)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, CasesLabeled{labeled, changed, append([]LabelProblem{}, problems...)})
}
