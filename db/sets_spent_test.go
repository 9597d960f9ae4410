package db_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
)

// TestSets_with_budgets_in_dollars checks that starts under such budgets, also those that still have
// to determine prices or are refused, share sets with others: a set that fails is repeated one by
// one, which makes all callers slow.
func TestSets_with_budgets_in_dollars(t *testing.T) {
	t.Parallel()
	var repeated <-chan struct{}
	s := dbtest.Postgres(t, func(cfg *core.Config) { repeated = watch(cfg, "repeated one by one") })
	w := newFixture(t, s, &clock{now: time.Now()})
	k, byKey := w.key(0, 1000)
	spent, bySpent := w.key(0, 100)
	limited, usedUp := w.newFlow(ws), w.newFlow(ws)
	w.must(w.SetFlowLimits(w.ctx, ws, limited.ID, flow.Limits{USDPerDay: 1000}))
	w.must(w.SetFlowLimits(w.ctx, ws, usedUp.ID, flow.Limits{USDPerDay: 100}))
	of := func(f *flow.Flow) func(*flow.NewRun) {
		return func(n *flow.NewRun) { n.Run.FlowID, n.Run.FlowSlug = f.ID, f.Slug }
	}
	for _, option := range []func(*flow.NewRun){bySpent, of(usedUp)} {
		started, err := w.tryStart(option)
		w.must(err)
		w.spend(w.take(started.Run.ID), 100)
	}
	unpriced := func(n *flow.NewRun) { n.Prices = false }
	kinds := []struct {
		options []func(*flow.NewRun)
		want    error
	}{
		{nil, nil},
		{[]func(*flow.NewRun){byKey}, nil},
		{[]func(*flow.NewRun){byKey, unpriced}, flow.ErrPricesWanted},
		{[]func(*flow.NewRun){of(limited)}, nil},
		{[]func(*flow.NewRun){of(limited), unpriced}, flow.ErrPricesWanted},
		{[]func(*flow.NewRun){bySpent}, &flow.Error{Code: flow.CodeBudgetExceeded}},
		{[]func(*flow.NewRun){of(usedUp)}, &flow.Error{Code: flow.CodeBudgetExceeded}},
	}
	var mu sync.Mutex
	outcomes := make([]int, len(kinds))
	many(20*len(kinds), func(i int) {
		kind := kinds[i%len(kinds)]
		_, err := w.tryStart(kind.options...)
		mu.Lock()
		defer mu.Unlock()
		if outcomes[i%len(kinds)]++; !errors.Is(err, kind.want) {
			t.Errorf("kind %d: got %v, want %v", i%len(kinds), err, kind.want)
		}
	})
	if n := len(repeated); n > 0 {
		t.Errorf("%d sets failed", n)
	}
	runs := func(keyID string, f *flow.Flow) int {
		list, err := w.ListRuns(w.ctx, flow.RunFilter{WorkspaceID: ws, FlowID: f.ID, KeyID: keyID, Limit: 100})
		w.must(err)
		return len(list)
	}
	wantEqual(t, "runs of the key", runs(k.ID, w.flow), 20)
	wantEqual(t, "runs of the key whose budget is used up", runs(spent.ID, w.flow), 1)
	wantEqual(t, "runs of the flow", runs("key_a", limited), 20)
	w.wantStorage()
}
