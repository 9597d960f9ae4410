package forms

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/wording"
	"sluice/handlers/web"
	"sluice/markdown"
	"sluice/views/components"
	formsview "sluice/views/forms"
	"sluice/views/layout"
)

// approvalRoutes returns the routes of approvals: by a link, which needs no session,
// and for members in the dashboard.
func (s *Server) approvalRoutes() []route {
	return []route{
		{http.MethodGet, "/approval/:token", web.Open, (*call).showLinked},
		{http.MethodPost, "/approval/:token", web.Open, web.Posted((*call).answerLinked)},
		{http.MethodGet, "/approvals", web.Viewer, (*call).listApprovals},
		{http.MethodGet, "/approvals/:run/:path", web.Viewer, (*call).showApproval},
		{http.MethodPost, "/approvals/:run/:path", web.Editor, web.Posted((*call).answerApproval)},
	}
}

// approvalsShown is the largest number of open questions in the list.
const approvalsShown = 200

// listApprovals is GET /approvals: the open questions of the workspace.
func (c *call) listApprovals() error {
	open, err := c.s.Store.OpenApprovals(c.Ctx(), c.WorkspaceID(), approvalsShown)
	if err != nil {
		return err
	}
	names := map[flow.FlowID]string{}
	rows := make([]formsview.ApprovalRow, len(open))
	for i := range open {
		a := &open[i]
		if names[a.FlowID] == "" {
			names[a.FlowID] = c.flowName(a)
		}
		rows[i] = formsview.ApprovalRow{
			Title: a.Question.Title, Flow: names[a.FlowID], Path: web.ApprovalPath(a.RunID, a.Path), Asked: a.CreatedAt, Expires: a.ExpiresAt, Now: c.s.Now(),
		}
	}
	return c.Render(http.StatusOK, formsview.Approvals(c.Page("Waiting for you", layout.SectionRuns), rows))
}

// flowName returns the name of the flow that asks, or a substitute.
func (c *call) flowName(a *flow.Approval) string {
	f, err := c.s.Store.FindFlow(c.Ctx(), a.WorkspaceID, a.FlowID)
	if err != nil {
		return "A deleted flow"
	}
	return cmp.Or(f.Name, "Untitled flow")
}

// askerName returns the name of the member who started the run, or "" if it was a
// program.
func (a *approvalCall) askerName() string {
	run, err := a.s.Store.FindRun(a.Ctx(), a.approval.WorkspaceID, "", a.approval.RunID)
	if err != nil || run.UserID == "" {
		return ""
	}
	m, err := a.s.Store.FindMember(a.Ctx(), a.approval.WorkspaceID, run.UserID)
	if err != nil {
		return ""
	}
	return m.Name
}

// workspaceName returns the name of the workspace, or "" if it cannot be read: a
// question can be answered without it.
func (a *approvalCall) workspaceName() string {
	w, err := a.s.Store.FindWorkspace(a.Ctx(), a.approval.WorkspaceID)
	if err != nil {
		return ""
	}
	return w.Name
}

// approvalCall is a request about one question.
type approvalCall struct {
	*call
	approval *flow.Approval
	by       flow.Answerer
	email    string // of the member who is signed in
	path     string // of the page
}

// findLinked returns the question of the link in the path. Mail programs open links before
// their recipients do, so GET has no effect; an answer is a POST.
func (c *call) findLinked() (*approvalCall, error) {
	h := c.Response().Header()
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	token := c.Param("token")
	approval, err := c.s.Store.FindApprovalByToken(c.Ctx(), flow.Hash([]byte(token)))
	if err != nil {
		return nil, err
	}
	return &approvalCall{call: c, approval: approval, by: flow.Answerer{Type: flow.ByLink, Name: c.Trimmed("name")}, path: flow.ApprovalLink(url.PathEscape(token))}, nil
}

// findForMember returns the question in the path for the signed-in member.
func (c *call) findForMember() (*approvalCall, error) {
	approval, err := c.s.Store.FindApproval(c.Ctx(), c.WorkspaceID(), flow.RunID(c.Param("run")), c.Param("path"))
	if err != nil {
		return nil, err
	}
	m := c.Member
	return &approvalCall{call: c, approval: approval, by: flow.Answerer{Type: flow.ByMember, ID: m.UserID, Name: cmp.Or(m.Name, m.Email)}, email: m.Email,
		path: web.ApprovalPath(approval.RunID, approval.Path)}, nil
}

func (c *call) showLinked() error   { return show(c.findLinked()) }
func (c *call) showApproval() error { return show(c.findForMember()) }

// show renders an open, answered or expired question. It takes the results of findLinked or
// findForMember.
func show(a *approvalCall, err error) error {
	if err != nil {
		return err
	}
	return a.render(http.StatusOK, a.page(nil))
}

func (c *call) answerLinked() error   { return answer(c.findLinked()) }
func (c *call) answerApproval() error { return answer(c.findForMember()) }

