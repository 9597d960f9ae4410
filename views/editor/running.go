package editor

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// RunForm asks for the inputs of a run of the draft.
type RunForm struct {
	FlowID, Flow string
	// Until is the node that it runs to, From the one that it runs again from;
	// Parent is the run whose results it may take over.
	Until, From, Parent string
	// Node is the title of Until or From; Sends is set if Until is a webhook.
	Node  string
	Sends bool
	// Webhooks counts those that a run of everything sends.
	Webhooks int
	// Flows is set if nodes run other flows; Drafts, if their drafts are to run.
	Flows, Drafts bool
	Fields        []components.RunField
	// Problems keep the draft from running; there are no fields then.
	Problems ProblemsPanel
	Error    string
	// Ran is set if the values come from a run before.
	Ran bool
}

// title returns the heading of the dialog: the run covers the whole draft, or goes to a
// node, or starts from one.
func (f RunForm) title() string {
	switch {
	case f.Until != "":
		return "Run to " + f.Node
	case f.From != "":
		return "Run from " + f.Node
	}
	return "Run draft"
}

// words say what will run, and what not.
func (f RunForm) words() string {
	switch {
	case f.Until != "" && f.Sends:
		return "Runs this webhook and what it depends on. The message is really sent."
	case f.Until != "":
		return "Runs this node and what it depends on, and nothing else. No webhook is sent."
	case f.From != "":
		return "Runs this node and everything after it. Earlier results are reused where nothing changed."
	case f.Webhooks > 0:
		return "Runs the draft. " + Sentence(components.Quantity(f.Webhooks, "webhook")+" will be sent")
	}
	return "Runs the draft. The live version isn’t affected."
}

// drafts returns the checkbox that makes nodes which run other flows use the drafts of
// those flows.
func (f RunForm) drafts() components.Field {
	return components.Field{ID: "run-children", Name: "children", Value: "draft", Label: "Use drafts of other flows", Checked: f.Drafts, Help: "Nodes that run a flow run its draft, and not the version that is live or pinned."}
}

func (f RunForm) path() templ.SafeURL { return components.FlowURL(f.FlowID, "/run") }

// hasExamples reports whether any field can be filled for the person.
func (f RunForm) hasExamples() bool {
	for i := range f.Fields {
		if f.Fields[i].Example != "" {
			return true
		}
	}
	return false
}

func (f RunForm) broken() bool { return len(f.Problems.List) > 0 }

// Usage is what models took and gave, and what it cost.
type Usage struct{ InputTokens, OutputTokens, CostNanoUSD int64 }

// RunMark is where a run stands, as the builder shows it.
type RunMark struct {
	FlowID, ID string
	State      string
	Draft      bool
	Version    int64
	Trigger    string
	Done, All  int
	// Took is how long it ran, until now if it has not ended.
	Took      time.Duration
	Usage     Usage
	CreatedAt time.Time
	Error     *Trouble
	// MayRun shows what starts and stops.
	MayRun bool
	// Current is the run that the page shows.
	Current bool
}

// shortID is an ID that fits beside other words.
func shortID(id string) string {
	if len(id) <= 14 {
		return id
	}
	return id[:8] + "…" + id[len(id)-4:]
}

func (m RunMark) steps() string {
	return components.Count(m.Done) + " of " + components.Quantity(m.All, "step")
}

// cost is empty when nothing was paid for.
func (m RunMark) cost() string { return Cost(m.Usage) }

// Cost writes what was paid, nothing if nothing was.
func Cost(u Usage) string {
	if u.CostNanoUSD == 0 {
		return ""
	}
	return components.Money(max(1, u.CostNanoUSD/1000))
}

// Tokens writes what went into a model and what came out: 312 → 48 tokens.
func Tokens(u Usage) string {
	if u.InputTokens == 0 && u.OutputTokens == 0 {
		return ""
	}
	return components.Count(int(u.InputTokens)) + " → " + components.Count(int(u.OutputTokens)) + " tokens"
}

// of says what ran.
func (m RunMark) of() string {
	if m.Draft {
		return "draft"
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

// replay shows the run on the canvas.
func (m RunMark) replay() templ.SafeURL {
	return components.FlowURL(m.FlowID, "?run="+url.QueryEscape(m.ID))
}

// triggers in words.
var triggers = map[string]string{
	"api": "API", "builder": "Builder", "form": "Form",
	"mcp": "MCP", "cli": "Command line", "rerun": "Rerun",
}

// triggerWord returns the label of a trigger. An unknown trigger is shown as it is
// stored.
func triggerWord(trigger string) string { return cmp.Or(triggers[trigger], trigger) }

// Trouble is why a run or a step failed and what to do about it.
type Trouble struct {
	Code     string
	Text, Do string
	Node     string
}

// RunList are the last runs of a flow, in the builder's pane.
type RunList struct {
	FlowID string
	Runs   []RunMark
	MayRun bool
	Now    time.Time
}

// open reports whether any of the runs may still change.
func (l RunList) open() bool {
	for i := range l.Runs {
		if !l.Runs[i].ended() {
			return true
		}
	}
	return false
}

// DataPanel is what went into a node and came out of it in one run.
type DataPanel struct {
	FlowID, Node, Title string
	// Run is nil before the first run.
	Run *RunMark
	// State is empty where the node took no part in the run.
	State           string
	Attempts        int
	Took            time.Duration
	Usage           Usage
	Error           *Trouble
	Inputs, Outputs []components.ValueView
	// Log is what code wrote to its console.
	Log string
	// Erased says why the content of the run is gone.
	Erased string
	// MayPin lets the person pin outputs; CanPin is set if the kind allows it.
	MayPin, CanPin bool
	// Pinned are the outputs that stand in for the node; HasPin that there are some.
	HasPin bool
	Pinned []components.ValueView
	PinnedAt,
	Now time.Time
	// Typed is the JSON in the editor of pins, PinError what is wrong with it.
	Typed, PinError string
}

// pinPath returns the URL that pins or unpins the node's output; verb is "pin" or
// "unpin".
func (d DataPanel) pinPath(verb string) templ.SafeURL {
	return components.FlowURL(d.FlowID, "/"+verb+"/"+url.PathEscape(d.Node))
}

// facts are what is known of the step beside its values.
func (d DataPanel) facts() string {
	var list []string
	if d.Took >= time.Millisecond {
		list = append(list, components.Took(d.Took))
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

// absence says why there is nothing to see.
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
		return "Skipped: its branch was not taken, or a required input never arrived."
	}
	return ""
}

// Replay is the line above a canvas that shows a past run.
type Replay struct {
	Run RunMark
	// Differs is set if another document ran than the one that is the draft now.
	Differs bool
	Now     time.Time
}

// wholeNumber is for scripts.
func wholeNumber(n int64) string { return strconv.FormatInt(n, 10) }
