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
	Usage     *Spending `json:"usage,omitempty"`  // nil: nothing
	// Next is the alternative of the config that the attempts after it take; see
	// Kind.Alternative.
	Next int `json:"next,omitempty"`
}

// Spending is what an attempt has used.
type Spending struct {
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CostNanoUSD  NanoUSD `json:"cost_nano_usd,omitempty"`
	Unpriced     bool    `json:"unpriced,omitempty"` // the cost is not all known
}

// Add returns what an attempt has used after more usage; nil is nothing.
func (s *Spending) Add(u Usage) *Spending {
	if u == (Usage{}) {
		return s
	}
	var sum Spending
	if s != nil {
		sum = *s
	}
	sum.InputTokens += u.InputTokens
	sum.OutputTokens += u.OutputTokens
	sum.CostNanoUSD += u.CostNanoUSD
	sum.Unpriced = sum.Unpriced || u.UnpricedSteps > 0
	return &sum
}

// Usage returns the spending as usage; that of nil is zero.
func (s *Spending) Usage() Usage {
	if s == nil {
		return Usage{}
	}
	u := Usage{InputTokens: s.InputTokens, OutputTokens: s.OutputTokens, CostNanoUSD: s.CostNanoUSD}
	if s.Unpriced {
		u.UnpricedSteps = 1
	}
	return u
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
	return []Attempt{{Number: s.Attempt, StartedAt: s.StartedAt, EndedAt: s.EndedAt, Error: s.Error, Model: s.Model(), Usage: (*Spending)(nil).Add(s.Usage)}}
}

// Log returns what code wrote to its console in the newest attempt.
func (s *Step) Log() string {
	if len(s.Attempts) == 0 {
		return ""
	}
	return s.Attempts[len(s.Attempts)-1].Log
}
