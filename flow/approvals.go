package flow

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/flow/sorting"
	"sluice/flow/wording"
)

// Approval is a question that a step asks people before its run continues, and the
// decision once there is one. It is stored beside the run and erased with it.
type Approval struct {
	WorkspaceID WorkspaceID
	FlowID      FlowID
	RunID       RunID
	Path        string // of the asking step; unique within the run
	Node        string
	Question    Question
	CreatedAt   time.Time
	ExpiresAt   time.Time
	Decision    *Decision // nil while the question is open
	// Closed reports that the run or the step ended, or is being canceled, so that an answer comes
	// too late.
	Closed bool
}

// Question is what is asked, as people see it.
type Question struct {
	Title   string `json:"title"`
	Message string `json:"message"` // Markdown
	// Rendered is the message as HTML that is safe to show, made when the question was asked.
	// Questions of older versions have none.
	Rendered   string          `json:"message_html,omitempty"`
	Values     []ApprovalValue `json:"values,omitempty"`
	Audience   Audience        `json:"audience"`
	People     []string        `json:"people,omitempty"`       // email addresses, for AudienceNamed
	Call       *AskedCall      `json:"call,omitempty"`         // the call of a tool that is asked about; Values are its arguments
	SelfAnswer bool            `json:"self_approve,omitempty"` // the key that started the run, and keys related to it, may answer
}

// AskedCall is a call of a tool that an agent makes once people allow it. Its texts may come from outside: they are
// shown as plain text.
type AskedCall struct {
	Node        string          `json:"node"` // the tool
	Tool        string          `json:"tool"` // its name
	Effect      Effect          `json:"effect"`
	Destination string          `json:"destination,omitempty"` // the host that the call reaches, if it is known
	Bound       []ApprovalValue `json:"bound,omitempty"`       // what the flow sets, not the model
	Reason      string          `json:"reason,omitempty"`      // what the model said beside the call
	Schema      any             `json:"schema,omitempty"`      // JSON Schema of the arguments
	Untrusted   bool            `json:"untrusted,omitempty"`   // the conversation has content from outside
	Wider       []string        `json:"wider,omitempty"`       // what the flow that is the tool can do, and could not when the agent was published
	All         bool            `json:"all,omitempty"`         // all calls of the tool can be allowed at once
}

// UnmarshalJSON decodes the schema with its members in order.
func (c *AskedCall) UnmarshalJSON(data []byte) error {
	type plain AskedCall
	in := struct {
		*plain
		Schema *Object `json:"schema"`
	}{plain: (*plain)(c)}
	err := json.Unmarshal(data, &in)
	if in.Schema != nil {
		c.Schema = in.Schema
	}
	return err
}

// Covers reports whether an approval of all calls of a tool answers the question about another call, too.
func (a *Approval) Covers(other *Approval) bool {
	agent, _, _ := strings.Cut(a.Path, SubSeparator)
	of, _, _ := strings.Cut(other.Path, SubSeparator)
	c, d := a.Question.Call, other.Question.Call
	return c != nil && d != nil && c.All && d.All && agent == of && c.Node == d.Node && c.Tool == d.Tool && c.Destination == d.Destination
}

// Arguments returns the arguments of the call with the edits of a decision.
func (q *Question) Arguments(d *Decision) *Object {
	arguments := &Object{}
	for _, v := range q.Values {
		now, edited := d.Values[v.Name]
		if !edited {
			now = v.Value
		}
		arguments.Set(v.Name, now)
	}
	return arguments
}

// ApprovalValue is a value shown with a question. The decision may change it if it is
// editable; its type stays.
type ApprovalValue struct {
	Name     string `json:"name"`
	Value    any    `json:"value"`
	Editable bool   `json:"editable,omitempty"`
}

// UnmarshalJSON decodes the value with its members in order.
func (v *ApprovalValue) UnmarshalJSON(data []byte) error {
	o := &Object{}
	if err := o.UnmarshalJSON(data); err != nil {
		return err
	}
	v.Name, _ = o.Get("name").(string)
	v.Value = o.Get("value")
	v.Editable = o.Get("editable") == true
	return nil
}

// Audience says who may answer a question.
type Audience string

