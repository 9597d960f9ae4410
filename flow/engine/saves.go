package engine

import (
	"context"
	"errors"
	"fmt"

	"sluice/flow"
)

// errUncertainSave is returned to a step when the write of its state failed in a way that
// does not exclude that it was committed.
var errUncertainSave = errors.New("it is uncertain whether the state of the step is on disk")

// save passes a state to the goroutine of the run and waits until it is on disk. Once the
// state is passed, save waits even after ctx has ended, because the step must know whether
// the next worker will find the state.
func (c *execution) save(ctx context.Context, a Action, state any) error {
	state, _, err := flow.AsValue(state, flow.MaxValueDepth)
	if err == nil && a.class == flow.Inline {
		err = errors.New("an inline step cannot save: it runs on the goroutine that records states")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", flow.ErrNotSaved, err)
	}
	done := make(chan error, 1)
	select {
	case c.saves <- saveRequest{a.Node, state, done}:
		return <-done
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", flow.ErrNotSaved, ctx.Err())
	}
}

// failPendingSaves unblocks the steps that wait in Save when the worker releases the run.
func (c *execution) failPendingSaves() {
	err := flow.ErrNotSaved
	if c.uncertain {
		err = errUncertainSave
	}
	c.resolvePendingSaves(err)
}

// resolvePendingSaves unblocks the steps that wait in Save: nil means that their state
// is on disk, an error that it never will be.
func (c *execution) resolvePendingSaves(err error) {
	for _, done := range c.pendingSaves {
		done <- err
	}
	c.pendingSaves = nil
}
