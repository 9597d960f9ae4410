package editor

import (
	"fmt"
	"net/url"
	"strconv"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// PublishState is what the button says about publishing the draft.
type PublishState struct {
	FlowID string
	Live   int64 // 0 before the first publish
	Next   int64 // the version that publishing makes live
	// Changed is set if the draft is not what is live.
	Changed bool
	// Problems keep the draft from being published.
	Problems int
	// ReadOnly is for who may not publish.
	ReadOnly bool
	// Beside is set when the button comes with another answer, to take the place
	// of the one on the page.
	Beside bool
}

// attrs returns the HTML attributes of the button. With Beside, the response to an edit
// also contains the button, and htmx swaps it for the one on the page.
func (s PublishState) attrs() templ.Attributes {
	a := templ.Attributes{"id": "publish-button", "class": "publish-button"}
	if s.Beside {
		a["data-hx-swap-oob"] = "true"
	}
	return a
}

func (s PublishState) path() string { return "/flows/" + url.PathEscape(s.FlowID) + "/publish" }

func (s PublishState) label() string { return "Publish " + VersionName(s.Next) }

// PublishForm is what is said before the draft is published.
type PublishForm struct {
	FlowID, Name string
	State        PublishState
	// URL is where programs start runs.
	URL string
	// Draft is the hash of the draft that is shown: another one is not published
	// unseen.
	Draft string
	Diff  *Diff
	// Callers are the keys that used the flow lately; shown when they break.
	Callers []Caller
	// Followers are the nodes of other flows that run the live version.
	Followers []Follower
	Problems  []PublishProblem
	Note      string
	Error     string
	// Done shows that it is live now, First that nothing was live before.
	Done, First bool
	// Inputs, Outputs and Webhooks count what the draft has.
	Inputs, Outputs, Webhooks int
	// What is shown after the first publish: a picture of the flow, and code that calls
	// it and waits for the result. Test has the values for a call from here; it is nil
	// if only a person can give them, such as a file.
	Graph     components.Graph
	Languages []APILanguage
	Command   []components.CodePiece
	Test      []components.RunField
}

// Follower is a node of another flow that runs whatever version of the flow is live.
type Follower struct {
	FlowID, Name, Node string
	Dropped            []string // its connections that lose their port
}

// PublishProblem is something that keeps the draft from being published, and
// the node it is at.
type PublishProblem struct{ Node, Label, Text string }

// title returns the heading of the dialog: what publishing would do, why it cannot be
// done, or that it is done.
func (f PublishForm) title() string {
	switch {
	case f.Done:
		return VersionName(f.State.Live) + " is live"
	case len(f.Problems) > 0:
		return "Not ready to be published"
	case !f.State.Changed:
		return "Nothing to publish"
	case f.State.Live == 0:
		return "Publish"
	}
	return f.State.label()
}

// contract says what a caller gives and gets.
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

// submit is the button that publishes; where callers break, it says so.
func (f PublishForm) submit() components.Button {
	b := components.Button{Label: f.State.label(), Look: components.LookPrimary, Busy: "Publishing…"}
	if len(f.Diff.Breaking) > 0 {
		b.Label += " anyway"
	}
	return b
}

// compare leads from the live version to the draft.
func (f PublishForm) compare() templ.SafeURL {
	return comparePath(f.FlowID, versionWord(f.State.Live), draftWord)
}

// draftWord stands for the draft where versions are named by their numbers.
const draftWord = "draft"

func versionWord(n int64) string {
	if n == 0 {
		return draftWord
	}
	return strconv.FormatInt(n, 10)
}

// VersionName is what people call a version: v3.
func VersionName(n int64) string { return fmt.Sprintf("v%d", n) }

// comparePath returns the URL of a comparison. from and to are versionWord or
// draftWord.
func comparePath(flowID, from, to string) templ.SafeURL {
	q := url.Values{"from": {from}, "to": {to}}
	return templ.SafeURL("/flows/" + url.PathEscape(flowID) + "/compare?" + q.Encode())
}

// changeSigns are the sign, tone and word of what happened to something.
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
	return components.Quantity(int(c.Runs), "call") + " in 30 days, last on " + c.LastDay
}

// liveWords returns the end of a sentence about what programs can call at present. 0
// means that nothing was published.
func liveWords(live int64) string {
	if live == 0 {
		return "no program can call it"
	}
	return "programs call " + VersionName(live)
}

// What happened to a node, an input or an output.
const (
	ChangeAdded   = "added"
	ChangeChanged = "changed"
	ChangeRemoved = "removed"
)

// Diff is what a newer document changes.
type Diff struct {
	Groups   []ChangeGroup // what callers see comes first
	Breaking []string      // sentences of what breaks callers
	Changes  int           // all but where nodes stand
	Moved    int           // nodes that only stand elsewhere
	Summary  string        // what changed, counted
}

// Empty is set if nothing changed but where nodes stand.
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

// Caller is a key that used the flow lately.
type Caller struct {
	Name, Prefix string
	Runs         int64
	LastDay      string // 2006-01-02
}

// followerTone marks a flow that loses connections.
func followerTone(n Follower) components.Tone {
	if len(n.Dropped) > 0 {
		return components.ToneBad
	}
	return components.ToneNone
}
