package components

import "time"

// RunHead is a run as every page shows it: lists, the page of the run and the builder.
type RunHead struct {
	ID, FlowID, State, Trigger string
	Version                    int64 // 0 for a draft
	Draft                      bool
	Done, All                  int // steps
	Usage                      Usage
	CreatedAt                  time.Time // when it was accepted
	Started                    bool
	Duration                   time.Duration // from its start to its end, or to now
}

// Usage is the tokens that models used, and the cost.
type Usage struct {
	InputTokens, OutputTokens, CostNanoUSD int64
	Unpriced                               int64 // steps without a price, whose cost is unknown
}

// Tokens returns the number of all tokens.
func (u Usage) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// Micros returns the cost in millionths of a US dollar, rounded.
func (u Usage) Micros() int64 { return (u.CostNanoUSD + 500) / 1000 }
