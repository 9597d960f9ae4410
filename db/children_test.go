package db_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// children stores n items for the step "ask" of a waiting run. At most two run at once.
func (w *fixture) children(n int, keepErrors bool) (*flow.Run, flow.CallingStep) {
	w.t.Helper()
	return w.childrenOf(w.flow.ID, n, keepErrors)
}

// childrenOf is children for child runs of another flow.
func (w *fixture) childrenOf(flowID flow.FlowID, n int, keepErrors bool, change ...func(*flow.NewRun)) (*flow.Run, flow.CallingStep) {
	w.t.Helper()
	run := w.ask(change...)
	w.letWait(run)
	step := flow.CallingStep{RunID: run.ID, Path: "ask"}
	w.must(w.BeginChildren(w.ctx, &flow.Children{
		WorkspaceID: ws, Caller: step, RootRunID: run.ID, Depth: 1, FlowID: flowID, DocumentHash: run.DocumentHash, Concurrency: 2, KeepErrors: keepErrors,
	}, flow.ChildTemplate{KeyID: run.KeyID, FlowsAbove: []flow.FlowID{run.FlowID}, Save: true, TimeoutMicros: time.Hour.Microseconds(), Nodes: 1}))
	var items []flow.ChildItem
	for i := range n {
		items = append(items, flow.ChildItem{Item: i, Inputs: value.FromMap(map[string]any{"n": i})})
	}
	w.must(w.AddChildItems(w.ctx, step, items))
	w.must(w.AddChildItems(w.ctx, step, items)) // repeated after a crash
	_, err := w.StartChildren(w.ctx, step, n, 0, 0)
	w.must(err)
	return run, step
}

// endChild ends the child run of an item, at a cost of one nano-dollar.
func (w *fixture) endChild(step flow.CallingStep, item int, state flow.RunState) {
	w.t.Helper()
	run := w.childRun(step, item)
	run.State = state
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: run, End: true}))
}

// childRun returns the run of an item as it succeeds.
func (w *fixture) childRun(step flow.CallingStep, item int) *flow.Run {
	w.t.Helper()
	results, err := w.ReadChildren(w.ctx, ws, step, item, item+1)
	w.must(err)
	if len(results) != 1 {
		w.t.Fatalf("item %d has not started", item)
	}
	run, err := w.FindRun(w.ctx, ws, "", results[0].RunID)
	w.must(err)
	run.State, run.StartedAt, run.EndedAt, run.Outputs = flow.RunSucceeded, w.clock.Now(), w.clock.Now(), value.FromMap(map[string]any{"item": item})
	run.Usage.CostNanoUSD = 1
	return run
}

// counted returns the numbers of a step: pending, running, succeeded and failed.
func (w *fixture) counted(step flow.CallingStep) string {
	w.t.Helper()
	c, err := w.FindChildren(w.ctx, step)
	w.must(err)
	return fmt.Sprint(c.Pending, c.Running, c.Succeeded, c.Failed)
}

// TestChildren starts the next item when one ends, and wakes the caller after the last.
func TestChildren(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		run, step := w.children(4, true)
		w.clock.move(time.Minute)
		wantEqual(t, "at first", w.counted(step), "2 2 0 0")
		w.endChild(step, 0, flow.RunSucceeded)
		wantEqual(t, "after one", w.counted(step), "1 2 1 0")
		w.endChild(step, 2, flow.RunFailed)
		w.endChild(step, 1, flow.RunSucceeded)
		wantEqual(t, "after three", w.counted(step), "0 1 2 1")
		if due := w.due(run); !due.After(w.clock.Now()) {
			t.Errorf("the caller is due %s although an item runs", due)
		}
		w.endChild(step, 3, flow.RunSucceeded)
		wantEqual(t, "due", w.due(run), w.clock.Now())
		results, err := w.ReadChildren(w.ctx, ws, step, 0, 4)
		w.must(err)
		for i, r := range results {
			wantEqual(t, "item", r.Item, i)
			wantEqual(t, "state", r.State == flow.RunFailed, i == 2)
		}
		c, err := w.FindChildren(w.ctx, step)
		w.must(err)
		wantEqual(t, "cost", c.Usage.CostNanoUSD, 4)
	})
}

