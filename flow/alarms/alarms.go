package alarms

import (
	"fmt"
	"time"

	"sluice/flow"
)

// Reasons why an alarm is off.
const (
	ReasonPaused   = "paused"
	ReasonArchived = "archived" // with its flow
)

// Alarm tells people about the runs of a flow, or of all flows of a workspace.
type Alarm struct {
	ID          string
	WorkspaceID flow.WorkspaceID
	FlowID      flow.FlowID // empty for all flows
	Name        string      // unique in the workspace
	Config      Config
	On          bool
	Reason      string // why it is off
	State
	WatchedFrom time.Time // what happened before does not count
	Rev         int64     // counts changes by people
	Source      string    // where it was applied from
	MadeBy      string
	CreatedAt   time.Time
	ChangedAt   time.Time
}

// URL returns the page of the alarm on a server, or "" if the server has no public URL.
func (a *Alarm) URL(public string) string {
	if public == "" {
		return ""
	}
	return public + "/alarms/" + a.Name
}

// State is what an alarm remembers between two looks at its flows.
type State struct {
	Step        int64     // counts its changes
	FiringSince time.Time // zero while it does not fire
	BadAt       time.Time // the condition last held
	CountedTo   time.Time // ends of runs until then were counted
	ToldAt      time.Time // the last message
	Finding     Finding   // what was found last
}

// Finding is why an alarm fires.
type Finding struct {
	Text string       `json:"text,omitempty"` // a sentence
	Runs []flow.RunID `json:"runs,omitempty"` // some of the runs concerned
}

// Message kinds.
const (
	Started   = "started"
	Continues = "continues"
	Ended     = "ended"
	Test      = "test"
)

// Next returns the state after a look at the flows, which found something or nil, and the kind of message that is due, or "".
// counted is the new CountedTo.
func (a *Alarm) Next(found *Finding, counted, now time.Time) (s State, message string) {
	s = a.State
	switch {
	case found != nil:
		s.BadAt, s.Finding = now, *found
		if counted.After(s.CountedTo) {
			s.CountedTo = counted
		}
		if s.FiringSince.IsZero() {
			s.FiringSince, message = now, Started
		} else if now.Sub(s.ToldAt) >= Again {
			message = Continues
		}
	case !s.FiringSince.IsZero() && now.Sub(s.BadAt) >= a.Config.clearAfter():
		s.FiringSince, message = time.Time{}, Ended
	}
	if message != "" {
		s.ToldAt = now
	}
	return s, message
}

// Sentence says when an alarm fires.
func (c *Config) Sentence() string {
	switch c.Kind {
	case Failed:
		switch {
		case c.Percent != 0:
			return fmt.Sprintf("At least %d %% of at least %d runs in %s failed", c.Percent, c.least(), Span(c.window()))
		case c.count() > 1:
			return fmt.Sprintf("%d runs in a row failed", c.count())
		}
		return "A run failed"
	case Slow:
		if c.Window != "" {
			return fmt.Sprintf("Of at least %d runs in %s, 5 %% took longer than %s", c.least(), Span(c.window()), Span(c.over()))
		}
		return "A run takes longer than " + Span(c.over())
	case Cost:
		switch {
		case c.Factor != 0:
			return fmt.Sprintf("The cost of a day is above %g times the mean of the last 7 days", c.Factor)
		case c.Per == "run":
			return "A run cost at least $" + flow.USDOf(c.USD).Rounded()
		}
		return "The cost of a day is at least $" + flow.USDOf(c.USD).Rounded()
	case Silent:
		return "No run has succeeded for " + Span(c.over())
	case Skipped:
		return fmt.Sprintf("Triggers skipped, missed or rejected at least %d events in %s", c.count(), Span(c.window()))
	case Deliveries:
		return "Webhooks to a receiver have failed for " + Span(c.over())
	case FailedTest:
		return "A test that a schedule started did not pass"
	}
	return "A question to people has been open for longer than " + Span(c.over())
}
