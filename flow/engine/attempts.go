package engine

import (
	"time"

	"sluice/flow"
)

// beginAttempt opens an attempt after the first. A step that only paused for a moment,
// such as a step that polls a prediction, continues the one before.
func beginAttempt(s *flow.Step, now time.Time) {
	if len(s.Attempts) == 0 { // a crash cut the first
		s.Attempts = []flow.Attempt{{Number: s.Attempt - 1, StartedAt: s.StartedAt}}
	}
	if last := s.Attempts[len(s.Attempts)-1]; last.Paused && now.Sub(last.EndedAt) <= flow.HeldBackoff {
		s.Attempts = s.Attempts[:len(s.Attempts)-1]
		last.Number, last.Model, last.EndedAt, last.Paused = s.Attempt, s.Model(), time.Time{}, false
		appendAttempt(s, last)
		return
	}
	appendAttempt(s, flow.Attempt{Number: s.Attempt, StartedAt: now, Model: s.Model(), Next: s.Alternative()})
}

// chargeAttempt adds what the present attempt has used. That of a first attempt, which is
// not kept yet, is the usage of the step.
func chargeAttempt(s *flow.Step, used flow.Usage) {
	n := len(s.Attempts)
	if n == 0 || used == (flow.Usage{}) {
		return
	}
	last := s.Attempts[n-1]
	s.Attempts = s.Attempts[:n-1]
	last.Charge(used)
	appendAttempt(s, last)
}

// firstAttempt returns the attempt of a step that has kept none.
func firstAttempt(s *flow.Step) flow.Attempt {
	a := flow.Attempt{Number: max(s.Attempt, 1), StartedAt: s.StartedAt, Model: s.Model()}
	a.Charge(s.Usage)
	return a
}

// endAttempt closes the present attempt of a step that another follows.
func endAttempt(s *flow.Step, now time.Time, err *flow.Error, paused bool) {
	if len(s.Attempts) == 0 {
		appendAttempt(s, firstAttempt(s))
	}
	last := s.Attempts[len(s.Attempts)-1]
	s.Attempts = s.Attempts[:len(s.Attempts)-1]
	last.EndedAt, last.Error, last.Paused = now, err, paused
	appendAttempt(s, last)
}

// closeAttempts ends the last attempt with the step.
func closeAttempts(s *flow.Step) {
	if len(s.Attempts) == 0 {
		return
	}
	if last := s.Attempts[len(s.Attempts)-1]; last.EndedAt.IsZero() {
		endAttempt(s, s.EndedAt, s.Error, false)
	}
}

// logAttempt keeps what the present attempt of a step wrote.
func logAttempt(s *flow.Step, log string) {
	if log == "" {
		return
	}
	last := firstAttempt(s)
	if n := len(s.Attempts); n > 0 {
		last, s.Attempts = s.Attempts[n-1], s.Attempts[:n-1]
	}
	last.Log = log
	appendAttempt(s, last)
}

// appendAttempt copies: rows that are being written share the list.
func appendAttempt(s *flow.Step, a flow.Attempt) {
	from := max(0, len(s.Attempts)+1-flow.MaxAttempts)
	s.Attempts = append(append(make([]flow.Attempt, 0, len(s.Attempts)+1-from), s.Attempts[from:]...), a)
}
