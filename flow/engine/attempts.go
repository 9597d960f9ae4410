package engine

import (
	"time"

	"sluice/flow"
)

// beginAttempt starts an attempt after the first. A step that paused only briefly, such as
// one that polls a prediction, continues its previous attempt.
func beginAttempt(s *flow.Step, now time.Time) {
	if len(s.Attempts) == 0 { // a crash ended the first attempt
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

// chargeAttempt adds usage to the current attempt. It does nothing while the only attempt is
// not in the list yet, because its usage is that of the step.
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

// firstAttempt builds the first attempt from the fields of the step. A step with a single
// attempt does not store a list.
func firstAttempt(s *flow.Step) flow.Attempt {
	a := flow.Attempt{Number: max(s.Attempt, 1), StartedAt: s.StartedAt, Model: s.Model()}
	a.Charge(s.Usage)
	return a
}

// endAttempt ends the current attempt. paused means that the step waits and continues later.
func endAttempt(s *flow.Step, now time.Time, err *flow.Error, paused bool) {
	last := takeAttempt(s)
	last.EndedAt, last.Error, last.Paused = now, err, paused
	appendAttempt(s, last)
}

// closeAttempts ends the last attempt when the step has ended.
func closeAttempts(s *flow.Step) {
	if len(s.Attempts) == 0 {
		return
	}
	if last := s.Attempts[len(s.Attempts)-1]; last.EndedAt.IsZero() {
		endAttempt(s, s.EndedAt, s.Error, false)
	}
}

// loseAttempt marks the current attempt: it called a paid model and its bill is unknown.
func loseAttempt(s *flow.Step) {
	last := takeAttempt(s)
	last.Lost, last.Unpriced = true, true
	appendAttempt(s, last)
}

// replayAttempt marks the current attempt: its result was recorded before.
func replayAttempt(s *flow.Step, r *flow.Recorded) {
	last := takeAttempt(s)
	last.Recorded = r
	appendAttempt(s, last)
}

// interrupted reports whether the last attempt of a step did not end, because its worker died.
func interrupted(s *flow.Step) bool {
	n := len(s.Attempts)
	return !s.StartedAt.IsZero() && (n == 0 || s.Attempts[n-1].EndedAt.IsZero())
}

// takeAttempt removes and returns the current attempt, which need not be in the list yet.
func takeAttempt(s *flow.Step) flow.Attempt {
	n := len(s.Attempts)
	if n == 0 {
		return firstAttempt(s)
	}
	last := s.Attempts[n-1]
	s.Attempts = s.Attempts[:n-1]
	return last
}

// logAttempt stores the console output of the current attempt.
func logAttempt(s *flow.Step, log string) {
	if log == "" {
		return
	}
	last := takeAttempt(s)
	last.Log = log
	appendAttempt(s, last)
}

// answerAttempt stores what is known of the answer of a model in the current attempt. An attempt that called a paid model is
// stored in any case, because traces read the model from it.
func answerAttempt(s *flow.Step, answer *flow.Answer, paid bool) {
	if answer == nil && !paid {
		return
	}
	last := takeAttempt(s)
	last.Answer = answer
	appendAttempt(s, last)
}

// appendAttempt appends to a copy, because rows that are being written share the list. It
// drops the oldest attempts above flow.MaxAttempts.
func appendAttempt(s *flow.Step, a flow.Attempt) {
	from := max(0, len(s.Attempts)+1-flow.MaxAttempts)
	s.Attempts = append(append(make([]flow.Attempt, 0, len(s.Attempts)+1-from), s.Attempts[from:]...), a)
}
