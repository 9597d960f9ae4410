package automation

import (
	"net/url"
	"strings"
	"time"

	"sluice/views/components"
)

// AlarmsPage is the page of the alarms of a workspace.
type AlarmsPage struct {
	Alarms  []AlarmRow
	Trouble []TroubleRow // what needs attention without an alarm
	Kinds   []KindRow    // of new alarms
	MayEdit bool
	Now     time.Time
}

// AlarmRow is an alarm in a list.
type AlarmRow struct {
	Name, Flow, Sentence string
	State                string // quiet, firing, paused or archived
	Since                time.Time
	Finding              string
	On                   bool
	MayEdit              bool
}

// TroubleRow is a trigger or a receiver that needs attention.
type TroubleRow struct{ Title, Text, Path string }

// KindRow is a kind of alarms.
type KindRow struct{ Kind, Title, Text string }

// AlarmPath returns the path of an alarm, or of a new one without a name.
func AlarmPath(name string) string {
	if name == "" {
		return "/alarms"
	}
	return "/alarms/" + url.PathEscape(name)
}

// AlarmPage is the page of an alarm, or of a new one.
type AlarmPage struct {
	AlarmRow
	Fresh    bool // it does not exist yet
	Kind     string
	KindText string
	Fields   []components.Field
	Choices  []components.Field // selects
	Errors   components.Errors
	Runs     []string // IDs of runs that made it fire
	Messages []AlarmMessageRow
	Now      time.Time
}

// AlarmMessageRow is a message in the log.
type AlarmMessageRow struct {
	At                           time.Time
	Kind, To, State, Error, Path string
}

// action is where the form goes.
func (p *AlarmPage) action() string {
	if p.Fresh {
		return "/alarms/new/" + p.Kind
	}
	return AlarmPath(p.Name)
}

// stateWord returns a state or the kind of a message as shown.
func stateWord(state string) string {
	if state == "" {
		return ""
	}
	return strings.ToUpper(state[:1]) + state[1:]
}

// alarmTone returns the color of a state.
func alarmTone(state string) components.Tone {
	switch state {
	case "firing", "failed":
		return components.ToneBad
	case "quiet", "sent", "delivered":
		return components.ToneOK
	}
	return components.ToneNone
}
