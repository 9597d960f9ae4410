package db_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/flow"
)

// key creates a key with budgets, and returns an option that starts runs with it.
func (w *fixture) key(runs, usd int64) (*flow.Key, func(*flow.NewRun)) {
	w.t.Helper()
	k := &flow.Key{WorkspaceID: ws, Name: "billing", Hash: fmt.Sprint(runs, usd, w.clock.Now()), RunsPerDay: runs, USDPerDay: flow.NanoUSD(usd)}
	w.must(w.CreateKey(w.ctx, k))
	return k, func(n *flow.NewRun) { n.Run.KeyID, n.Key = k.ID, k }
}

func (w *fixture) limit(l flow.Limits) {
	w.t.Helper()
	w.must(w.SetFlowLimits(w.ctx, ws, w.flow.ID, l))
	w.flow.Limits = l
}

// spend records a cost of a run that continues.
func (w *fixture) spend(r *flow.Run, nano flow.NanoUSD) {
	w.t.Helper()
	s := step("write")
	s.State, s.Usage.CostNanoUSD, s.Spent.CostNanoUSD = flow.StepRetrying, nano, nano
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{s}}))
}

func wantBudget(t *testing.T, err error, want flow.Budget) {
	t.Helper()
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || e.Code != flow.CodeBudgetExceeded || e.Budget == nil || *e.Budget != want {
		t.Fatalf("got %v, want the refusal of %+v", err, want)
	}
}

func TestBudgets_of_runs(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k, byKey := w.key(2, 0)
		w.limit(flow.Limits{RunsPerDay: 3})
		w.start(byKey)
		w.start(byKey)
		_, err := w.tryStart(byKey)
		wantBudget(t, err, flow.Budget{KeyID: k.ID, Name: "billing", Unit: flow.BudgetRuns, Limit: 2, Used: 2})
		wantEqual(t, "until", flow.AsError(err).After, flow.NextDay(w.clock.Now()).Sub(w.clock.Now()))
		w.start() // of another key
		_, err = w.tryStart()
		wantBudget(t, err, flow.Budget{FlowID: w.flow.ID, Unit: flow.BudgetRuns, Limit: 3, Used: 3})

		list, err := w.FlowBudgets(w.ctx, w.flow)
		w.must(err)
		wantEqual(t, "of the flow", list[0], flow.Budget{FlowID: w.flow.ID, Name: "Answer", Unit: flow.BudgetRuns, Limit: 3, Used: 3})

		w.clock.move(9 * time.Hour) // past midnight
		list, err = w.FlowBudgets(w.ctx, w.flow)
		w.must(err)
		wantEqual(t, "the next day", list[0].Used, 0)
		w.start(byKey)
		w.start(byKey)
		_, err = w.tryStart(byKey)
		wantCode(t, err, flow.CodeBudgetExceeded)
	})
}

// A refused start leaves nothing behind: no run, no idempotency key, and
// nothing taken from another budget.
func TestBudgets_refused_starts_change_nothing(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, byKey := w.key(5, 0)
		w.limit(flow.Limits{RunsPerDay: 1})
		w.start()
		named := func(n *flow.NewRun) { n.IdempotencyKey, n.Fingerprint = "once", "print" }
		_, err := w.tryStart(byKey, named)
		wantCode(t, err, flow.CodeBudgetExceeded)
		found, err := w.FindStarted(w.ctx, ws, "once", "print")
		w.must(err)
		if found != nil {
			t.Fatalf("the refused start left %+v", found)
		}
		w.limit(flow.Limits{RunsPerDay: 6})
		for range 4 {
			w.start(byKey)
		}
		s, err := w.tryStart(byKey, named)
		w.must(err)
		wantEqual(t, "accepted again", s.Replayed, false)
		s, err = w.tryStart(byKey, named) // nothing is left, but this is no other start
		w.must(err)
		wantEqual(t, "the same", s.Replayed, true)
		_, err = w.tryStart(byKey)
		wantCode(t, err, flow.CodeBudgetExceeded)
	})
}