const (
	AudienceLink    Audience = "link"    // anyone with the link, and all of the below
	AudienceMembers Audience = "members" // signed-in members who may start runs, and keys with the scope
	AudienceNamed   Audience = "named"   // members with one of the email addresses; neither keys nor links
)

// Outcome is how a question ended.
type Outcome string

// The outcomes; each is an output port of the approval kind.
const (
	OutcomeApproved Outcome = "approved"
	OutcomeRejected Outcome = "rejected"
	OutcomeExpired  Outcome = "expired" // there was no answer in time
)

// Decision is an answer. The first one counts.
type Decision struct {
	Outcome Outcome        `json:"outcome"`
	Values  map[string]any `json:"values,omitempty"` // what was edited, by name
	Comment string         `json:"comment,omitempty"`
	All     bool           `json:"all,omitempty"` // also for the other calls of the tool in this run; see AskedCall
	By      Answerer       `json:"by"`
	At      time.Time      `json:"at"`
}

// UnmarshalJSON decodes the values with their members in order.
func (d *Decision) UnmarshalJSON(data []byte) error {
	type plain Decision
	in := struct {
		*plain
		Values *Object `json:"values"`
	}{plain: (*plain)(d)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if in.Values != nil {
		d.Values = in.Values.Map()
	}
	return nil
}

// Answerer identifies who answered: a member, a key, or anyone with the link. It is empty for
// a question that expired.
type Answerer struct {
	Type AnswererType `json:"kind,omitempty"`
	ID   string       `json:"id,omitempty"`   // of the user or the key
	Name string       `json:"name,omitempty"` // as shown
}

// AnswererType says how an answer was given: by a signed-in member, an API key or an
// approval link. The values are stored.
type AnswererType string

// The ways to answer.
const (
	ByMember AnswererType = "user"
	ByKey    AnswererType = "key"
	ByLink   AnswererType = "link"
)

// Limits of questions and answers, in bytes.
const (
	MaxQuestion = 256 << 10 // a question with its values, as JSON
	MaxComment  = 4 << 10
)

// Approvals lets steps ask. All methods are safe to repeat after a crash.
type Approvals interface {
	// AskApproval stores an open question and returns the link to answer it, as it is stored in a
	// delivery: only sending the delivery completes it. If the step has asked before, the new
	// link replaces the previous one, unless the question is answered.
	AskApproval(ctx context.Context, a *Approval) (link string, err error)
	// TakeDecision returns the decision on a step's question, or nil while it is open.
	// A question that is overdue at now expires.
	TakeDecision(ctx context.Context, ws WorkspaceID, runID RunID, path string, now time.Time) (*Decision, error)
}

// Starter is what a run was started by, as far as it limits who may answer its questions. The zero
// value is a run without a key.
type Starter struct {
	KeyID string // empty if no key started the run
	// Related reports that the key that answers and the one that started the run may be in the
	// same hands: one of them made or rotated the other, directly or through other keys, or the
	// same key did that to both. So a program with a key of ScopeAdmin cannot answer the
	// questions of its own runs with a second key.
	Related bool
}

// MayAnswer returns an error if by may not answer. email is the address of a member, otherwise
// empty.
func (q *Question) MayAnswer(by Answerer, email string, started Starter) error {
	switch {
	case q.Audience == AudienceNamed && by.Type != ByMember:
		return Errorf(CodeAnswerNotAllowed, "Only the people that the flow names may answer this, signed in to the dashboard.")
	case q.Audience == AudienceNamed && !slices.ContainsFunc(q.People, func(p string) bool { return strings.EqualFold(strings.TrimSpace(p), email) }):
		return Errorf(CodeAnswerNotAllowed, "Only %s may answer this.", strings.Join(q.People, ", "))
	case q.Audience == AudienceMembers && by.Type == ByLink:
		return Errorf(CodeAnswerNotAllowed, "Only members of the workspace may answer this. Sign in to the dashboard.")
	case by.Type != ByKey || by.ID == "" || q.SelfAnswer:
	case by.ID == started.KeyID:
		return Errorf(CodeAnswerNotAllowed, "This key started the run, so it may not answer. Use another key%s.", q.orAllow())
	case started.Related:
		return Errorf(CodeAnswerNotAllowed, "This key started the run or changed its trigger, or one of the keys that did was created or rotated by this key, by its maker, or the other way round. So it may not answer. Use a key that a person created%s.", q.orAllow())
	}
	return nil
}

// orAllow names the setting by which keys may answer questions of their own runs. Calls of tools have none.
func (q *Question) orAllow() string {
	if q.Call != nil {
		return ""
	}
	return ", or allow it in the node"
}

// CheckDecision checks an answer and returns it with only the values that it changes. A
// value keeps its type: a number cannot become a text.
func (q *Question) CheckDecision(d Decision) (Decision, error) {
	if d.Outcome != OutcomeApproved && d.Outcome != OutcomeRejected {
		return d, Errorf(CodeInputInvalid, "The decision must be approved or rejected.")
	}
	if d.All && (d.Outcome != OutcomeApproved || q.Call == nil || !q.Call.All) {
		return d, &Error{Code: CodeInputInvalid, Message: "This question cannot be answered for all calls at once.", Fields: []Problem{{Pointer: Pointer("all"), Code: "not_allowed", Detail: "only the approval of a call, of a tool that does not always ask, can cover all calls"}}}
	}
	if len(d.Comment) > MaxComment {
		return d, Errorf(CodeInputInvalid, "The comment is %s long; the limit is %s.", Size(int64(len(d.Comment))), Size(MaxComment))
	}
	var problems []Problem
	changed := map[string]any{}
	for _, name := range sorting.Keys(d.Values) {
		i := slices.IndexFunc(q.Values, func(v ApprovalValue) bool { return v.Name == name })
		switch {
		case i < 0:
			problems = append(problems, Problem{Pointer: Pointer("values", name), Code: "unknown", Detail: "is not part of this question"})
		case EqualValues(q.Values[i].Value, d.Values[name]):
		case !q.Values[i].Editable:
			problems = append(problems, Problem{Pointer: Pointer("values", name), Code: "not_allowed", Detail: "cannot be edited"})
		case TypeOf(q.Values[i].Value) != TypeOf(d.Values[name]):
			problems = append(problems, Problem{Pointer: Pointer("values", name), Code: "wrong_type",
				Detail: "must be a " + TypeOf(q.Values[i].Value) + ", got a " + TypeOf(d.Values[name])})
		default:
			changed[name] = d.Values[name]
		}
	}
	if problems != nil {
		return d, &Error{Code: CodeInputInvalid, Message: "Some values are invalid.", Fields: problems}
	}
	if len(EncodeJSON(changed)) > MaxQuestion {
		return d, Errorf(CodeInputInvalid, "The edited values are larger than %s.", Size(MaxQuestion))
	}
	d.Values = changed
	return d, nil
}

// DecidedError is the error for an answer to a question that is no longer open. It
// says who decided.
func (a *Approval) DecidedError() error {
	switch {
	case a.Decision == nil:
		return Errorf(CodeAlreadyDecided, "The run has ended, so this can no longer be answered.")
	case a.Decision.Outcome == OutcomeExpired:
		return Errorf(CodeAlreadyDecided, "This expired on %s.", wording.Moment(a.Decision.At))
	}
	return Errorf(CodeAlreadyDecided, "%s has already %s this.", a.Decision.By.Label(), a.Decision.Outcome)
}

// Label names who answered.
func (b Answerer) Label() string {
	switch {
	case b.Name != "" && b.Type == ByKey:
		return "The key " + b.Name
	case b.Name != "":
		return b.Name
	}
	return "Somebody with the link"
}

// ApprovalLink returns the path of the page that answers a question by its link.
func ApprovalLink(token string) string { return "/approval/" + token }

// approvalLinks matches the links of approvals in a message, as sent and as stored. A token is 26
// characters of base32.
var approvalLinks = regexp.MustCompile(`/approval/~?[A-Z2-7]{26}`)

// HideApprovalLinks removes the tokens from the approval links in a message: permission to read
// sent messages does not include permission to answer their questions.
func HideApprovalLinks(body []byte) []byte {
	return approvalLinks.ReplaceAll(body, []byte("/approval/…"))
}
