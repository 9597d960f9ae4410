package flow

import "time"

// MaxAttempts is how many attempts a step remembers, the newest ones.
const MaxAttempts = 20

// Attempt is one try of a step. A step that needed a single one keeps none: its
// own times and error say it all.
type Attempt struct {
	Number    int       `json:"number"` // as Step.Attempt counts them
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"` // zero while it runs, or when a crash cut it
	Error     *Error    `json:"error,omitempty"`
	Paused    bool      `json:"paused,omitempty"` // it ended because the step waits, and goes on later
}

// Tries are the attempts of a step that began, the newest MaxAttempts of them.
func (s *Step) Tries() []Attempt {
	if len(s.Attempts) > 0 || s.StartedAt.IsZero() || s.Attempt == 0 {
		return s.Attempts
	}
	return []Attempt{{Number: s.Attempt, StartedAt: s.StartedAt, EndedAt: s.EndedAt, Error: s.Error}}
}

// again opens an attempt after the first. A step that only paused for a moment,
// as one that asks after a prediction does, goes on with the one before.
func (s *Step) again(now time.Time) {
	if len(s.Attempts) == 0 { // a crash cut the first
		s.Attempts = []Attempt{{Number: s.Attempt - 1, StartedAt: s.StartedAt}}
	}
	if last := s.Attempts[len(s.Attempts)-1]; last.Paused && now.Sub(last.EndedAt) <= HeldBackoff {
		s.Attempts = s.Attempts[:len(s.Attempts)-1]
		s.remember(Attempt{Number: s.Attempt, StartedAt: last.StartedAt})
		return
	}
	s.remember(Attempt{Number: s.Attempt, StartedAt: now})
}

// tried closes the present attempt of a step that another follows.
func (s *Step) tried(now time.Time, err *Error, paused bool) {
	if len(s.Attempts) == 0 {
		s.remember(Attempt{Number: max(s.Attempt, 1), StartedAt: s.StartedAt})
	}
	last := s.Attempts[len(s.Attempts)-1]
	s.Attempts = s.Attempts[:len(s.Attempts)-1]
	last.EndedAt, last.Error, last.Paused = now, err, paused
	s.remember(last)
}

// closeTries ends the last attempt with the step.
func (s *Step) closeTries() {
	if len(s.Attempts) == 0 {
		return
	}
	if last := s.Attempts[len(s.Attempts)-1]; last.EndedAt.IsZero() {
		s.tried(s.EndedAt, s.Error, false)
	}
}

// remember copies: rows that are being written share the list.
func (s *Step) remember(a Attempt) {
	from := max(0, len(s.Attempts)+1-MaxAttempts)
	s.Attempts = append(append(make([]Attempt, 0, len(s.Attempts)+1-from), s.Attempts[from:]...), a)
}
