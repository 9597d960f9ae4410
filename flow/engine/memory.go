package engine

import (
	"context"

	"sluice/flow"
	"sluice/flow/inflight"
)

// countRecorded makes the values known that were loaded with the run. Its worker has taken the
// memory for them.
func (c *execution) countRecorded() {
	if c.sig.Memory == nil {
		return
	}
	n := c.weigher.Keep(c.plan.run.Inputs)
	for i := range c.plan.nodes {
		n += c.weigher.Keep(c.plan.nodes[i].step.Outputs) + c.weigher.Keep(c.plan.nodes[i].step.Input)
	}
	if n > inflight.Small {
		c.sig.Memory.Resize(n)
	}
}

// count replaces the lease of a step by the memory of its outputs. Values that several steps pass
// on are counted once.
func (c *execution) count(r *result) {
	if c.sig.Memory == nil {
		return
	}
	defer r.lease.Close()
	n := c.weigher.Keep(r.out.Outputs)
	if n <= inflight.Small || c.sig.Memory.Add(n) {
		return
	}
	c.sig.Memory.Give(n)
	r.out.Outputs = nil
	r.err = flow.Errorf(flow.CodeOutputTooLarge, "The values of this run take more than %s of memory, which is what one run may have on this server.", flow.Size(c.sig.Memory.Limit()))
}

// largeWrite is the size in bytes from which writes are stored one after the other.
const largeWrite = 1 << 20

// awaitTurn waits until the rows of a write may be encoded and stored. done must be called afterwards.
func (c *execution) awaitTurn(ctx context.Context, w *flow.RunWrite) (done func(), err error) {
	n := c.weigher.Weigh(w.Run.Outputs).Text
	for i := range w.Steps {
		s := &w.Steps[i]
		n += c.weigher.Weigh(s.Input).Text + c.weigher.Weigh(s.Outputs).Text + c.weigher.Weigh(s.Saved).Text
	}
	if n < largeWrite {
		return func() {}, nil
	}
	return c.sig.Memory.Budget().Bulk(ctx)
}
