package flow

import "time"

// MaxAttempts is how many attempts a step remembers, the newest ones.
const MaxAttempts = 20

// Attempt is one try of a step. A step that needed a single one, and wrote no log,
// keeps none: its own times and error say it all.
type Attempt struct {
	Number    int       `json:"number"` // as Step.Attempt counts them
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"` // zero while it runs, or when a crash cut it
	Error     *Error    `json:"error,omitempty"`
	Log       string    `json:"log,omitempty"`    // what code wrote to its console
	Paused    bool      `json:"paused,omitempty"` // it ended because the step waits and continues later
}

// Tries are the attempts of a step that began, the newest MaxAttempts of them.
func (s *Step) Tries() []Attempt {
	if len(s.Attempts) > 0 || s.StartedAt.IsZero() || s.Attempt == 0 {
		return s.Attempts
	}
	return []Attempt{{Number: s.Attempt, StartedAt: s.StartedAt, EndedAt: s.EndedAt, Error: s.Error}}
}

// Log returns what code wrote to its console in the newest attempt.
func (s *Step) Log() string {
	if len(s.Attempts) == 0 {
		return ""
	}
	return s.Attempts[len(s.Attempts)-1].Log
}
