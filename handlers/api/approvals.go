package api

import (
	"maps"
	"net/http"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/web"
)

// approvalObject is the JSON of a question that a run asks people.
type approvalObject struct {
	Path      string          `json:"path" doc:"The step that asks."`
	Node      string          `json:"node"`
	Title     string          `json:"title"`
	Message   string          `json:"message" doc:"Markdown."`
	Call      *askedCall      `json:"call" doc:"The call of a tool that an agent asks about; values are its arguments. null for the question of a node."`
	Values    []approvalValue `json:"values"`
	Audience  flow.Audience   `json:"audience"`
	Status    approvalStatus  `json:"status" doc:"closed: the run ended before an answer."`
	CreatedAt stampOrNull     `json:"created_at"`
	ExpiresAt stampOrNull     `json:"expires_at"`
	Decision  *decisionObject `json:"decision" doc:"null while the question is open."`
}

// approvalStatus is the outcome of a question, or open or closed if it has none.
type approvalStatus string

// askedCall is the JSON of a call that an agent makes once people allow it. The model chose it, and may have been misled.
type askedCall struct {
	Tool        string          `json:"tool"`
	Node        string          `json:"node" doc:"The node that is the tool."`
	Effect      flow.Effect     `json:"effect"`
	Destination string          `json:"destination" doc:"The host that the call reaches, if it is known."`
	Bound       []approvalValue `json:"bound" doc:"What the flow sets of the call. It cannot be edited."`
	Reason      string          `json:"reason" doc:"What the model said beside the call."`
	Untrusted   bool            `json:"untrusted" doc:"The conversation has content from outside."`
	Wider       []string        `json:"wider" doc:"What the flow that is the tool can do, and could not when the agent was published, such as sends data to api.example.com."`
	All         bool            `json:"all" doc:"An approval can cover all calls of the tool in this run."`
}

// approvalValue is the JSON of one value that a question shows. An answer may change it
// if it is editable.
type approvalValue struct {
	Name     string `json:"name"`
	Value    any    `json:"value"`
	Editable bool   `json:"editable"`
}

// decisionObject is the JSON of an answer.
type decisionObject struct {
	Outcome flow.Outcome      `json:"outcome"`
	Values  map[string]any    `json:"values" doc:"The values that were edited."`
	All     bool              `json:"all" doc:"It covers all calls of the tool in this run."`
	Comment string            `json:"comment"`
	By      string            `json:"by" doc:"Name of the member or the key; empty for an answer through the link."`
	ByType  flow.AnswererType `json:"by_kind" doc:"Empty for a question that expired."`
	At      stampOrNull       `json:"at"`
}

// approvalList is all questions of a run, on one page.
type approvalList struct {
	Approvals []approvalObject `json:"approvals"`
}

// newApprovalObject returns the JSON of a question. Without an answer, its status is open until
// the run ends, then closed.
func newApprovalObject(a *flow.Approval) approvalObject {
	o := approvalObject{
		Path: a.Path, Node: a.Node, Title: a.Question.Title, Message: a.Question.Message, Values: []approvalValue{}, Audience: a.Question.Audience,
		Status: "open", CreatedAt: stampOrNull(a.CreatedAt), ExpiresAt: stampOrNull(a.ExpiresAt),
	}
	for _, v := range a.Question.Values {
		o.Values = append(o.Values, approvalValue(v))
	}
	if c := a.Question.Call; c != nil {
		o.Call = &askedCall{Tool: c.Tool, Node: c.Node, Effect: c.Effect, Destination: c.Destination, Bound: []approvalValue{}, Reason: c.Reason, Untrusted: c.Untrusted, Wider: append([]string{}, c.Wider...), All: c.All}
		for _, v := range c.Bound {
			o.Call.Bound = append(o.Call.Bound, approvalValue(v))
		}
	}
	switch d := a.Decision; {
	case d != nil:
		o.Status = approvalStatus(d.Outcome)
		o.Decision = &decisionObject{Outcome: d.Outcome, Values: maps.Collect(maps.All(d.Values)), Comment: d.Comment, All: d.All, By: d.By.Name, ByType: d.By.Type, At: stampOrNull(d.At)}
	case a.Closed:
		o.Status = "closed"
	}
	return o
}

// findApprovalRun returns the run of the path if the key may see it or may answer its questions.
func (c *Call) findApprovalRun() (*flow.Run, error) {
	run, err := c.findRunIf(func(run *flow.Run) bool { return c.Key.Has(flow.ScopeApprove) || c.maySee(run) })
	if err == nil {
		err = CheckContent(run)
	}
	return run, err
}

// listApprovals is GET approvals: the questions of a run, including answered ones.
func (s *Server) listApprovals(c *Call) error {
	run, err := c.findApprovalRun()
	if err != nil {
		return err
	}
	approvals, err := s.Store.ListApprovals(c.Request().Context(), run.WorkspaceID, run.ID)
	if err != nil {
		return err
	}
	list := approvalList{Approvals: []approvalObject{}}
	for i := range approvals {
		list.Approvals = append(list.Approvals, newApprovalObject(&approvals[i]))
	}
	return c.WriteJSON(http.StatusOK, list)
}

// decisionBody declares an answer.
var decisionBody = Body[flow.Decision]{Name: "Decision", Of: "an answer", Unknown: "unknown", Example: map[string]any{"decision": "approved", "comment": "Looks good."}, Fields: []Field[flow.Decision]{
	Member("decision", "", EnumType("not_allowed", flow.OutcomeApproved, flow.OutcomeRejected), func(d *flow.Decision) *flow.Outcome { return &d.Outcome }).Required("send approved or rejected"),
	SetMember("values", "New values of editable ones, by name. A value keeps its type.", ObjectType.OrAbsent(), func(d *flow.Decision, values *flow.Object) { d.Values = values.Map() }),
	Member("all", "Also answers the other calls of the tool in this run, until the agent reads more content from outside.", BoolType.OrAbsent(), func(d *flow.Decision) *bool { return &d.All }),
	Member("comment", "", TextType.OrAbsent().With("maxLength", flow.MaxComment), func(d *flow.Decision) *string { return &d.Comment }),
}}

// decideApproval is POST approval: it answers a question.
func (s *Server) decideApproval(c *Call) error {
	run, err := c.findApprovalRun()
	if err != nil {
		return err
	}
	set, err := decisionBody.ReadFrom(c)
	if err != nil {
		return err
	}
	decision := flow.Decision{By: flow.Answerer{Type: flow.ByKey, ID: c.Actor().ID, Name: c.Key.Name}}
	set(&decision)
	approval, err := s.Library.Answer(c.Request().Context(), library.Answer{
		WorkspaceID: run.WorkspaceID, RunID: run.ID, Path: c.Param("path"), IP: web.RemoteIP(c.Request()),
		Decision: decision,
	})
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, newApprovalObject(approval))
}
