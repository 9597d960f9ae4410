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

// RunPage is one run: what it was, how it went, and what to do next.
type RunPage struct {
	ID, FlowID, FlowName string
	State                string
	Awaits               string // what a waiting run waits for, if its page knows
	Version              int64
	Draft                bool
	// Parent is the run that this one is a rerun of; From the node it was asked
	// from, as people call it.
	Parent, From string
	Facts        []Fact
	Caller       *CallerView // of a child run
	Children     []ChildStep
	SoFar        []components.ValueView // lists that the items of a running map have partly filled
	Asks         []RunQuestion          // questions to people that are still open
	Error        *RunError
	// Erased says why the content is gone; empty while it is there.
	Erased  string
	Picture components.Picture
	Fall    Waterfall
	// Step is the selected one, if any.
	Step *StepView
	// Link is the page as it is shown, to be kept while it renews itself.
	Link                      RunLink
	Inputs, Outputs, Metadata []components.ValueView
	Deliveries                []DeliveryLine
	// CURL starts a run with the same inputs; empty where there is nothing to copy.
	CURL string
	// MayRun is for who may start and cancel runs.
	MayRun bool
	// Live is set until the run has ended; Seen is what the page shows of it.
	Live bool
	Seen int64
	Now  time.Time
}

// Fact is one thing to know about a run.
type Fact struct {
	Title, Text string
	Href        string
	// At is shown in the place of Text.
	At time.Time
}

// RunError says why a run failed and what to do about it.
type RunError struct {
	Code, Message, Advice string
	// Node is where it happened, if somewhere; Label is what people call it.
	Node, Label string
	// Reused are the finished steps that a rerun from there takes over.
	Reused int
}

// StepView is what one node did, in full.
type StepView struct {
	Path, Node, Label, State string
	// About is the kind, the model, what it used.
	About           string
	Inputs, Outputs []components.ValueView
	Tries           []TryLine
	Error           *RunError
	// Log is what code wrote to its console.
	Log string
	// Note says why there is nothing to see.
	Note string
	// MayRerun is set if the run can be run again from here.
	MayRerun bool
	// RunPath is the page of the child run that the step belongs to, if it does.
	RunPath string
}

// TryLine is one attempt of a step.
type TryLine struct {
	Number     int
	At         time.Time
	Took, Text string
	Tone       components.Tone
	Model      string // that it called, if attempts called several
	Cost       string // "" if it cost nothing
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

// liveID is another one each time, so that each answer asks for the next.
func (r RunPage) liveID() string { return "run-live-" + strconv.FormatInt(r.Now.UnixMicro(), 36) }

// reuse says what a rerun from the failed node costs.
func (e RunError) reuse() string {
	switch e.Reused {
	case 0:
		return ""
	case 1:
		return "A rerun from here reuses 1 finished step and pays for nothing twice."
	}
	return "A rerun from here reuses " + components.Count(e.Reused) + " finished steps and pays for nothing twice."
}

// from is what a rerun from the failed node is called.
func (e RunError) from() string {
	label := []rune(e.Label)
	if len(label) > 28 {
		return "Rerun from “" + string(label[:27]) + "…”"
	}
	return "Rerun from “" + e.Label + "”"
}

// deliveryTag is the state of a delivery as State writes it.
func deliveryTag(state string) string {
	if state == "pending" {
		return "waiting"
	}
	return state
}
