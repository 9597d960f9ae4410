package editor

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/flow/wording"
	"sluice/views/components"

	"github.com/a-h/templ"
)

// RunForm asks for the inputs of a run of the draft.
type RunForm struct {
	FlowID, Flow string
	LiveVersion  int64
	// Until is the node to run up to, From the node to rerun from, and Parent the run whose
	// results may be reused.
	Until, From, Parent string
	// Node is the title of Until or From. Sends is set if Until is a webhook.
	Node  string
	Sends bool
	// Webhooks is the number of webhooks that a full run sends.
	Webhooks int
	// Flows is set if nodes run other flows, Drafts if their drafts are to be run.
	Flows, Drafts bool
	Fields        []components.RunField
	// Agents are those that can change something.
	Agents []AgentWrites
	// Problems prevent the draft from running; the form has no fields then.
	Problems ProblemsPanel
	Error    string
	// Ran is set if the values are those of an earlier run.
	Ran bool
}

// title returns the heading of the dialog, for a run of the whole draft, up to a node, or from
// a node.
func (f RunForm) title() string {
	switch {
	case f.Until != "":
		return "Run to " + f.Node
	case f.From != "":
		return "Run from " + f.Node
	}
	return "Run draft"
}

// words says what will run, and what won't.
func (f RunForm) words() string {
	switch {
	case f.Until != "" && f.Sends:
		return "Runs this webhook and its dependencies. The message is sent."
	case f.Until != "":
		return "Runs only this node and its dependencies. No webhooks are sent."
	case f.From != "":
		return "Runs this node and everything after it. Earlier results are reused where nothing changed."
	case f.Webhooks > 0:
		return "Runs the draft. " + wording.Sentence(components.Quantity(f.Webhooks, "webhook")+" will be sent")
	}
	return "Runs the draft. The live version isn’t affected."
}

// drafts returns the checkbox that makes nodes which run other flows use the drafts of those
// flows.
func (f RunForm) drafts() components.Field {
	return components.Field{ID: "run-children", Name: "children", Value: "draft", Label: "Use drafts of other flows", Checked: f.Drafts, Help: "Nodes that run another flow use its draft instead of the live or pinned version."}
}

func (f RunForm) path() templ.SafeURL { return components.FlowURL(f.FlowID, "/run") }

// hasExamples reports whether any field has an example value.
func (f RunForm) hasExamples() bool {
	for i := range f.Fields {
		if f.Fields[i].Example != "" {
			return true
		}
	}
	return false
}

func (f RunForm) broken() bool { return f.Problems.Count() > 0 }

// Usage is the tokens that models used, and the cost.
type Usage = components.Usage

// RunMark is the state of a run in the builder.
type RunMark struct {
	components.RunHead
	Error *Failure
	// MayRun is set if the user may start and cancel runs.
	MayRun bool
	// Current marks the run that the page shows.
	Current bool
	// Skipped is how many of the steps were skipped. It is counted only for the run that the
	// page shows, once it has ended; the cost of its child runs is part of Usage then.
	Skipped int
}

// shortID abbreviates an ID for display.
func shortID(id string) string {
	if len(id) <= 14 {
		return id
	}
	return id[:8] + "…" + id[len(id)-4:]
}

// Steps says how many of the steps are done, and how many were skipped.
func (m RunMark) Steps() string {
	done, all := m.Done-m.Skipped, m.All-m.Skipped
	text := components.Quantity(all, "step")
	if !m.ended() || done < all {
		text = components.Count(done) + " of " + text
	}
	if m.Skipped > 0 {
		text += ", " + components.Count(m.Skipped) + " skipped"
	}
	return text
}

// Total formats the cost of the run. While it is in progress, it is "" if nothing was paid yet.
func (m RunMark) Total() string {
	text := m.cost()
	if m.ended() {
		text = components.Money(m.Usage.Micros())
	}
	if n := int(m.Usage.Unpriced); n > 0 {
		text = strings.TrimPrefix(text+" · ", " · ") + components.Quantity(n, "step") + " without a price"
	}
	return text
}

// cost formats the cost; "" if it was free.
func (m RunMark) cost() string { return Cost(m.Usage) }

// Cost formats the cost of a run; "" if it was free.
func Cost(u Usage) string {
	if u.CostNanoUSD == 0 {
		return ""
	}
	return components.Money(max(1, u.Micros())) // rounded to micro-dollars
}

