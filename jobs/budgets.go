package jobs

import (
	"context"
	"errors"
	"time"

	"sluice/flow"
)

// Pauses of a step of a batch that a daily budget does not allow.
const (
	usedUpPause   = 5 * time.Minute // because somebody may raise the budget
	reservedPause = time.Minute
)

// rowBudgets are the budgets of a store, but steps below a batch wait for a daily budget instead of failing. The budget of a run does
// not come back, so it refuses them like any other step.
type rowBudgets struct{ Store }

// ReserveSpending implements flow.BudgetStore.
func (b rowBudgets) ReserveSpending(ctx context.Context, r flow.Reservation) error {
	err := b.Store.ReserveSpending(ctx, r)
	pause := reservedPause
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Budget != nil {
		pause = min(e.After, usedUpPause)
	} else if !errors.Is(err, flow.ErrBudgetReserved) {
		return err
	}
	waits, findErr := b.InBatch(ctx, r.WorkspaceID, r.RunID)
	switch {
	case findErr != nil:
		return findErr
	case waits:
		return &flow.DelayError{Wait: pause}
	}
	return err
}
