package forms

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// ApprovalPage is a question that a run asks people, with its answer once there is one.
type ApprovalPage struct {
	Title, Message string // Message is Markdown
	Flow           string
	// Asker is the person who started the run, Workspace whose it is; empty if unknown.
	Asker, Workspace string
	Expires, Now     time.Time
	Values           []ApprovalField
	// Path is where the answer is sent.
	Path string
	// AskName is set on the page of a link, which needs no sign-in.
	AskName bool
	// Name and Comment are what was typed before an error.
	Name, Comment string
	// Barred says why this person may not answer; empty if they may.
	Barred string
	Error  string
	Done   *ApprovalDone // nil while the question is open
}

// ApprovalField is a value shown with a question. Control is its field if it may be
// edited.
type ApprovalField struct {
	View    components.ValueView
	Control *components.Field
}

// ApprovalDone is how a question ended.
type ApprovalDone struct {
	State   string // approved, rejected, expired, canceled or closed
	By      string
	At      time.Time
	Comment string
	Values  []components.ValueView // as they were decided on
	// Late says who decided, to somebody whose own answer came after that.
	Late string
}

// ApprovalRow is an open question in the list of a workspace.
type ApprovalRow struct {
	Title, Flow, Path string
	Asked, Expires    time.Time
	Now               time.Time
}

// left is how long people still have.
func (a ApprovalPage) left() string { return left(a.Expires, a.Now) }

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

// heading names the outcome.
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

// words say what follows from the outcome.
func (d ApprovalDone) words() string {
	switch {
	case d.Late != "":
		return d.Late
	case d.State == "approved", d.State == "rejected":
		return "The run continues now."
	case d.State == "expired":
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

// Moment writes when something happened. These pages have no script that could write it
// in the reader's time zone.
func Moment(at time.Time) string { return at.UTC().Format("2 Jan 2006, 15:04 UTC") }

// short returns a value that fits beside its name, as text.
func (f ApprovalField) short() (string, bool) {
	switch v := f.View.Value.(type) {
	case string:
		return v, v != "" && len(v) <= 60 && !strings.Contains(v, "\n")
	case bool:
		if v {
			return "Yes", true
		}
		return "No", true
	case map[string]any, []any, nil:
		return "", false
	default:
		return fmt.Sprint(v), true
	}
}

func (a ApprovalPage) action() templ.SafeURL { return templ.SafeURL(a.Path) }

// approvalText writes a value that was decided on.
func approvalText(v any) string {
	if text, ok := (ApprovalField{View: components.ValueView{Value: v}}).short(); ok {
		return text
	}
	text, _ := json.Marshal(v)
	return string(text)
}
