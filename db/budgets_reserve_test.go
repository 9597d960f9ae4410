package db_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"sluice/db/core"
	"sluice/flow"
)

// atWork starts a run whose step "write" is recorded as running.
func (w *fixture) atWork(change ...func(*flow.NewRun)) *flow.Run {
	w.t.Helper()
	r := w.take(w.start(change...).ID)
	s := step("write")
	s.State, s.StartedAt = flow.StepRunning, w.clock.Now()
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{s}}))
	return r
}

// reserve reserves an amount for the step of atWork.
func (w *fixture) reserve(r *flow.Run, nano flow.NanoUSD) error {
	return w.ReserveSpending(w.ctx, flow.Reservation{
		WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, FlowsAbove: r.FlowsAbove, KeyID: r.KeyID, RunID: r.ID, Path: "write", Attempt: r.Attempt, Amount: nano,
	})
}

// cost ends the step of atWork with a cost.
func (w *fixture) cost(r *flow.Run, nano flow.NanoUSD) error {
	s := step("write")
	s.Usage.CostNanoUSD, s.Spent.CostNanoUSD = nano, nano
	return w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{s}})
}

func TestReserveSpending(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.limit(flow.Limits{USDPerDay: 100})
		first, second := w.atWork(), w.atWork()
		w.must(w.reserve(first, 500)) // nothing is reserved, so one step may begin
		wantReserved := func(r *flow.Run, nano flow.NanoUSD) {
			t.Helper()
			if err := w.reserve(r, nano); !errors.Is(err, flow.ErrBudgetReserved) {
				t.Fatalf("got %v, want %v", err, flow.ErrBudgetReserved)
			}
		}
		wantReserved(second, 1)
		w.must(w.reserve(first, 60)) // a retry reserves again
		w.must(w.reserve(second, 40))
		wantReserved(w.atWork(), 1)
		w.must(w.cost(second, 5)) // less than it reserved
		third := w.atWork()
		wantReserved(third, 36)
		w.must(w.reserve(third, 35))
		stale := *third
		stale.Attempt--
		if err := w.reserve(&stale, 1); !errors.Is(err, flow.ErrBudgetReserved) && !errors.Is(err, flow.ErrFenced) {
			t.Fatalf("a stale worker reserves: %v", err)
		}
		w.must(w.finish(first, flow.RunFailed)) // the end of a run ends what it reserves
		w.must(w.reserve(third, 95))
		w.must(w.cost(third, 95))
		wantBudget(t, w.reserve(w.atWorkAnyway(), 1), flow.Budget{FlowID: w.flow.ID, Unit: flow.BudgetUSD, Limit: 100, Used: 100})
		w.clock.move(24 * time.Hour)
		w.must(w.reserve(w.atWork(), 1))
	})
}

// TestReserveSpending_counts_lost_calls has calls whose bill is unknown: their estimates count
// against all budgets of the run until the next UTC day.
func TestReserveSpending_counts_lost_calls(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k, byKey := w.key(0, 100)
		w.limit(flow.Limits{USDPerDay: 100})
		r := w.atWork(byKey)
		s := step("write")
		s.Usage.UnpricedSteps, s.Usage.LostNanoUSD, s.Usage.CostNanoUSD = 1, 60, 5
		s.Spent = s.Usage
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{s}}))
		check := func(used, lost int64) {
			t.Helper()
			of, err := w.FlowBudgets(w.ctx, w.flow)
			w.must(err)
			by, err := w.KeyBudgets(w.ctx, k)
			w.must(err)
			for _, b := range append(of, by...) {
				if b.Used != used || b.Lost != lost {
					t.Errorf("%s%s: %d are used and %d lost", b.KeyID, b.FlowID, b.Used, b.Lost)
				}
			}
		}
		check(65, 60)
		second := w.atWork(byKey)
		w.must(w.reserve(second, 30))
		if err := w.reserve(w.atWork(byKey), 10); !errors.Is(err, flow.ErrBudgetReserved) {
			t.Errorf("beyond the estimates: %v", err)
		}
		stored, err := w.FindRun(w.ctx, r.WorkspaceID, r.FlowID, r.ID)
		w.must(err)
		if stored.Usage.CostNanoUSD != 0 && stored.Usage.CostNanoUSD != 5 {
			t.Errorf("the run costs %d", stored.Usage.CostNanoUSD)
		}
		w.clock.move(24 * time.Hour)
		check(0, 0)
	})
}

// TestDropStale_removes_lost_spending has estimates of lost calls, which no budget reads after
// their UTC day.
func TestDropStale_removes_lost_spending(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		s := step("write")
		s.Usage.UnpricedSteps, s.Usage.LostNanoUSD = 1, 60
		s.Spent = s.Usage
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: w.atWork(), Steps: []flow.Step{s}}))
		dropStale := func(after time.Duration) (rows int) {
			_, err := w.DropStale(w.ctx, w.clock.move(after), 10)
			w.must(err)
			w.must(w.Write(w.ctx, true, func(tx *core.Tx) error {
				return tx.DBTX.QueryRowContext(tx.Ctx, "SELECT count(*) FROM lost_spending").Scan(&rows)
			}))
			return rows
		}
		wantEqual(t, "estimates of today, of the flow and the key", dropStale(0), 2)
		wantEqual(t, "estimates after days", dropStale(3*24*time.Hour), 0)
	})
}

