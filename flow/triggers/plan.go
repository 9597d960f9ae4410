package triggers

import (
	"time"

	"sluice/flow"
	"sluice/flow/schedule"
)

const (
	// onTime is how late a planned time may be that was not missed.
	onTime = time.Minute
	// missedAtOnce bounds the missed times that one transaction records.
	missedAtOnce = 500
)

// Plan says what to do about the planned times of a schedule that are due.
type Plan struct {
	Missed []Event   // recorded first, oldest first
	Start  time.Time // started after these; zero: none
	Next   time.Time // planned time after all of these, which may be due too
	// CatchingUp reports whether Start was missed, but starts now because all missed times do.
	CatchingUp bool
}

// Plan returns what to do about the times that are due. The trigger must be on.
func (t *Trigger) Plan(s *schedule.Schedule, now time.Time) Plan {
	due, next := t.due(s, now)
	begin := t.firstToStart(due, now)
	if begin > missedAtOnce {
		return Plan{Missed: t.missed(due[:missedAtOnce], now), Next: due[missedAtOnce]}
	}
	p := Plan{Missed: t.missed(due[:begin], now), Next: next}
	if rest := due[begin:]; len(rest) > 0 {
		p.Start = rest[0]
		if len(rest) > 1 {
			p.Next = rest[1]
		}
		p.CatchingUp = t.Config.catchUp() == CatchUpAll && (len(rest) > 1 || now.Sub(t.DueAt(p.Start)) > onTime)
	}
	return p
}

// due returns the planned times that are due and the one after them. Of very many, it returns those that the log keeps.
func (t *Trigger) due(s *schedule.Schedule, now time.Time) (list []time.Time, next time.Time) {
	now = now.Add(-t.delay())
	for next = t.Next; !next.IsZero() && !next.After(now); next = s.Next(next) {
		if list = append(list, next); len(list) >= 2*MaxEvents {
			list = append(list[:0], list[MaxEvents:]...)
		}
	}
	return list, next
}

// firstToStart returns the index of the first time that starts; those before it were missed.
func (t *Trigger) firstToStart(due []time.Time, now time.Time) int {
	n, late := len(due), t.Config.maxLate()
	begin := max(0, n-1)
	switch t.Config.catchUp() {
	case CatchUpAll:
		begin = max(0, n-MaxCatchUp)
	case CatchUpNone:
		late = min(late, onTime)
	}
	for begin < n && (now.Sub(t.DueAt(due[begin])) > late || !due[begin].After(t.MissedUntil)) {
		begin++
	}
	return begin
}

// missed returns the events of missed times.
func (t *Trigger) missed(list []time.Time, now time.Time) []Event {
	var events []Event
	for _, at := range list {
		e := t.Event(at, Missed, CodeOutage, "Sluice did not run at that time.")
		switch {
		case !at.After(t.MissedUntil):
			e.Detail = "The database was restored; the run may have started before."
		case now.Sub(at) > t.Config.maxLate():
			e.Code, e.Detail = CodeLate, "Only times that are at most "+lateness(&t.Config)+" old start."
		case t.Config.catchUp() == CatchUpOne:
			e.Detail = "Sluice did not run at that time; only the latest time starts."
		}
		events = append(events, e)
	}
	return events
}

// lateness returns max_late as people write it.
func lateness(c *Config) string {
	if c.MaxLate == "" {
		return "6h"
	}
	return c.MaxLate
}

// TooLate reports whether a waiting time cannot start any longer.
func (t *Trigger) TooLate(at, now time.Time) bool { return now.Sub(at) > t.Config.maxLate() }

// Times returns the times of the trigger after it was created or changed: it continues after now.
func (t *Trigger) Times(s *schedule.Schedule, now time.Time) flow.TriggerTimes {
	after := now
	if t.Decided.After(now) { // the clock was set back
		after = t.Decided
	}
	next := s.Next(after)
	return flow.TriggerTimes{Next: next, Due: t.DueAt(next), Decided: t.Decided}
}

// Retries reports whether a refused start is tried again, and after which time.
func Retries(err *flow.Error) (after time.Duration, ok bool) {
	switch err.Code {
	case flow.CodeQueueFull, flow.CodeOverloaded, flow.CodeUnavailable, flow.CodeStorageFull, flow.CodeDraining, flow.CodeConcurrencyLimited:
		return max(err.After, 5*time.Second), true
	}
	return 0, false
}
