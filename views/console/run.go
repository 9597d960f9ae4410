package console

import (
	"net/url"
	"strconv"
	"time"

	"sluice/flow/wording"
	"sluice/views/components"

	"github.com/a-h/templ"
)

// RunQuestion is an approval that a run waits for. Path is the page that answers it.
type RunQuestion struct{ Title, Path string }

// RunPage is one run: its outputs, its steps with the selected one in full, and actions on it.
type RunPage struct {
	components.RunHead
	FlowName    string
	LiveVersion int64  // of the flow; 0 if none is live
	Awaits      string // what a waiting run waits for; "" if unknown
	// Parent is the run that this is a rerun of. From is the title of the node it started from.
	Parent, From string
	// Searches is set if the flow searches knowledge bases.
	Searches bool
	// Continues is the ID of the run whose conversation this one continues, or "".
	Continues string
	Facts     []Fact
	Caller    *CallerView            // of a child run
	SoFar     []components.ValueView // lists that a running Map has filled in part
	Asks      []RunQuestion          // approvals that are still open
	Error     *RunError
	// Erased says why the content is gone; "" while it is there.
	Erased  string
	Picture components.Picture
	Fall    Waterfall
	// Agent is the agent whose turns are listed; nil for a run without one.
	Agent *AgentView
	// Stopping is set once the run is to stop after the turn; MayStop if that can be asked for.
	Stopping, MayStop bool
	// Step is the selected step; nil for a run without steps.
	Step *StepView
	// Link is the URL of the page in its present view. Follow is what live updates ask for: a step that
	// the page chose itself is not in it, so that it can change.
	Link, Follow     RunLink
	Outputs          []components.OutputView // in the order of the flow
	Missing          string                  // why there are no outputs
	Inputs, Metadata []components.ValueView
	Deliveries       []DeliveryLine
	// CURL starts a run with the same inputs; "" if it can't be expressed, such as for files.
	CURL string
	// HasChildren is set if steps have run other flows.
	HasChildren bool
	// MayRun is set if the user may start and cancel runs.
	MayRun bool
	// MayTest is set if the user may make a test case from the run.
	MayTest bool
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
	// Grows is set for the duration of a run in progress. Scripts count it up from Elapsed.
	Grows   bool
	Elapsed time.Duration
	// More is added in small type. Help explains it; "" if it needs no explanation.
	More, Help string
}

// RunError says why a run failed and what to do about it.
type RunError struct {
	Code, Message, Advice string
	// Node is the ID of the node that failed, if any; Label is its title.
	Node, Label string
	// Item is the item that made the step fail, if the step runs a flow for each item of a list.
	Item *ItemRef
	// Reused is the number of finished steps whose results a rerun from the node reuses.
	Reused int
	// Retry offers to run the unfinished items again; nil without any.
	Retry *ItemRetry
}

// ItemRef names an item of a step. Path is the path of the item, such as each[3].
type ItemRef struct {
	Number int
	Path   string
}

// ItemRetry counts the items of a step that a rerun can execute: those that failed and those that
// did not finish otherwise. Others is the number of all that did not fail; 0 if the step has gone
// on with them already.
type ItemRetry struct{ Failed, Left, Others int }

// retry is the label of the rerun that executes failed items again.
func (r ItemRetry) retry() string {
	if r.Failed == 0 {
		return "Run " + components.Count(r.Left) + " unfinished"
	}
	return "Retry " + components.Count(r.Failed) + " failed"
}

// goOn is the label of the rerun without the failed items.
func (r ItemRetry) goOn() string { return "Continue with " + components.Count(r.Others) }

// about says what both reruns do.
func (r ItemRetry) about() string {
	text := "Finished items are reused at no cost."
	if r.Left > 0 && r.Failed > 0 {
		text = "Both also run " + components.Quantity(r.Left, "unfinished item") + ". " + text
	}
	if r.Failed > 0 && r.Others > 0 {
		text += " Continue leaves failed items out: their results are null."
	}
	return text
}