// TestWriteRun_counts_interrupted_calls has a worker die while a step holds a reservation. The
// write that begins the step again, or ends it, counts the reservation, because the call may have
// been charged.
func TestWriteRun_counts_interrupted_calls(t *testing.T) {
	for _, state := range []flow.StepState{flow.StepRunning, flow.StepCanceled} {
		t.Run(string(state), func(t *testing.T) {
			setup(t, func(t *testing.T, w *fixture) {
				w.begin("dead")
				w.limit(flow.Limits{USDPerDay: 100})
				r := w.atWork()
				w.must(w.reserve(r, 40))
				w.crash()
				again := w.take(r.ID)
				if again.Attempt == r.Attempt {
					t.Fatal("the run has no new worker")
				}
				s := step("write")
				s.State, s.Interrupted = state, true
				w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: again, Steps: []flow.Step{s}}))
				w.wantLost(40)
				w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: again, Steps: []flow.Step{s}})) // counted once
				w.must(w.reserve(again, 30))
				w.wantLost(40)
			})
		})
	}
}

// TestFailRun_counts_open_calls has a run fail whose data cannot be read, while a step holds a
// reservation.
func TestFailRun_counts_open_calls(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.limit(flow.Limits{USDPerDay: 100})
		r := w.atWork()
		w.must(w.reserve(r, 40))
		if _, err := w.FailRun(w.ctx, r.ID, r.Attempt, flow.Errorf(flow.CodeInternal, "It cannot be read.")); err != nil {
			t.Fatal(err)
		}
		w.wantLost(40)
		wantEqual(t, "unpriced steps of the run", w.find(r.ID).Usage.UnpricedSteps, 1)
		steps, err := w.FindSteps(w.ctx, ws, r.ID)
		w.must(err)
		if s := steps[0]; s.Usage.UnpricedSteps != 1 || len(s.Attempts) != 1 || !s.Attempts[0].Lost {
			t.Errorf("the step is %+v", s)
		}
		w.wantStorage()
	})
}

// wantLost checks what today's lost calls count in the budget of the flow.
func (w *fixture) wantLost(nano int64) {
	w.t.Helper()
	list, err := w.FlowBudgets(w.ctx, w.flow)
	w.must(err)
	if list[0].Used != nano || list[0].Lost != nano {
		w.t.Errorf("%d are used and %d lost, want %d", list[0].Used, list[0].Lost, nano)
	}
}

// atWorkAnyway is atWork for a budget that is used up.
func (w *fixture) atWorkAnyway() *flow.Run {
	w.t.Helper()
	limits := w.flow.Limits
	w.limit(flow.Limits{})
	r := w.atWork()
	w.limit(limits)
	return r
}

func TestReserveSpending_refuses_an_unknown_price(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k, byKey := w.key(0, 100)
		r := w.atWork(byKey)
		reservation := flow.Reservation{WorkspaceID: ws, FlowID: w.flow.ID, KeyID: k.ID, RunID: r.ID, Path: "write", Attempt: r.Attempt, Unpriced: "openai/x"}
		wantCode(t, w.ReserveSpending(w.ctx, reservation), flow.CodePriceUnknown)
		_, err := w.tryStart(byKey, func(n *flow.NewRun) { n.Prices = false })
		if !errors.Is(err, flow.ErrPricesWanted) {
			t.Fatalf("a start that does not know the prices: %v", err)
		}
		_, err = w.tryStart(byKey, func(n *flow.NewRun) { n.Unpriced = []string{"openai/x"} })
		wantCode(t, err, flow.CodePriceUnknown)
		w.start(func(n *flow.NewRun) { n.Prices = false }) // without a budget nothing is reserved
		k.AllowUnpriced = true
		w.must(w.updateKey(k))
		w.must(w.ReserveSpending(w.ctx, reservation))
		w.start(byKey, func(n *flow.NewRun) { n.Prices = false })
	})
}

// TestReserveSpending_in_parallel reserves for 64 runs at once. Together they overshoot
// the budget by less than the estimate for one step.
func TestReserveSpending_in_parallel(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		const limit, estimate = 1000, 90
		w.limit(flow.Limits{USDPerDay: limit})
		runs := make([]*flow.Run, 64)
		for i := range runs {
			runs[i] = w.atWork()
		}
		var all sync.WaitGroup
		for _, r := range runs {
			all.Go(func() {
				for {
					err := w.reserve(r, estimate)
					switch {
					case errors.Is(err, flow.ErrBudgetReserved):
						continue
					case err == nil:
						err = w.cost(r, estimate)
					case errors.Is(err, &flow.Error{Code: flow.CodeBudgetExceeded}):
						err = nil
					}
					if err != nil {
						t.Error(err)
					}
					return
				}
			})
		}
		all.Wait()
		list, err := w.FlowBudgets(w.ctx, w.flow)
		w.must(err)
		if used := list[0].Used; used < limit || used >= limit+estimate {
			t.Errorf("%d of %d are used", used, limit)
		}
	})
}