// TestChildren_stop_after_a_failure starts nothing more after an item has failed, and wakes the caller.
func TestChildren_stop_after_a_failure(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		run, step := w.children(4, false)
		w.clock.move(time.Minute)
		w.endChild(step, 1, flow.RunFailed)
		wantEqual(t, "counted", w.counted(step), "0 1 0 1")
		wantEqual(t, "due", w.due(run), w.clock.Now())
		open, err := w.StopChildren(w.ctx, step)
		w.must(err)
		wantEqual(t, "open", len(open), 1)
	})
}

// TestRecountChildren corrects the numbers of a step if the end of a child was not
// counted.
func TestRecountChildren(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, step := w.children(3, true)
		w.endChild(step, 0, flow.RunSucceeded)
		w.tamper("UPDATE children SET running = 7, succeeded = 0")
		c, err := w.RecountChildren(w.ctx, step)
		w.must(err)
		wantEqual(t, "recounted", fmt.Sprint(c.Pending, c.Running, c.Succeeded, c.Failed), "0 2 1 0")
		w.endChild(step, 1, flow.RunSucceeded)
		w.endChild(step, 2, flow.RunCanceled)
		wantEqual(t, "at the end", w.counted(step), "0 0 2 1")
	})
}

// TestRecountChildren_beside_ends counts a step again in the transaction in which children of it end: each end counts once.
func TestRecountChildren_beside_ends(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		if w.IsPostgres() {
			return // writes of runs have transactions of their own there
		}
		_, step := w.children(5, true)
		ended, failed, other := w.childRun(step, 0), w.childRun(step, 1), w.start()
		failed.State = flow.RunFailed
		other.State, other.StartedAt, other.EndedAt = flow.RunSucceeded, w.clock.Now(), w.clock.Now()
		end := func(run *flow.Run) func() error {
			return func() error { return w.WriteRun(w.ctx, flow.RunWrite{Run: run, End: true}) }
		}
		recount := func() error {
			_, err := w.RecountChildren(w.ctx, step)
			return err
		}
		for _, err := range gathered(t, w.Store, end(ended), recount, end(other), end(failed), recount) {
			w.must(err)
		}
		wantEqual(t, "after both", w.counted(step), "1 2 1 1")
		for item := 2; item < 5; item++ {
			w.endChild(step, item, flow.RunSucceeded)
		}
		wantEqual(t, "at the end", w.counted(step), "0 0 4 1")
	})
}

// TestChildren_end_before_their_canceled_caller checks that a canceled caller waits for its last child and is then woken.
// Other ends do not wake it, and it does not wait if the last child has already ended.
func TestChildren_end_before_their_canceled_caller(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		run, step := w.children(4, true)
		_, err := w.RequestCancel(w.ctx, ws, run.FlowID, run.ID)
		w.must(err)
		drain := func() {
			t.Helper()
			r := w.take(run.ID)
			r.State = flow.RunWaiting
			w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, WakeAt: w.clock.Now().Add(time.Minute), Draining: true, Durable: true}))
		}
		_, err = w.StopChildren(w.ctx, step)
		w.must(err)
		drain()
		attempt := w.find(run.ID).Attempt
		w.endChild(step, 1, flow.RunCanceled)
		wantEqual(t, "attempt while a child runs", w.find(run.ID).Attempt, attempt)
		w.endChild(step, 0, flow.RunCanceled)
		wantEqual(t, "attempt after the last child", w.find(run.ID).Attempt, attempt+1)
		drain()
		wantEqual(t, "attempt without children", w.find(run.ID).Attempt, attempt+2)
		wantEqual(t, "counted", w.counted(step), "0 0 0 2")
	})
}

// child returns the child run of an item as its worker loads it.
func (w *fixture) child(step flow.CallingStep, item int) *flow.Run {
	w.t.Helper()
	results, err := w.ReadChildren(w.ctx, ws, step, item, item+1)
	w.must(err)
	if len(results) != 1 {
		w.t.Fatalf("item %d has not started", item)
	}
	r := w.take(results[0].RunID)
	write := flow.Step{Path: "write", Node: "write", Kind: "template", State: flow.StepRunning, Attempt: 1}
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{write}}))
	return r
}