// StepView is one step in full.
type StepView struct {
	Path, Node, Label, State string
	Icon, Group              string
	// Above names what a step of a child run belongs to, such as "Tag each review, item 3".
	Above string
	// Meta are facts such as the model, the tokens and the cost.
	Meta    []string
	Inputs  []components.ValueView
	Outputs []components.OutputView
	Tries   []TryLine
	Error   *RunError
	// Lost is set if the bill of an attempt is unknown.
	Lost bool
	// Log is the console output of code.
	Log string
	// Note says why there are no values to show.
	Note string
	// Tab is the part that is shown: output, input, attempts or log.
	Tab string
	// UsedBy are the steps that take its outputs.
	UsedBy []StepRef
	// Previous and Next are the links to its neighbors in the list of steps; nil at its ends.
	Previous, Next *RunLink
	// MayRerun is set if the user may rerun the run from this step, which keeps the results of Kept
	// others.
	MayRerun bool
	Kept     int
	// RunPath is the URL of the child run that the step belongs to, if any.
	RunPath string
	// EditPath is the URL of the node in the builder; "" for other steps.
	EditPath string
	// Call and Turn are set for a call and a turn of an agent.
	Call *CallView
	Turn *TurnView
	// MayEdit is set if the call can run again with other arguments.
	MayEdit bool
	// Again offers to run the agent again from the turn, or from the one after the call.
	Again *AgainView
	// CopyPath is the URL of the request of a turn; "" for other steps.
	CopyPath string
	// Items are those of a step that runs another flow for each item of a list.
	Items *ChildStep
}

// StepRef is a link to another step.
type StepRef struct {
	Label, Icon, Group string
	Link               RunLink
}

// StepTabs are the parts of a step, as in RunLink.Tab.
var StepTabs = []string{"output", "input", "attempts", "log"}

// tabs returns the tabs of the step with their links.
func (s StepView) tabs(l RunLink) (list []components.Tab) {
	labels := []string{"Output", "Input", "Attempts", "Log"}
	switch {
	case s.Call != nil:
		labels[0], labels[1] = "Call", "Request"
	case s.Turn != nil:
		labels[0], labels[1] = "Turn", "Request"
	}
	for i, label := range labels {
		to := l.WithTab(StepTabs[i])
		tab := components.Tab{Label: label, Href: to.Path(), Current: s.Tab == StepTabs[i], Attrs: to.Attrs()}
		if StepTabs[i] == "attempts" && len(s.Tries) > 0 {
			tab.Count = components.Count(len(s.Tries))
		}
		list = append(list, tab)
	}
	return list
}

// kept says what a rerun from the step reuses.
func (s StepView) kept() string {
	if s.Kept == 0 {
		return ""
	}
	return "Keeps " + components.Quantity(s.Kept, "finished step") + " at no cost"
}

// LostHelp explains lost calls.
const LostHelp = "A lost call was sent to a paid model, but its bill is unknown, because no complete answer came. Its estimated cost counts against the budgets until midnight UTC."

// TryLine is one attempt of a step.
type TryLine struct {
	Number         int
	At             time.Time
	Duration, Text string
	Code           string // of the error
	State          string
	Model          string // set if attempts called different models
	Cost           string // "" if it was free, "lost" if its bill is unknown
	Pause          string // the wait before the next attempt; "" without one
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

// stepsLabel returns the attributes that name the list of steps. The page of an agent shows its name twice.
func (r RunPage) stepsLabel() templ.Attributes {
	if r.Agent != nil {
		return templ.Attributes{"aria-label": "Turns and calls of " + r.Agent.Label}
	}
	return templ.Attributes{"aria-labelledby": "run-steps"}
}

func (r RunPage) flow() templ.SafeURL { return templ.SafeURL("/flows/" + url.PathEscape(r.FlowID)) }

// liveID differs on each render: htmx starts polling only for new elements.
func (r RunPage) liveID() string { return "run-live-" + strconv.FormatInt(r.Now.UnixMicro(), 36) }

// reuse describes what a rerun from the failed node executes.
func (e RunError) reuse() string {
	if e.Reused == 0 {
		return ""
	}
	return "Rerunning from here reuses " + components.Quantity(e.Reused, "finished step") + " at no cost."
}

// from returns the label of a rerun from the failed node.
func (e RunError) from() string { return "Rerun from “" + wording.Fit(e.Label, 28) + "”" }

// lead is the beginning of the sentence that says what failed, without the link.
func (e RunError) lead() string {
	if e.Label == "" {
		return ""
	}
	return " failed: "
}

// deliveryTag maps the state of a delivery to a state that State renders.
func deliveryTag(state string) string {
	if state == "pending" {
		return "waiting"
	}
	return state
}

// elapsed formats a duration in milliseconds for scripts.
func elapsed(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// stopLabel is the label of the button that stops an agent after its turn.
func (r RunPage) stopLabel() string {
	if r.Stopping {
		return "Stopping after this turn…"
	}
	return "Stop after this turn"
}
