package flow

import "time"

// MaxAttempts is how many attempts a step remembers, the newest ones.
const MaxAttempts = 20

// MaxRunModels bounds the models that a run remembers.
const MaxRunModels = 20

// Attempt is one try of a step. A step that needed a single one, and wrote no log,
// keeps none: its own times and error say it all.
type Attempt struct {
	Number    int       `json:"number"` // as Step.Attempt counts them
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"` // zero while it runs, or when a crash cut it
	Error     *Error    `json:"error,omitempty"`
	Log       string    `json:"log,omitempty"`    // what code wrote to its console
	Paused    bool      `json:"paused,omitempty"` // it ended because the step waits and continues later
	Model     string    `json:"model,omitempty"`  // provider/model that it called
	// What it has used. Unpriced is set if the cost is not all known.
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CostNanoUSD  NanoUSD `json:"cost_nano_usd,omitempty"`
	Unpriced     bool    `json:"unpriced,omitempty"`
	// Next is the alternative of the config that the attempts after it take; see
	// Kind.Alternative.
	Next int `json:"next,omitempty"`
}

// Charge adds what the attempt has used.
func (a *Attempt) Charge(u Usage) {
	a.InputTokens, a.OutputTokens, a.CostNanoUSD = a.InputTokens+u.InputTokens, a.OutputTokens+u.OutputTokens, a.CostNanoUSD+u.CostNanoUSD
	a.Unpriced = a.Unpriced || u.UnpricedSteps > 0
}

// Model returns the model that the step was given, or "".
func (s *Step) Model() string {
	model, _ := s.Input["model"].(string)
	return model
}

// Alternative returns which alternative of its config the step takes; see
// Kind.Alternative.
func (s *Step) Alternative() int {
	if n := len(s.Attempts); n > 0 {
		return s.Attempts[n-1].Next
	}
	return 0
}

// Tries are the attempts of a step that began, the newest MaxAttempts of them.
func (s *Step) Tries() []Attempt {
	if len(s.Attempts) > 0 || s.StartedAt.IsZero() || s.Attempt == 0 {
		return s.Attempts
	}
	a := Attempt{Number: s.Attempt, StartedAt: s.StartedAt, EndedAt: s.EndedAt, Error: s.Error, Model: s.Model()}
	a.Charge(s.Usage)
	return []Attempt{a}
}

// Log returns what code wrote to its console in the newest attempt.
func (s *Step) Log() string {
	if len(s.Attempts) == 0 {
		return ""
	}
	return s.Attempts[len(s.Attempts)-1].Log
}