// Tokens formats the input and output tokens: 312 → 48 tokens.
func Tokens(u Usage) string {
	if u.InputTokens == 0 && u.OutputTokens == 0 {
		return ""
	}
	return components.Count(int(u.InputTokens)) + " → " + components.Count(int(u.OutputTokens)) + " tokens"
}

// of says which version ran, or "" for a document without a number, as in a test.
func (m RunMark) of() string {
	switch {
	case m.Draft:
		return "draft"
	case m.Version == 0:
		return ""
	}
	return "v" + components.Count(int(m.Version))
}

func (m RunMark) ended() bool {
	return m.State == "succeeded" || m.State == "failed" || m.State == "canceled"
}

func (m RunMark) path(rest string) templ.SafeURL {
	return components.FlowURL(m.FlowID, "/runs/"+url.PathEscape(m.ID)+rest)
}

func (m RunMark) page() templ.SafeURL {
	return templ.SafeURL("/runs/" + url.PathEscape(m.ID))
}

// replay returns the URL that shows the run on the canvas.
func (m RunMark) replay() templ.SafeURL {
	return components.FlowURL(m.FlowID, "?run="+url.QueryEscape(m.ID))
}

// triggers are the labels of triggers.
var triggers = map[string]string{
	"api": "API", "builder": "Builder", "form": "Form",
	"mcp": "MCP", "cli": "Command line", "rerun": "Rerun",
}

// triggerWord returns the label of a trigger; an unknown trigger is its own label.
func triggerWord(trigger string) string { return cmp.Or(triggers[trigger], trigger) }

// Failure says why a run or a step failed and what to do about it.
type Failure struct {
	Code     string
	Text, Do string
	Node     string
}

// RunList lists the recent runs of a flow in the builder's pane.
type RunList struct {
	FlowID string
	Runs   []RunMark
	MayRun bool
	Now    time.Time
}

// open reports whether any of the runs is still in progress.
func (l RunList) open() bool {
	for i := range l.Runs {
		if !l.Runs[i].ended() {
			return true
		}
	}
	return false
}

// DataPanel shows the inputs and outputs of a node in one run.
type DataPanel struct {
	FlowID, Node, Title string
	// Run is nil before the first run.
	Run *RunMark
	// State is "" if the node was not part of the run.
	State           string
	Attempts        int
	Duration        time.Duration
	Usage           Usage
	Error           *Failure
	Inputs, Outputs []components.ValueView
	// Log is the console output of code.
	Log string
	// Erased says why the content of the run is gone.
	Erased string
	// MayPin lets the user pin outputs; CanPin is set if the kind supports it.
	MayPin, CanPin bool
	// Pinned are the pinned outputs, which replace running the node; HasPin is set if there are
	// any.
	HasPin bool
	Pinned []components.ValueView
	PinnedAt,
	Now time.Time
	// Typed is the JSON in the pin editor, PinError what is wrong with it.
	Typed, PinError string
}

// pinPath returns the URL that pins or unpins the node's output; verb is "pin" or "unpin".
func (d DataPanel) pinPath(verb string) templ.SafeURL {
	return components.FlowURL(d.FlowID, "/"+verb+"/"+url.PathEscape(d.Node))
}

// facts summarizes duration, attempts and usage of the step.
func (d DataPanel) facts() string {
	var list []string
	if d.Duration >= time.Millisecond {
		list = append(list, components.Duration(d.Duration))
	}
	if d.Attempts > 1 {
		list = append(list, components.Quantity(d.Attempts, "attempt"))
	}
	for _, text := range []string{Tokens(d.Usage), Cost(d.Usage)} {
		if text != "" {
			list = append(list, text)
		}
	}
	return strings.Join(list, " · ")
}

// absence says why there are no values to show.
func (d DataPanel) absence() string {
	switch {
	case d.Run == nil:
		return "This flow has not run yet. Run it to see inputs and outputs here."
	case d.Erased != "":
		return d.Erased
	case d.State == "" && d.Run.ended():
		return "This node was not part of the run."
	case d.State == "":
		return "This node has not started yet."
	case d.State == "skipped":
		return "Skipped: other branch, or a required value was missing."
	}
	return ""
}

// wholeNumber formats a number for scripts, without separators.
func wholeNumber(n int64) string { return strconv.FormatInt(n, 10) }
