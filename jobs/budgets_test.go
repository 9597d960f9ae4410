package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice/flow"
	"sluice/jobs"
)

// refusingStore refuses reservations.
type refusingStore struct {
	jobs.Store
	err     error
	inBatch bool
}

func (s refusingStore) ReserveSpending(context.Context, flow.Reservation) error { return s.err }

func (s refusingStore) InBatch(context.Context, flow.WorkspaceID, flow.RunID) (bool, error) {
	return s.inBatch, nil
}

func TestRowBudgets_let_rows_of_batches_wait_for_daily_budgets(t *testing.T) {
	t.Parallel()
	daily := func(after time.Duration) error {
		return &flow.Error{Code: flow.CodeBudgetExceeded, After: after, Budget: &flow.Budget{}}
	}
	ofRun := flow.Errorf(flow.CodeBudgetExceeded, "The budget of the run is used up.")
	for name, tt := range map[string]struct {
		err     error
		inBatch bool
		wait    time.Duration // 0 if the error is returned
	}{
		"a daily budget":                {daily(3 * time.Hour), true, 5 * time.Minute},
		"a daily budget soon reset":     {daily(2 * time.Minute), true, 2 * time.Minute},
		"reservations of other steps":   {flow.ErrBudgetReserved, true, time.Minute},
		"no batch":                      {daily(3 * time.Hour), false, 0},
		"no batch, reservations":        {flow.ErrBudgetReserved, false, 0},
		"the budget of the batch":       {ofRun, true, 0},
		"reservations below the batch":  {flow.ErrRunBudgetReserved, true, 0},
		"a model with an unknown price": {flow.UnknownPrice([]string{"a/b"}), true, 0},
		"enough left":                   {nil, true, 0},
	} {
		err := jobs.RowBudgets(refusingStore{err: tt.err, inBatch: tt.inBatch}).ReserveSpending(t.Context(), flow.Reservation{})
		delay, waits := errors.AsType[*flow.DelayError](err)
		if waits != (tt.wait > 0) || waits && delay.Wait != tt.wait || !waits && !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