// A start that is refused for another reason does not count.
func TestBudgets_count_accepted_runs(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.limit(flow.Limits{RunsPerDay: 2, MaxRunning: 1, MaxQueued: 1})
		first := w.start()
		w.start()
		_, err := w.tryStart()
		wantCode(t, err, flow.CodeBudgetExceeded)
		w.limit(flow.Limits{RunsPerDay: 3, MaxRunning: 1, MaxQueued: 1})
		for range 3 {
			_, err = w.tryStart()
			wantCode(t, err, flow.CodeQueueFull)
		}
		w.must(w.finish(w.take(first.ID), flow.RunSucceeded))
		w.start()
	})
}

func TestBudgets_of_concurrent_runs(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, byKey := w.key(5, 0)
		w.limit(flow.Limits{RunsPerDay: 7})
		var byKeyOK, otherOK atomic.Int64
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				change, ok := byKey, &byKeyOK
				if i%2 == 0 {
					change, ok = func(*flow.NewRun) {}, &otherOK
				}
				switch _, err := w.tryStart(change); {
				case err == nil:
					ok.Add(1)
				case !errors.Is(err, &flow.Error{Code: flow.CodeBudgetExceeded}):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if byKeyOK.Load() > 5 || byKeyOK.Load()+otherOK.Load() != 7 {
			t.Errorf("accepted %d by the key and %d others; want 7, at most 5 by the key", byKeyOK.Load(), otherOK.Load())
		}
	})
}

// A budget that is set during the day counts the earlier runs of that day.
func TestBudgets_set_during_the_day(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.clock.move(-16 * time.Hour)
		w.start() // yesterday
		w.clock.move(16 * time.Hour)
		w.start()
		w.start()
		w.start(func(n *flow.NewRun) { n.Run.FlowID = w.newFlow(ws).ID })
		w.limit(flow.Limits{RunsPerDay: 3})
		w.start()
		_, err := w.tryStart()
		wantCode(t, err, flow.CodeBudgetExceeded)
		w.limit(flow.Limits{})
		w.start()
		w.limit(flow.Limits{RunsPerDay: 5})
		w.start()
		_, err = w.tryStart()
		wantCode(t, err, flow.CodeBudgetExceeded)
		k, byKey := w.key(0, 0)
		w.limit(flow.Limits{})
		w.start(byKey)
		k.RunsPerDay = 2
		w.must(w.updateKey(k))
		w.start(byKey)
		_, err = w.tryStart(byKey)
		wantCode(t, err, flow.CodeBudgetExceeded)
		wantCode(t, w.SetFlowLimits(w.ctx, "ws_other", w.flow.ID, flow.Limits{RunsPerDay: 9}), flow.CodeNotFound)
	})
}

// Different clocks around midnight do not allow a budget to be used twice.
func TestBudgets_with_different_clocks(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.limit(flow.Limits{RunsPerDay: 2})
		early := w.clock.Now()
		w.clock.move(9 * time.Hour)
		w.start()
		late := func(n *flow.NewRun) { n.Run.CreatedAt = early }
		_, err := w.tryStart(late)
		w.must(err)
		_, err = w.tryStart()
		wantCode(t, err, flow.CodeBudgetExceeded)
		_, err = w.tryStart(late)
		wantCode(t, err, flow.CodeBudgetExceeded)
	})
}