// TestChildren_count_against_budgets counts the cost and the reservations of a child against the
// dollar budgets of its key, its flow and the flow above.
func TestChildren_count_against_budgets(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k, byKey := w.key(0, 0)
		other := w.newFlow(ws)
		_, step := w.childrenOf(other.ID, 5, true, byKey)
		w.limit(flow.Limits{USDPerDay: 100}) // of the flow above
		first, second := w.child(step, 0), w.child(step, 1)
		wantEqual(t, "the flows above", fmt.Sprint(first.FlowsAbove), fmt.Sprint([]flow.FlowID{w.flow.ID}))
		w.must(w.reserve(first, 60))
		if err := w.reserve(second, 41); !errors.Is(err, flow.ErrBudgetReserved) {
			t.Fatalf("got %v, want that the rest is reserved", err)
		}
		direct := w.atWork()
		if err := w.reserve(direct, 41); !errors.Is(err, flow.ErrBudgetReserved) {
			t.Fatalf("a run of the flow above got %v, want that the rest is reserved", err)
		}
		w.must(w.reserve(second, 40))
		w.must(w.cost(first, 60))
		w.must(w.cost(second, 40))
		used := flow.Budget{FlowID: w.flow.ID, Name: "Answer", Unit: flow.BudgetUSD, Limit: 100, Used: 100}
		wantBudget(t, w.reserve(first, 1), used)
		list, err := w.FlowBudgets(w.ctx, w.flow)
		w.must(err)
		wantEqual(t, "of the flow above", list[0], used)
		used.Name = ""
		wantBudget(t, w.reserve(direct, 1), used)

		w.limit(flow.Limits{})
		w.must(w.SetFlowLimits(w.ctx, ws, other.ID, flow.Limits{USDPerDay: 100}))
		wantBudget(t, w.reserve(first, 1), flow.Budget{FlowID: other.ID, Unit: flow.BudgetUSD, Limit: 100, Used: 100})
		w.must(w.SetFlowLimits(w.ctx, ws, other.ID, flow.Limits{}))
		k.USDPerDay = 100
		w.must(w.updateKey(k))
		wantBudget(t, w.reserve(first, 1), flow.Budget{KeyID: k.ID, Name: "billing", Unit: flow.BudgetUSD, Limit: 100, Used: 100})

		w.clock.move(24 * time.Hour)
		w.must(w.reserve(first, 1))
		k.USDPerDay = 0
		w.must(w.updateKey(k))
		w.limit(flow.Limits{USDPerDay: 100})
		unpriced := flow.Reservation{
			WorkspaceID: ws, FlowID: other.ID, FlowsAbove: first.FlowsAbove, RunID: first.ID, Path: "write", Attempt: first.Attempt, Unpriced: "openai/x",
		}
		wantCode(t, w.ReserveSpending(w.ctx, unpriced), flow.CodePriceUnknown)
	})
}

// TestChildren_are_not_refused_by_limits checks that limits of the key, the flow and the workspace never
// refuse children; they only make them wait for slots.
func TestChildren_are_not_refused_by_limits(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k, byKey := w.key(1, 0)
		k.Concurrency = 1
		w.must(w.updateKey(k))
		other := w.newFlow(ws)
		w.must(w.SetFlowLimits(w.ctx, ws, other.ID, flow.Limits{RunsPerDay: 1, MaxQueued: 1, MaxRunning: 1}))
		_, step := w.childrenOf(other.ID, 5, true, byKey)
		wantEqual(t, "at first", w.counted(step), "3 2 0 0") // one of them is queued
		ofOther := func(n *flow.NewRun) { n.Run.FlowID = other.ID }
		w.start(ofOther) // neither of the flow's limits counts children
		w.must(w.SetFlowLimits(w.ctx, ws, other.ID, flow.Limits{MaxQueued: 1, MaxRunning: 1}))
		_, err := w.tryStart(ofOther)
		wantCode(t, err, flow.CodeQueueFull)
		w.must(w.SetQuota(w.ctx, ws, flow.Storage{Runs: 1, Bytes: 1}))
		for item := range 5 {
			w.endChild(step, item, flow.RunSucceeded)
		}
		wantEqual(t, "at the end", w.counted(step), "0 0 5 0")
	})
}
