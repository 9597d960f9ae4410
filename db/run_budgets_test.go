package db_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/db/core"
	"sluice/flow"
)

// limited is a start of a run that may cost an amount.
func (w *fixture) limited(most flow.NanoUSD) func(*flow.NewRun) {
	return func(n *flow.NewRun) {
		n.Run.ID = w.DB.IDs().NewRun()
		n.Run.MaxUSD, n.Run.Budgets = most, []flow.RunBudgetID{flow.BudgetOfRun(n.Run.ID)}
	}
}

// below is the start of a run that counts against budgets of others.
func below(ids ...flow.RunBudgetID) func(*flow.NewRun) {
	return func(n *flow.NewRun) { n.Run.Budgets = ids }
}

// runSteps records steps of a run as running.
func (w *fixture) runSteps(r *flow.Run, paths ...string) {
	w.t.Helper()
	var steps []flow.Step
	for _, path := range paths {
		s := step(path)
		s.State, s.StartedAt = flow.StepRunning, w.clock.Now()
		steps = append(steps, s)
	}
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: steps}))
}

// reserveFor reserves an amount for a step of a run; most is the budget of the step that it belongs to.
func (w *fixture) reserveFor(r *flow.Run, path string, nano, most flow.NanoUSD) error {
	return w.ReserveSpending(w.ctx, flow.Reservation{
		WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, KeyID: r.KeyID, RunID: r.ID, Path: path, Attempt: r.Attempt, Amount: nano, RunBudgets: r.Budgets, StepBudget: most,
	})
}

// endStep ends a step with a cost.
func (w *fixture) endStep(r *flow.Run, path string, nano flow.NanoUSD, inBudget bool) {
	w.t.Helper()
	s := step(path)
	s.Usage.CostNanoUSD, s.Spent.CostNanoUSD, s.InBudget = nano, nano, inBudget
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{s}}))
}

func wantRunReserved(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, flow.ErrRunBudgetReserved) {
		t.Fatalf("got %v, want %v", err, flow.ErrRunBudgetReserved)
	}
}

// TestReserveSpending_limits_a_run_and_those_below_it has a run with a budget and a child run. Without other
// reservations any amount can be reserved, so the budget is exceeded by one step at most.
func TestReserveSpending_limits_a_run_and_those_below_it(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start(w.limited(100)).ID)
		if stored := w.find(r.ID); stored.MaxUSD != 100 || len(stored.Budgets) != 1 {
			t.Fatalf("the run has %d and %v", stored.MaxUSD, stored.Budgets)
		}
		child := w.take(w.start(below(r.Budgets...)).ID)
		w.runSteps(r, "a", "b")
		w.runSteps(child, "c")
		w.must(w.reserveFor(r, "a", 500, 0))
		wantRunReserved(t, w.reserveFor(r, "b", 1, 0))
		wantRunReserved(t, w.reserveFor(child, "c", 1, 0))
		w.must(w.reserveFor(r, "a", 60, 0)) // a retry reserves again
		w.must(w.reserveFor(child, "c", 40, 0))
		w.endStep(child, "c", 70, false)
		wantRunReserved(t, w.reserveFor(r, "b", 1, 0))
		w.endStep(r, "a", 10, false)
		w.must(w.reserveFor(r, "b", 999, 0))
		w.endStep(r, "b", 25, false)
		w.runSteps(r, "d")
		w.runSteps(child, "e")
		err := w.reserveFor(r, "d", 1, 0)
		wantCode(t, err, flow.CodeBudgetExceeded)
		wantEqual(t, "message", err.Error(), "This run has cost 0.000001 of the 0.000001 USD it may cost.")
		err = w.reserveFor(child, "e", 0, 0)
		wantCode(t, err, flow.CodeBudgetExceeded)
		other := w.take(w.start().ID)
		w.runSteps(other, "a")
		w.must(w.reserveFor(other, "a", 1000, 0))
		w.clock.move(48 * time.Hour) // it does not reset
		wantCode(t, w.reserveFor(r, "d", 1, 0), flow.CodeBudgetExceeded)
	})
}

// TestReserveSpending_limits_the_steps_of_an_agent has an agent with a budget, another step in its run, and a
// child run of one of its calls.
func TestReserveSpending_limits_the_steps_of_an_agent(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start().ID)
		id := flow.BudgetOfStep(r.ID, "agent.1.2")
		child := w.take(w.start(below(id)).ID)
		w.runSteps(r, "agent", "agent.1", "agent.1.1", "agents")
		w.runSteps(child, "c")
		w.must(w.reserveFor(r, "agent.1", 500, 100))
		w.must(w.reserveFor(r, "agents", 500, 0)) // another node
		wantRunReserved(t, w.reserveFor(r, "agent.1.1", 1, 100))
		wantRunReserved(t, w.reserveFor(child, "c", 1, 0))
		w.endStep(r, "agent.1", 60, true)
		w.endStep(r, "agents", 900, false)
		w.must(w.reserveFor(child, "c", 40, 0))
		wantRunReserved(t, w.reserveFor(r, "agent.1.1", 1, 100))
		w.endStep(child, "c", 40, false)
		wantCode(t, w.reserveFor(r, "agent.1.1", 1, 100), flow.CodeAgentLimit)
		w.runSteps(child, "d")
		wantCode(t, w.reserveFor(child, "d", 1, 0), flow.CodeAgentLimit)
	})
}

