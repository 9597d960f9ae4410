package editor

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// PublishState is the state of a flow in the header of the builder: what is live, what is not,
// and whether it can be published.
type PublishState struct {
	FlowID string
	Live   int64 // 0 before the first publish
	Next   int64 // the version that publishing makes live
	// LiveAt, LiveBy and Summary describe the live version.
	LiveAt, Now     time.Time
	LiveBy, Summary string
	// Changed is set if the draft differs from the live version. Draft lists the differences; it is
	// nil before the first publish.
	Changed bool
	Draft   *Diff
	// Widened are the tools of the live version whose flows can do more than when it was published. Publishing accepts that.
	Widened []WidenedTool
	// Problems is the number of problems that prevent publishing.
	Problems int
	// Ran is set once a run of the flow has succeeded: then the next step is to publish.
	Ran bool
	// ReadOnly is set for users who may not publish.
	ReadOnly bool
	// Beside is set if the state accompanies another response and replaces the one on the page.
	Beside bool
}

// beside returns the attributes of a part that accompanies another response: htmx swaps it out of
// band.
func (s PublishState) beside() templ.Attributes {
	if s.Beside {
		return templ.Attributes{"data-hx-swap-oob": "true"}
	}
	return nil
}

// publishable reports whether the user can publish the draft now.
func (s PublishState) publishable() bool {
	return (s.Changed || len(s.Widened) > 0) && s.Problems == 0 && !s.ReadOnly
}

// hindrance says why the draft can't be published.
func (s PublishState) hindrance() string {
	if s.Problems > 0 {
		return "Fix " + components.Quantity(s.Problems, "problem") + " to publish"
	}
	return VersionName(s.Live) + " is live. Change something to publish again."
}

// draftWords is the text of the chip of the draft.
func (s PublishState) draftWords() string {
	if s.Draft == nil || s.Draft.Changes == 0 {
		return "Draft"
	}
	return "Draft · " + components.Quantity(s.Draft.Changes, "change")
}

// shownChanges is how many changes the header lists; the comparison has all.
const shownChanges = 12

// first returns the comparison with at most n lines.
func (d *Diff) first(n int) *Diff {
	short := *d
	short.Groups = nil
	for _, g := range d.Groups {
		if n == 0 {
			break
		}
		g.Lines = g.Lines[:min(n, len(g.Lines))]
		n -= len(g.Lines)
		short.Groups = append(short.Groups, g)
	}
	return &short
}

func (s PublishState) path() string { return "/flows/" + url.PathEscape(s.FlowID) + "/publish" }

func (s PublishState) label() string { return "Publish " + VersionName(s.Next) }

// PublishForm is the content of the publish dialog.
type PublishForm struct {
	FlowID, Name string
	State        PublishState
	// URL starts runs over the API.
	URL string
	// Draft is the hash of the draft shown. Another draft is not published without review.
	Draft string
	Diff  *Diff
	// Callers are the keys that used the flow recently; they are shown if the change breaks
	// them.
	Callers []Caller
	// Followers are nodes of other flows that run the live version.
	Followers []Follower
	// Agents are those that can change something.
	Agents []AgentWrites
	// Widened are the tools of other flows that can do more once the draft is live.
	Widened  []WidenedTool
	Problems []PublishProblem
	// Gate is what the tests of the flow say; nil if publishing needs none.
	Gate  *PublishGate
	Note  string
	Error string
	// Done is set after publishing, First if nothing was published before.
	Done, First bool
	// Inputs, Outputs and Webhooks count those of the draft.
	Inputs, Outputs, Webhooks int
	// The content after the first publish: a drawing of the flow, and code that calls it and
	// waits for the result. Test has input values for a test call; it is nil if only a person
	// can provide them, such as a file.
	Graph     components.Graph
	Languages []APILanguage
	Command   []components.CodePiece
	Test      []components.RunField
}

// Follower is a node of another flow that runs whatever version is live.
type Follower struct {
	FlowID, Name, Node string
	Dropped            []string // edges of that node that lose their port
}

// WidenedTool is a tool of an agent that runs a flow, which can do more than when the flow of the agent was published. FlowID and Name
// are of the agent's flow; empty for the flow that is shown.
type WidenedTool struct {
	FlowID, Name, Tool string
	More               []string
}

// what says what the tool can do now.
func (t WidenedTool) what() string { return strings.Join(t.More, ", and ") }

// PublishProblem prevents the draft from being published.
type PublishProblem struct{ Node, Label, Text string }

// title returns the heading of the dialog: what publishing would do, why it can't, or that it
// is done.
func (f PublishForm) title() string {
	switch {
	case f.Done:
		return VersionName(f.State.Live) + " is live"
	case len(f.Problems) > 0:
		return "Not ready to publish"
	case !f.State.Changed && len(f.State.Widened) > 0:
		return "Publish " + VersionName(f.State.Live) + " again"
	case !f.State.Changed:
		return "Nothing to publish"
	case f.State.Live == 0:
		return "Publish"
	}
	return f.State.label()
}

// contract summarizes the inputs and outputs of the flow.
func (f PublishForm) contract() string {
	text := "It takes " + components.Quantity(f.Inputs, "input") + " and returns " + components.Quantity(f.Outputs, "output")
	if f.Webhooks > 0 {
		text += ", and sends " + components.Quantity(f.Webhooks, "webhook")
	}
	return text + "."
}

