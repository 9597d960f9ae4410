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
	for _, rows := range c.plan.subs.recorded {
		for _, row := range rows {
			n += c.weigher.Keep(row.Outputs) + c.weigher.Keep(row.Input)
		}
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
	r.err = memoryError(inflight.ErrTooLarge, c.sig.Memory)
}

// memoryError returns the error of a step for an error of taking memory.
func memoryError(err error, memory *inflight.Hold) error {
	if !errors.Is(err, inflight.ErrTooLarge) {
		return err
	}
	return flow.Errorf(flow.CodeOutputTooLarge, "The values of this run take more than %s of memory, which is what one run may have on this server.", flow.Size(memory.Limit()))
}

// needs returns how much memory a step needs beside its inputs: a copy of large ones as text, such as
// the body of a request, and what texts that are JSON take once they are decoded.
func (c *execution) needs(in *flow.In) (n int64) {
	if c.sig.Memory == nil {
		return 0
	}
	for _, v := range in.Config {
		n += c.copyOf(v)
	}
	for name, v := range in.Ports {
		if in.Config[name] == nil { // those of fields are in both
			n += c.copyOf(v)
		}
	}
	return n + c.copyOf(in.Collected)
}

// copyOf returns the memory of a copy of a large input.
func (c *execution) copyOf(v any) int64 {
	n := c.weigher.Weigh(v).Text
	if n < inflight.Small {
		return 0
	}
	if text, ok := v.(string); ok && flow.LooksLikeJSON(text) {
		n += inflight.CostOf(text).Heap
	}
	return n
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