// TestReserveSpending_of_runs_refuses_an_unknown_price also where keys and flows allow models without one.
func TestReserveSpending_of_runs_refuses_an_unknown_price(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.limit(flow.Limits{USDPerDay: 100, AllowUnpriced: true})
		r := w.take(w.start(w.limited(100)).ID)
		w.runSteps(r, "a")
		unpriced := flow.Reservation{WorkspaceID: ws, FlowID: w.flow.ID, RunID: r.ID, Path: "a", Attempt: r.Attempt, Unpriced: "openai/x"}
		w.must(w.ReserveSpending(w.ctx, unpriced))
		ofRun, ofAgent := unpriced, unpriced
		ofRun.RunBudgets, ofAgent.StepBudget = r.Budgets, 5
		wantCode(t, w.ReserveSpending(w.ctx, ofRun), flow.CodePriceUnknown)
		wantCode(t, w.ReserveSpending(w.ctx, ofAgent), flow.CodePriceUnknown)
		_, err := w.tryStart(w.limited(5), func(n *flow.NewRun) { n.Prices = false })
		if !errors.Is(err, flow.ErrPricesWanted) {
			t.Fatalf("a start that does not know the prices: %v", err)
		}
		_, err = w.tryStart(w.limited(5), func(n *flow.NewRun) { n.Unpriced = []string{"openai/x"} })
		wantCode(t, err, flow.CodePriceUnknown)
		w.start(func(n *flow.NewRun) { n.Unpriced = []string{"openai/x"} })
	})
}

// TestWriteRun_releases_what_a_dead_worker_reserved: what it reserved does not stay reserved, and counts as lost
// in the budgets of the run and of the agent.
func TestWriteRun_releases_what_a_dead_worker_reserved(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.begin("dead")
		r := w.take(w.start(w.limited(100)).ID)
		w.runSteps(r, "agent", "agent.1", "b")
		w.must(w.reserveFor(r, "agent.1", 40, 90))
		w.must(w.reserveFor(r, "b", 60, 0))
		w.crash()
		again := w.take(r.ID)
		lost := step("agent.1")
		lost.State, lost.Interrupted, lost.InBudget = flow.StepRunning, true, true
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: again, Steps: []flow.Step{lost}}))
		w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: again, Steps: []flow.Step{lost}})) // counted once
		w.must(w.reserveFor(again, "agent.1", 60, 90))                                 // b reserves nothing any more
		w.runSteps(again, "c", "agent.2")
		wantRunReserved(t, w.reserveFor(again, "c", 1, 0))
		w.endStep(again, "agent.1", 50, true)
		wantCode(t, w.reserveFor(again, "agent.2", 1, 90), flow.CodeAgentLimit)
		w.must(w.reserveFor(again, "c", 10, 0))
		w.endStep(again, "c", 10, false)
		wantCode(t, w.reserveFor(again, "b", 1, 0), flow.CodeBudgetExceeded)
	})
}

// TestReserveSpending_of_a_run_in_parallel has the steps of 32 child runs reserve and end at once. Together they
// exceed the budget of the run above by less than one of them.
func TestReserveSpending_of_a_run_in_parallel(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		const limit, estimate = 1000, 90
		root := w.take(w.start(w.limited(limit)).ID)
		runs := make([]*flow.Run, 32)
		for i := range runs {
			runs[i] = w.take(w.start(below(root.Budgets...)).ID)
			w.runSteps(runs[i], "a")
		}
		var mu sync.Mutex
		var all sync.WaitGroup
		spent := 0
		for _, r := range runs {
			all.Go(func() {
				for {
					err := w.reserveFor(r, "a", estimate, 0)
					switch {
					case errors.Is(err, flow.ErrRunBudgetReserved):
						continue
					case flow.AsError(err).Code == flow.CodeBudgetExceeded:
						return
					case err != nil:
						t.Error(err)
						return
					}
					break
				}
				s := step("a")
				s.Usage.CostNanoUSD, s.Spent.CostNanoUSD = estimate-5, estimate-5
				if err := w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{s}}); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				spent += estimate - 5
				mu.Unlock()
			})
		}
		all.Wait()
		if spent < limit-estimate || spent >= limit+estimate {
			t.Errorf("the runs spent %d of %d", spent, limit)
		}
		w.must(w.Write(w.ctx, true, func(tx *core.Tx) error {
			var stored int
			err := tx.DBTX.QueryRowContext(tx.Ctx, fmt.Sprintf("SELECT spent_nano_usd FROM run_budgets WHERE run_id = '%s'", root.ID)).Scan(&stored)
			wantEqual(t, "stored", stored, spent)
			return err
		}))
	})
}

// TestDropTombstones_removes_budgets with the record of the run.
func TestDropTombstones_removes_budgets(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.take(w.start(w.limited(100)).ID)
		w.runSteps(r, "agent.1")
		w.must(w.reserveFor(r, "agent.1", 1, 5))
		w.must(w.finish(r, flow.RunSucceeded))
		count := func() (n int) {
			w.must(w.Write(w.ctx, true, func(tx *core.Tx) error {
				return tx.DBTX.QueryRowContext(tx.Ctx, "SELECT count(*) FROM run_budgets").Scan(&n)
			}))
			return n
		}
		wantEqual(t, "budgets", count(), 2)
		w.must(w.EraseRun(w.ctx, ws, r.FlowID, r.ID, flow.CodeResultNotSaved))
		_, err := w.DropTombstones(w.ctx, w.clock.move(time.Hour), 10)
		w.must(err)
		wantEqual(t, "budgets without the run", count(), 0)
	})
}
