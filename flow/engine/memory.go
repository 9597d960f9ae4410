package engine

import (
	"context"
	"errors"

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

// takeForWrite takes the memory that the rows of a write need while they are encoded and stored:
// the texts of all values, and a copy of them in the database's driver.
func (c *execution) takeForWrite(ctx context.Context, w *flow.RunWrite) (*inflight.Lease, error) {
	if c.sig.Memory == nil {
		return nil, nil
	}
	n := c.weigher.Weigh(w.Run.Outputs).Text
	for i := range w.Steps {
		s := &w.Steps[i]
		n += c.weigher.Weigh(s.Input).Text + c.weigher.Weigh(s.Outputs).Text + c.weigher.Weigh(s.Saved).Text
	}
	if n <= inflight.Small {
		return nil, nil
	}
	lease := c.sig.Memory.Lease(ctx)
	if err := lease.Take(2 * n); err != nil && !errors.Is(err, inflight.ErrTooLarge) { // a result must be stored, however large it is
		return nil, err
	}
	return lease, nil
}