func (f PublishForm) versions() templ.SafeURL { return components.VersionsURL(f.FlowID) }

func (f PublishForm) back() templ.SafeURL {
	return templ.SafeURL("/flows/" + url.PathEscape(f.FlowID))
}

func (f PublishForm) jump(node string) templ.SafeURL {
	return templ.SafeURL("/flows/" + url.PathEscape(f.FlowID) + "?node=" + url.QueryEscape(node))
}

// The states of the gate in the publish dialog.
const (
	GateMissing = "missing" // a test is needed
	GateRunning = "running"
	GateFailed  = "failed"
	GatePassed  = "passed"
)

// PublishGate is what the tests of a flow say about publishing its draft.
type PublishGate struct {
	State       string
	Pays        bool   // the test may call models, which costs money
	Report      string // path of the report; "" without one
	Done, Total int    // runs of the test
	Problems    []GateProblem
	More        int  // problems that are not in Problems
	MayOverride bool // the person is an owner
	Reason      string
}

// GateProblem is a reason why the gate does not pass. Case and Path are empty for one of all cases.
type GateProblem struct{ Case, Text, Path string }

// act labels the button that starts the test.
func (g *PublishGate) act() string {
	if g.State == GateFailed {
		return "Test again"
	}
	return "Test the draft"
}

// look returns the look of that button. After a failed test the next step is elsewhere.
func (g *PublishGate) look() components.ButtonLook {
	if g.State == GateFailed {
		return components.LookPlain
	}
	return components.LookPrimary
}

// gateURL returns the URL of the part of the dialog with the gate.
func (f PublishForm) gateURL() string { return f.State.path() + "?part=gate" }

// pollID returns an ID that differs in each response, so that the element asks again.
func (f PublishForm) pollID() string { return "gate-" + strconv.FormatInt(f.State.Now.UnixMilli(), 36) }

// open reports whether the gate lets the draft go live.
func (f PublishForm) open() bool { return f.Gate == nil || f.Gate.State == GatePassed }

// submit returns the publish button, which says so if callers break.
func (f PublishForm) submit() components.Button {
	b := components.Button{Label: f.State.label(), Look: components.LookPrimary, Busy: "Publishing…"}
	if len(f.Diff.Breaking) > 0 {
		b.Label += " anyway"
	} else {
		b.Attrs = templ.Attributes{"autofocus": true}
	}
	return b
}

// compare returns the URL of the comparison of the live version with the draft.
func (f PublishForm) compare() templ.SafeURL {
	return comparePath(f.FlowID, versionWord(f.State.Live), draftWord)
}

// draftWord stands for the draft in URLs that name versions by number.
const draftWord = "draft"

func versionWord(n int64) string {
	if n == 0 {
		return draftWord
	}
	return strconv.FormatInt(n, 10)
}

// VersionName returns the display name of a version, such as "v3".
func VersionName(n int64) string { return fmt.Sprintf("v%d", n) }

// comparePath returns the URL of a comparison. from and to are results of versionWord, or
// draftWord.
func comparePath(flowID, from, to string) templ.SafeURL {
	q := url.Values{"from": {from}, "to": {to}}
	return templ.SafeURL("/flows/" + url.PathEscape(flowID) + "/compare?" + q.Encode())
}

// changeSigns are the icon, tone and label of each change.
var changeSigns = map[string]struct {
	icon string
	tone components.Tone
	word string
}{
	ChangeAdded:   {"plus", components.ToneOK, "Added"},
	ChangeRemoved: {"minus", components.ToneBad, "Removed"},
	ChangeChanged: {"pencil", components.ToneWait, "Changed"},
}

// lastUsed says when a caller last used the flow.
func lastUsed(c Caller) string {
	return components.Quantity(int(c.Runs), "call") + " in 30 days, last on " + dayText(c.LastDay)
}

// dayText formats a day such as 2026-11-21 as Nov 21, 2026.
func dayText(day string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return at.Format("Jan 2, 2006")
}

// liveWords returns the end of a sentence about the version that programs call. 0 means that
// nothing is published.
func liveWords(live int64) string {
	if live == 0 {
		return "no program can call it"
	}
	return "programs call " + VersionName(live)
}

// The changes of a node, an input or an output.
const (
	ChangeAdded   = "added"
	ChangeChanged = "changed"
	ChangeRemoved = "removed"
)

// Diff is the difference between two documents.
type Diff struct {
	Groups   []ChangeGroup // caller-visible changes come first
	Breaking []string      // sentences about changes that break callers
	Changes  int           // all except moves
	Moved    int           // nodes that only changed their position
	Summary  string        // counts of the changes
}

// Empty reports whether nothing changed except positions.
func (d *Diff) Empty() bool { return d.Changes == 0 }

// ChangeLine is one sentence of a change list.
type ChangeLine struct {
	Change, Text string
	Breaking     bool
}

// ChangeGroup is a part of a change list under a heading.
type ChangeGroup struct {
	Title string
	Lines []ChangeLine
}

// Caller is a key that used the flow recently.
type Caller struct {
	Name, Prefix string
	Runs         int64
	LastDay      string // 2006-01-02
}

// followerTone returns a warning if the flow loses edges.
func followerTone(n Follower) components.Tone {
	if len(n.Dropped) > 0 {
		return components.ToneBad
	}
	return components.ToneNone
}