// answer records the submitted answer. If the question was already answered, the page shows
// by whom.
func answer(a *approvalCall, err error) error {
	if err != nil {
		return err
	}
	values, problem := a.editedValues()
	if problem == nil {
		_, err = a.s.Library.Answer(a.Ctx(), library.Answer{
			WorkspaceID: a.approval.WorkspaceID, RunID: a.approval.RunID, Path: a.approval.Path, Email: a.email, IP: a.IP(),
			Decision: flow.Decision{
				Outcome: flow.Outcome(a.FormValue("decision")), Values: values, Comment: a.Trimmed("comment"), By: a.by,
				All: a.FormValue("all") != "" && a.FormValue("decision") == string(flow.OutcomeApproved),
			},
		})
		switch {
		case err == nil && a.inBuilder():
			return showAnswered(a)
		case err == nil:
			return a.Redirect(a.path)
		}
		if problem, err = problemOf(err); err != nil {
			return err
		}
	}
	if current, findErr := a.s.Store.FindApproval(a.Ctx(), a.approval.WorkspaceID, a.approval.RunID, a.approval.Path); findErr == nil {
		a.approval = current
	}
	status := http.StatusUnprocessableEntity
	if problem.Code == flow.CodeAlreadyDecided {
		status = http.StatusConflict
	}
	return a.render(status, a.page(problem))
}

// inBuilder reports whether the question is a card in the builder: it is asked for by htmx, and
// by a member.
func (a *approvalCall) inBuilder() bool { return a.IsFragment() && a.by.Type == flow.ByMember }

// showAnswered renders the card of a question that was just answered.
func showAnswered(a *approvalCall) error {
	answered, err := a.findForMember()
	if err != nil {
		return err
	}
	return a.render(http.StatusOK, answered.page(nil))
}

// problemOf returns an error as a problem if the user can fix it. Other errors are
// returned unchanged.
func problemOf(err error) (*flow.Error, error) {
	var e *flow.Error
	if errors.As(err, &e) && (e.Code == flow.CodeInputInvalid || e.Code == flow.CodeAlreadyDecided || e.Code == flow.CodeAnswerNotAllowed) {
		return e, nil
	}
	return nil, err
}

// render renders a question inside the dashboard for members, as a card in the builder, and as a
// public page for a link.
func (a *approvalCall) render(status int, p formsview.ApprovalPage) error {
	if a.by.Type == flow.ByLink {
		public := formsview.PublicPage{Page: layout.Page{Title: p.Title, Theme: a.Theme()}, Path: a.path, Unlisted: true}
		return a.Render(status, formsview.Approval(public, p))
	}
	if a.inBuilder() {
		return a.Render(status, formsview.ApprovalCard(p))
	}
	return a.Render(status, formsview.MemberApproval(a.Page(p.Title, layout.SectionRuns), p))
}

// page returns the view of an open question, or of its outcome.
func (a *approvalCall) page(problem *flow.Error) formsview.ApprovalPage {
	q := &a.approval.Question
	p := formsview.ApprovalPage{
		Title: q.Title, Message: messageHTML(q), Flow: a.flowName(a.approval), Expires: a.approval.ExpiresAt, Now: a.s.Now(),
		Path: a.path, AskName: a.by.Type == flow.ByLink, Name: a.FormValue("name"), Comment: a.FormValue("comment"),
	}
	p.Asker, p.Workspace = a.askerName(), a.workspaceName()
	p.Call, p.All = callView(q.Call), a.FormValue("all") != ""
	if p.Done = a.outcome(problem); p.Done != nil {
		return p
	}
	if problem != nil {
		p.Error = problem.Error()
	}
	if err := q.MayAnswer(a.by, a.email, flow.Starter{}); err != nil {
		p.Barred = flow.AsError(err).Sentence()
	} else if a.Member != nil && a.by.Type == flow.ByMember && !a.MayEdit() {
		p.Barred = "Viewers cannot answer. Ask an owner to make you an editor."
	}
	for _, v := range q.Values {
		f := a.field(v, p.Barred == "")
		if q.Call != nil {
			asPlainText(&f, v)
		}
		p.Values = append(p.Values, f)
	}
	return p
}

// callView returns the view of a call, or nil.
func callView(c *flow.AskedCall) *formsview.ApprovalCall {
	if c == nil {
		return nil
	}
	view := &formsview.ApprovalCall{
		Tool: c.Tool, Destination: flow.ShowInvisible(c.Destination), Write: c.Effect == flow.EffectWrite, Reason: flow.ShowInvisible(c.Reason), Untrusted: c.Untrusted, All: c.All, Wider: c.Wider,
	}
	for _, v := range c.Bound {
		view.Bound = append(view.Bound, formsview.ApprovalText{Name: v.Name, Text: plainText(v.Value)})
	}
	return view
}

// asPlainText shows an argument of a call by its own name and as plain text.
func asPlainText(f *formsview.ApprovalField, v flow.ApprovalValue) {
	f.Plain = &formsview.ApprovalText{Name: v.Name, Text: plainText(v.Value)}
	if c := f.Control; c != nil {
		c.Label = v.Name
		if text := flow.Text(v.Value); flow.Visible(text) != text {
			c.Help = "With its invisible characters: " + f.Plain.Text
		}
	}
}

