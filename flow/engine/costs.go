package engine

import (
	"sync"

	"sluice/flow"
)

const (
	// costMargin is added to each estimate in percent, because prompts have more tokens than
	// their text, and tokenizers differ.
	costMargin = 25
	// assumedCost is reserved for a step whose cost cannot be estimated, such as a picture or
	// a call whose provider reports the cost, until one was made.
	assumedCost flow.NanoUSD = 50_000_000
	// maxCosts bounds the models that Costs remembers.
	maxCosts = 10_000
)

// Costs remembers how much more than estimated the steps of each model cost, so that parallel
// steps together do not exceed a budget by more than one of them. It is safe for concurrent
// use; a nil Costs remembers nothing.
type Costs struct {
	mu    sync.Mutex
	known map[costKey]cost
}

// costKey is a model that a workspace uses.
type costKey struct {
	ws    flow.WorkspaceID
	model string
}

// cost is the highest cost of recent steps of a model: in percent of the estimate, and in all.
type cost struct {
	percent int64
	most    flow.NanoUSD
}

// NewCosts returns a memory without steps.
func NewCosts() *Costs { return &Costs{known: map[costKey]cost{}} }

// reservation returns what to reserve for a step: its estimate with a margin, or, without an
// estimate, what such a step has cost before.
func (c *Costs) reservation(key costKey, estimate flow.NanoUSD) flow.NanoUSD {
	seen := c.find(key)
	if estimate > 0 {
		return estimate * flow.NanoUSD(max(100, seen.percent)+costMargin) / 100
	}
	if seen.most == 0 {
		return assumedCost
	}
	return seen.most * (100 + costMargin) / 100
}

// find returns what is known of a model.
func (c *Costs) find(key costKey) cost {
	if c == nil {
		return cost{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key]
}

// note records the cost of a step, unless that has no model or cost nothing. A high cost is
// forgotten slowly, by 2 percent with each step.
func (c *Costs) note(key costKey, estimate, actual flow.NanoUSD) {
	if c == nil || key == (costKey{}) || actual <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCosts {
		clear(c.known)
	}
	seen := c.known[key]
	seen.most = max(actual, seen.most*98/100)
	if estimate > 0 {
		seen.percent = max(min(int64(actual)*100/int64(estimate)+1, 10_000), seen.percent*98/100)
	}
	c.known[key] = seen
}
