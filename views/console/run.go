package console

import (
	"net/url"
	"strconv"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// RunQuestion is an approval that a run waits for. Path is the page that answers it.
type RunQuestion struct{ Title, Path string }

// RunPage is one run: its facts, steps, inputs and outputs, and actions on it.
type RunPage struct {
	components.RunHead
	FlowName string
	Awaits   string // what a waiting run waits for; "" if unknown
	// Parent is the run that this is a rerun of. From is the title of the node it started from.
	Parent, From string
	Facts        []Fact
	Caller       *CallerView // of a child run
	Children     []ChildStep
	SoFar        []components.ValueView // lists that a running Map has filled in part
	Asks         []RunQuestion          // approvals that are still open
	Error        *RunError
	// Erased says why the content is gone; "" while it is there.
	Erased  string
	Picture components.Picture
	Fall    Waterfall
	// Step is the selected step, if any.
	Step *StepView
	// Link is the URL of the page in its present view, which live updates keep.
	Link                      RunLink
	Inputs, Outputs, Metadata []components.ValueView
	Deliveries                []DeliveryLine
	// CURL starts a run with the same inputs; "" if it can't be expressed, such as for files.
	CURL string
	// MayRun is set if the user may start and cancel runs.
	MayRun bool
	// Live is set until the run has ended. Seen is the number of the last change that the page
	// shows.
	Live bool
	Seen int64
	Now  time.Time
}

// Fact is a labeled value in the summary of a run.
type Fact struct {
	Title, Text string
	Href        string
	// At is shown in place of Text.
	At time.Time
	// Help explains the text; "" if it needs no explanation.
	Help string
}

// RunError says why a run failed and what to do about it.
type RunError struct {
	Code, Message, Advice string
	// Node is the ID of the node that failed, if any; Label is its title.
	Node, Label string
	// Reused is the number of finished steps whose results a rerun from the node reuses.
	Reused int
}

// StepView is one step in full.
type StepView struct {
	Path, Node, Label, State string
	// About summarizes the kind, the model and the usage.
	About           string
	Inputs, Outputs []components.ValueView
	Tries           []TryLine
	Error           *RunError
	// Lost is set if the bill of an attempt is unknown.
	Lost bool
	// Log is the console output of code.
	Log string
	// Note says why there are no values to show.
	Note string
	// MayRerun is set if the user may rerun the run from this step.
	MayRerun bool
	// RunPath is the URL of the child run that the step belongs to, if any.
	RunPath string
}

// LostHelp explains lost calls.
const LostHelp = "A lost call was sent to a paid model, but its bill is unknown, because no complete answer came. Its estimated cost counts against the budgets until midnight UTC."

// TryLine is one attempt of a step.
type TryLine struct {
	Number         int
	At             time.Time
	Duration, Text string
	Tone           components.Tone
	Model          string // set if attempts called different models
	Cost           string // "" if it was free, "lost" if its bill is unknown
}

// DeliveryLine is one webhook message of a run.
type DeliveryLine struct {
	ID, Node, URL, State, Text string
	At                         time.Time
}

// path returns the URL of an action or a part of the run; rest begins with a slash.
func (r RunPage) path(rest string) templ.SafeURL {
	return templ.SafeURL(components.RunPath(r.ID) + rest)
}

func (r RunPage) flow() templ.SafeURL { return templ.SafeURL("/flows/" + url.PathEscape(r.FlowID)) }

// liveID differs on each render: htmx starts polling only for new elements.
func (r RunPage) liveID() string { return "run-live-" + strconv.FormatInt(r.Now.UnixMicro(), 36) }

// reuse describes what a rerun from the failed node executes.
func (e RunError) reuse() string {
	switch e.Reused {
	case 0:
		return ""
	case 1:
		return "A rerun from here reuses 1 finished step and pays for nothing twice."
	}
	return "A rerun from here reuses " + components.Count(e.Reused) + " finished steps and pays for nothing twice."
}

// from returns the label of a rerun from the failed node.
func (e RunError) from() string {
	label := []rune(e.Label)
	if len(label) > 28 {
		return "Rerun from “" + string(label[:27]) + "…”"
	}
	return "Rerun from “" + e.Label + "”"
}

// deliveryTag maps the state of a delivery to a state that State renders.
func deliveryTag(state string) string {
	if state == "pending" {
		return "waiting"
	}
	return state
}