// plainText returns a value as a text in which nothing is hidden.
func plainText(v any) string {
	text, isText := v.(string)
	if !isText {
		text = string(flow.EncodeJSON(v))
	}
	return flow.ShowInvisible(text)
}

// messageHTML returns the message of a question as HTML. Questions of older versions were
// stored without it.
func messageHTML(q *flow.Question) string {
	if q.Rendered == "" && q.Message != "" {
		return markdown.HTML(q.Message)
	}
	return q.Rendered
}

// outcome returns how the question ended, or nil while it is open.
func (a *approvalCall) outcome(problem *flow.Error) *formsview.ApprovalDone {
	d := a.approval.Decision
	switch {
	case d != nil:
		by := ""
		if d.Outcome != flow.OutcomeExpired {
			by = d.By.Label()
		}
		done := &formsview.ApprovalDone{State: string(d.Outcome), By: by, At: d.At, Comment: d.Comment, Call: a.approval.Question.Call != nil}
		for _, v := range a.approval.Question.Values {
			if value, edited := d.Values[v.Name]; edited {
				name := formsview.NameWords(v.Name)
				if done.Call {
					name, value = v.Name, plainText(value)
				}
				done.Values = append(done.Values, components.ValueView{Name: name, Value: value})
			}
		}
		if problem != nil && problem.Code == flow.CodeAlreadyDecided {
			done.Late = strings.TrimSuffix(problem.Sentence(), ".") + " on " + wording.Moment(d.At) + ". Your answer was not needed."
		}
		return done
	case a.approval.Closed:
		if run, err := a.s.Store.FindRun(a.Ctx(), a.approval.WorkspaceID, "", a.approval.RunID); err == nil && run.State == flow.RunCanceled {
			return &formsview.ApprovalDone{State: "canceled", At: run.EndedAt}
		}
		return &formsview.ApprovalDone{State: "closed"}
	case !a.s.Now().Before(a.approval.ExpiresAt):
		return &formsview.ApprovalDone{State: string(flow.OutcomeExpired), At: a.approval.ExpiresAt}
	}
	return nil
}

// valuePrefix is the prefix of the names of value fields.
const valuePrefix = "value."

// field returns the view of a value. An editable value has a control for its JSON type;
// files are never editable.
func (a *approvalCall) field(v flow.ApprovalValue, mayAnswer bool) formsview.ApprovalField {
	f := formsview.ApprovalField{View: components.ValueView{Name: formsview.NameWords(v.Name), Value: v.Value, All: true, Files: a.fileURL}}
	kind := flow.TypeOf(v.Value)
	if !v.Editable || !mayAnswer || kind == "file" {
		return f
	}
	control := components.Field{Name: valuePrefix + v.Name, Label: f.View.Name, Value: flow.Text(v.Value), Optional: kind == "text", Size: "large"}
	if typed, sent := a.Request().PostForm[control.Name]; sent {
		control.Value = typed[0]
	}
	switch kind {
	case "number":
		control.Type, control.Attrs = "number", map[string]any{"step": "any"}
	case "boolean":
		control.Options = []components.Option{{Value: "true", Label: "Yes"}, {Value: "false", Label: "No"}}
	case "text":
	default:
		control.Mono, control.Help = true, "JSON"
	}
	f.Control = &control
	return f
}

// fileURL returns a signed link to a file that expires with the question.
func (a *approvalCall) fileURL(id string) string {
	return a.s.fileURL(a.approval.WorkspaceID, id, a.approval.ExpiresAt)
}

// editedValues parses the submitted values as the types of the original values.
func (a *approvalCall) editedValues() (map[string]any, *flow.Error) {
	values := map[string]any{}
	for _, v := range a.approval.Question.Values {
		typed, sent := a.Request().PostForm[valuePrefix+v.Name]
		if !sent || !v.Editable {
			continue
		}
		value, err := parseValue(flow.TypeOf(v.Value), typed[0])
		if err != nil {
			return nil, flow.Errorf(flow.CodeInputInvalid, "%s: %s.", formsview.NameWords(v.Name), err)
		}
		values[v.Name] = value
	}
	return values, nil
}

// parseValue parses the text of a field as a value of a type.
func parseValue(kind, text string) (any, error) {
	switch kind {
	case "text":
		return strings.ReplaceAll(text, "\r\n", "\n"), nil
	case "number":
		value, err := flow.Coerce(text, flow.TypeNumber)
		if err != nil {
			return nil, errors.New("type a number, such as 3 or 0.5")
		}
		return value, nil
	case "boolean":
		value, err := flow.Coerce(text, flow.TypeBoolean)
		if err != nil {
			return nil, errors.New("choose yes or no")
		}
		return value, nil
	}
	value, err := flow.DecodeJSON([]byte(text))
	if err != nil {
		return nil, errors.New("this is not valid JSON")
	}
	return value, nil
}
