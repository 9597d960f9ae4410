package forms

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"sluice/flow/value"
	"sluice/views/components"

	"github.com/a-h/templ"
)

// ApprovalPage is an approval that a run waits for, with its outcome once there is one.
type ApprovalPage struct {
	Title   string
	Message string // HTML made by package markdown
	Flow    string
	// Asker is the user who started the run, Workspace the workspace of the run; "" if unknown.
	Asker, Workspace string
	Expires, Now     time.Time
	Values           []ApprovalField
	Call             *ApprovalCall // nil for the question of a node
	All              bool          // keeps the user's input after an error
	// Path is the URL to which the answer is posted.
	Path string
	// AskName is set for links that need no sign-in, where people enter their name.
	AskName bool
	// Name and Comment keep the user's input after an error.
	Name, Comment string
	// Barred says why this user may not answer; "" if they may.
	Barred string
	Error  string
	Done   *ApprovalDone // nil while the question is open
}

// label names the question among others on a page.
func (a ApprovalPage) label() string {
	return "Approval of " + strings.TrimSuffix(path.Base(a.Path), ".ask")
}

// ApprovalCall is the call of a tool that an agent asks about. Its texts are shown as they are: a model or somebody
// outside wrote them.
type ApprovalCall struct {
	Tool, Destination string
	Write             bool
	Bound             []ApprovalText
	Reason            string   // what the model said
	Untrusted         bool     // the conversation has content from outside
	Wider             []string // what the flow that is the tool can do, and could not when the agent was published
	All               bool     // all calls of the tool can be allowed at once
}

// ApprovalText is a named plain text.
type ApprovalText struct{ Name, Text string }

// ApprovalField is a value shown with the approval. Control is its field if it may be edited.
type ApprovalField struct {
	View    components.ValueView
	Control *components.Field
	Plain   *ApprovalText // shown instead of the view
}

// ApprovalDone is the outcome of an approval.
type ApprovalDone struct {
	State   string // approved, rejected, expired, canceled or closed
	By      string
	At      time.Time
	Comment string
	Values  []components.ValueView // as approved or rejected
	Call    bool                   // it was about a call of a tool
	// Late names who decided first, for a user whose own answer came too late.
	Late string
}

// ApprovalRow is an open approval in the list of a workspace.
type ApprovalRow struct {
	Title, Flow, Path string
	Asked, Expires    time.Time
	Now               time.Time
}

// left returns the remaining time.
func (a ApprovalPage) left() string { return left(a.Expires, a.Now) }

// line says in one line how an approval ended.
func (d ApprovalDone) line() string {
	text := d.heading()
	if d.By != "" {
		text += " by " + d.By
	}
	if d.Comment != "" {
		text += ": " + d.Comment
	}
	return text
}

func (r ApprovalRow) left() string { return left(r.Expires, r.Now) }

// left returns the time until a question expires: in minutes below an hour, in hours
// below two days, else in days. The last minute counts as one.
func left(expires, now time.Time) string {
	switch d := expires.Sub(now); {
	case d <= 0:
		return "expired"
	case d < time.Hour:
		return strconv.Itoa(max(1, int(d.Minutes()))) + " min left"
	case d < 48*time.Hour:
		return strconv.Itoa(int(math.Round(d.Hours()))) + " h left"
	default:
		return strconv.Itoa(int(math.Round(d.Hours()/24))) + " days left"
	}
}

// heading returns the outcome as a heading.
func (d ApprovalDone) heading() string {
	switch d.State {
	case "approved":
		return "Approved"
	case "rejected":
		return "Rejected"
	case "expired":
		return "Expired"
	case "canceled":
		return "Canceled"
	}
	return "No longer needed"
}

// words returns what follows from the outcome.
func (d ApprovalDone) words() string {
	switch {
	case d.Late != "":
		return d.Late
	case d.State == "approved", d.State == "rejected":
		if d.Call && d.State == "rejected" {
			return "The call is not made. The agent continues without it."
		}
		return "The run continues now."
	case d.State == "expired":
		if d.Call {
			return "There was no answer in time, so the call was not made."
		}
		return "There was no answer in time. The run continued without one."
	case d.State == "canceled":
		return "The run was canceled, so nothing needs to be decided."
	}
	return "The run has ended, so nothing needs to be decided."
}

// icon returns the icon of the outcome. The clock stands for expired questions and
// those of runs that ended otherwise.
func (d ApprovalDone) icon() string {
	if d.State == "approved" {
		return "check"
	}
	if d.State == "rejected" {
		return "x"
	}
	if d.State == "canceled" {
		return "ban"
	}
	return "clock"
}

// short returns the value as text if it fits beside its name.
func (f ApprovalField) short() (string, bool) {
	switch v := f.View.Value.(type) {
	case string:
		return v, v != "" && len(v) <= 60 && !strings.Contains(v, "\n")
	case bool:
		if v {
			return "Yes", true
		}
		return "No", true
	case *value.Object, map[string]any, []any, nil:
		return "", false
	default:
		return fmt.Sprint(v), true
	}
}

func (a ApprovalPage) action() templ.SafeURL { return templ.SafeURL(a.Path) }

// approvalText formats a value that was decided on.
func approvalText(v any) string {
	if text, ok := (ApprovalField{View: components.ValueView{Value: v}}).short(); ok {
		return text
	}
	return string(value.Encode(v))
}