func TestBudgets_of_dollars(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k, byKey := w.key(0, 10)
		w.limit(flow.Limits{USDPerDay: 25})
		first := w.take(w.start(byKey).ID)
		w.must(w.ReserveSpending(w.ctx, flow.Reservation{WorkspaceID: ws, FlowID: w.flow.ID, KeyID: k.ID}))
		w.spend(first, 10) // of a step that has not ended, in a run that is open
		ofKey := flow.Budget{KeyID: k.ID, Name: "billing", Unit: flow.BudgetUSD, Limit: 10, Used: 10}
		wantBudget(t, w.ReserveSpending(w.ctx, flow.Reservation{WorkspaceID: ws, FlowID: w.flow.ID, KeyID: k.ID}), ofKey)
		_, err := w.tryStart(byKey)
		wantBudget(t, err, ofKey)
		list, err := w.KeyBudgets(w.ctx, k)
		w.must(err)
		wantEqual(t, "of the key", list[0], ofKey)

		w.must(w.ReserveSpending(w.ctx, flow.Reservation{WorkspaceID: ws, FlowID: w.flow.ID, KeyID: ""})) // the flow has something left
		second := w.take(w.start().ID)
		w.spend(second, 20)
		ofFlow := flow.Budget{FlowID: w.flow.ID, Unit: flow.BudgetUSD, Limit: 25, Used: 30}
		wantBudget(t, w.ReserveSpending(w.ctx, flow.Reservation{WorkspaceID: ws, FlowID: w.flow.ID, KeyID: "key_a"}), ofFlow)
		_, err = w.tryStart()
		wantBudget(t, err, ofFlow)
		w.start(func(n *flow.NewRun) { n.Run.FlowID = w.newFlow(ws).ID }) // another flow

		w.limit(flow.Limits{USDPerDay: 31}) // holds at once
		w.must(w.ReserveSpending(w.ctx, flow.Reservation{WorkspaceID: ws, FlowID: w.flow.ID, KeyID: ""}))
		w.clock.move(9 * time.Hour)
		w.must(w.ReserveSpending(w.ctx, flow.Reservation{WorkspaceID: ws, FlowID: w.flow.ID, KeyID: k.ID}))
		w.start(byKey)
	})
}

// The costs of a fenced worker and of a repeated write are not counted.
func TestBudgets_count_once(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.limit(flow.Limits{USDPerDay: 1000})
		r := w.take(w.start().ID)
		s := step("write")
		s.Usage.CostNanoUSD, s.Spent.CostNanoUSD = 7, 7
		r.Writes = 1
		for range 3 {
			w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: r, Steps: []flow.Step{s}}))
		}
		stale := *r
		stale.Attempt, stale.Writes = r.Attempt-1, 2
		if err := w.WriteRun(w.ctx, flow.RunWrite{Run: &stale, Steps: []flow.Step{s}}); !errors.Is(err, flow.ErrFenced) {
			t.Fatalf("a stale write: %v", err)
		}
		list, err := w.FlowBudgets(w.ctx, w.flow)
		w.must(err)
		wantEqual(t, "used", list[0].Used, 7)
	})
}

// Starts without budgets need no extra statements.
func TestBudgets_need_no_statements_if_not_set(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		statements := func(k *flow.Key) string {
			run := flow.Run{WorkspaceID: ws, FlowID: w.flow.ID, KeyID: k.ID, DocumentHash: "abc", Timeout: time.Hour, Save: true}
			names, err := w.StartStatements(w.ctx, flow.NewRun{Run: run, Key: k, Prices: true})
			w.must(err)
			// On PostgreSQL the number of admitted runs may be known from a moment ago.
			return strings.ReplaceAll(strings.Join(names, " "), "CountAdmitted ", "")
		}
		w.start() // how many workers live is known from here on
		none, _ := w.key(0, 0)
		both, _ := w.key(9, 9)
		wantEqual(t, "without", statements(none), "FindFlowLimits InsertRun")
		wantEqual(t, "of a key", statements(both), "FindFlowLimits KeySpent TakeStart InsertRun")
		w.limit(flow.Limits{RunsPerDay: 9, USDPerDay: 9})
		wantEqual(t, "of a flow", statements(none), "FindFlowLimits FlowSpent TakeStart InsertRun")
		wantEqual(t, "of both", statements(both), "FindFlowLimits KeySpent FlowSpent TakeStart TakeStart InsertRun")
	})
}
