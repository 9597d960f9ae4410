// Package automation renders the pages of what starts runs without a caller: the triggers of flows and workspaces, the dialog of a
// schedule, the page of an incoming webhook, and batches. It knows the URLs of its pages, and gets everything else in structs.
package automation

import (
	"net/url"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// TriggersPage lists the triggers of a flow with their newest events.
type TriggersPage struct {
	FlowID, Flow string
	LiveVersion  int64
	MayEdit      bool
	Triggers     []TriggerRow
	States       []components.Tab // filters of the events
	Events       []EventRow
	Now          time.Time
	Pages        components.Pages
	Dialog       *ScheduleForm // open over the list
}

// path returns the URL of a page of the triggers.
func (t TriggersPage) path(rest string) string { return TriggersPath(t.FlowID) + rest }

// TriggersPath returns the path of the triggers of a flow.
func TriggersPath(flowID string) string { return components.FlowPath(flowID) + "/triggers" }

// TriggerPath returns the path of the page of a trigger.
func TriggerPath(flowID, id string) string {
	return TriggersPath(flowID) + "/" + url.PathEscape(id)
}

// TriggerRow is a trigger in a list.
type TriggerRow struct {
	ID, Name, FlowID, Flow string
	Icon                   string
	Hook                   bool
	Sentence               string
	Next, NextBelow        string // when it starts next, and the same in its time zone
	On                     bool
	Marks                  []string // states of the last events, oldest first
	Note                   string   // what is wrong with the last events
	Refusal                string   // why the live version would refuse the next start
	NoteTone               components.Tone
}

// path returns the URL of an act of the trigger, or of its page.
func (r TriggerRow) path(rest string) string { return TriggerPath(r.FlowID, r.ID) + rest }

// switchAct returns the act of the switch.
func (r TriggerRow) switchAct() string {
	if r.On {
		return r.path("/pause")
	}
	return r.path("/resume")
}

// hue returns the class with the color of the icon.
func (r TriggerRow) hue() string {
	if r.Hook {
		return "g-source"
	}
	return "g-text"
}

// marksText describes the last events for screen readers.
func (r TriggerRow) marksText() string {
	if len(r.Marks) == 0 {
		return "No events yet"
	}
	started := 0
	for _, m := range r.Marks {
		if m == "started" {
			started++
		}
	}
	return components.Count(started) + " of the last " + components.Quantity(len(r.Marks), "event") + " started a run"
}

// EventRow is an event in a list.
type EventRow struct {
	State   string
	Trigger string
	Path    templ.SafeURL // of the trigger
	Reason  string
	At      time.Time
	RunID   string
	Report  templ.SafeURL // of the test that it started, or ""
}

// eventSigns has the icons and colors of the states of events.
var eventSigns = map[string]components.StateSign{
	"started":  {Icon: "play", Tone: components.ToneOK},
	"skipped":  {Icon: "skip-forward", Tone: components.ToneNone},
	"missed":   {Icon: "clock", Tone: components.ToneWait},
	"ignored":  {Icon: "list-filter", Tone: components.ToneNone},
	"rejected": {Icon: "x", Tone: components.ToneBad},
	"waiting":  {Icon: "pause", Tone: components.ToneWait},
	"repeated": {Icon: "copy", Tone: components.ToneNone},
}

// shortRun returns the end of the ID of a run.
func shortRun(id string) string { return "…" + id[max(0, len(id)-6):] }

// WorkspacePage lists the triggers of a workspace: what starts next, and what needs attention.
type WorkspacePage struct {
	Triggers []TriggerRow // those that need attention first
	More     int          // triggers that are not in Triggers
	Upcoming []UpcomingRow
	Zone     string // of the reader, or of the workspace
	Settings bool   // the reader may change the time zone of the workspace
	Now      time.Time
}

// UpcomingRow is a planned time.
type UpcomingRow struct {
	At            time.Time
	Text          string
	Trigger, Flow string
	Path          templ.SafeURL
	Sentence      string
}

// noEvents says that there are no events, or none in the state of the current tab.
func (t TriggersPage) noEvents() string {
	for i, tab := range t.States {
		if tab.Current && i > 0 {
			return "No events in this state."
		}
	}
	return "No events yet."
}
