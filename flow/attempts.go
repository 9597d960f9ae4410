package flow

import (
	"slices"
	"time"
)

// MaxAttempts bounds the attempts stored with a step. The oldest are dropped.
const MaxAttempts = 20

// MaxRunModels bounds the models stored with a run.
const MaxRunModels = 20

// Attempt is one try of a step. A step with a single attempt and no log stores no list,
// because its own times and error are those of the attempt.
type Attempt struct {
	Number    int       `json:"number"` // as Step.Attempt counts them
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"` // zero while it runs, or if a crash ended it
	Error     *Error    `json:"error,omitempty"`
	Log       string    `json:"log,omitempty"`    // what code wrote to its console
	Paused    bool      `json:"paused,omitempty"` // it ended because the step waits and continues later
	Model     string    `json:"model,omitempty"`  // provider/model that it called
	// The usage of the attempt. Unpriced means that the cost is incomplete.
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CostNanoUSD  NanoUSD `json:"cost_nano_usd,omitempty"`
	Unpriced     bool    `json:"unpriced,omitempty"`
	// CachedTokens and ReasoningTokens are in the numbers above.
	CachedTokens    int64 `json:"cached_tokens,omitempty"`
	ReasoningTokens int64 `json:"reasoning_tokens,omitempty"`
	// Answer is what the provider told about the answer of a model; nil without one.
	Answer *Answer `json:"answer,omitempty"`
	// Lost means that the attempt called a paid model and that its bill is unknown.
	Lost bool `json:"lost,omitempty"`
	// Recorded is what the step used when its result was recorded, if a case run took it from there.
	Recorded *Recorded `json:"recorded,omitempty"`
	// Next is the alternative config that later attempts use; see Kind.Alternative.
	Next int `json:"next,omitempty"`
}

// Answer describes the answer of a model beside its content.
type Answer struct {
	Model            string `json:"model,omitempty"`  // that answered, as the provider reports it
	Finish           string `json:"finish,omitempty"` // why it ended
	FirstChunkMicros int64  `json:"first_chunk_us,omitempty"`
}

// Charge adds usage to the attempt.
func (a *Attempt) Charge(u Usage) {
	a.InputTokens, a.OutputTokens, a.CostNanoUSD = a.InputTokens+u.InputTokens, a.OutputTokens+u.OutputTokens, a.CostNanoUSD+u.CostNanoUSD
	a.CachedTokens, a.ReasoningTokens = a.CachedTokens+u.CachedTokens, a.ReasoningTokens+u.ReasoningTokens
	a.Unpriced = a.Unpriced || u.UnpricedSteps > 0
}

// Model returns the model in the input of the step, or "".
func (s *Step) Model() string {
	model, _ := s.Input["model"].(string)
	return model
}

// Alternative returns the number of the alternative config that the step uses; see
// Kind.Alternative.
func (s *Step) Alternative() int {
	if n := len(s.Attempts); n > 0 {
		return s.Attempts[n-1].Next
	}
	return 0
}

// Tries returns the newest MaxAttempts attempts, including a single one that is not stored as
// a list.
func (s *Step) Tries() []Attempt {
	if len(s.Attempts) > 0 || s.StartedAt.IsZero() || s.Attempt == 0 {
		return s.Attempts
	}
	a := Attempt{Number: s.Attempt, StartedAt: s.StartedAt, EndedAt: s.EndedAt, Error: s.Error, Model: s.Model()}
	a.Charge(s.Usage)
	return []Attempt{a}
}

// LostCall reports whether the bill of an attempt is unknown.
func (s *Step) LostCall() bool {
	return slices.ContainsFunc(s.Attempts, func(a Attempt) bool { return a.Lost })
}

// Log returns the console output of the newest attempt.
func (s *Step) Log() string {
	if len(s.Attempts) == 0 {
		return ""
	}
	return s.Attempts[len(s.Attempts)-1].Log
}
