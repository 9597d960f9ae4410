package db_test

import (
	"cmp"
	"slices"
	"testing"

	"sluice/flow"
)

// TestAllBudgets_are_those_of_each compares the budgets of a workspace that are read together with those
// of each key and flow.
func TestAllBudgets_are_those_of_each(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		maker, byMaker := w.key(9, 1000)
		maker.Scopes = []flow.Scope{flow.ScopeRun, flow.ScopeAdmin}
		w.must(w.updateKey(maker))
		made, byMade := w.key(0, 500)
		plain, byPlain := w.key(7, 0)
		gone, _ := w.key(5, 5)
		w.limit(flow.Limits{USDPerDay: 5000, RunsPerDay: 50})
		for i, by := range []func(*flow.NewRun){byMaker, byMade, byMade, byPlain} {
			w.spend(w.take(w.start(by).ID), flow.NanoUSD(10*(i+1)))
		}
		w.must(w.FoldUsage(w.ctx))
		w.spend(w.take(w.start(byMaker).ID), 3) // in the log on PostgreSQL

		f, err := w.FindFlow(w.ctx, ws, w.flow.ID)
		w.must(err)
		keys, err := w.ListKeys(w.ctx, ws)
		w.must(err)
		got, err := w.AllBudgets(w.ctx, ws, []flow.Flow{*f}, keys, func(k *flow.Key) bool { return k.ID != gone.ID })
		w.must(err)
		want, err := w.FlowBudgets(w.ctx, f)
		w.must(err)
		for _, k := range []*flow.Key{maker, made, plain} {
			of, err := w.KeyBudgets(w.ctx, k)
			w.must(err)
			want = append(want, of...)
		}
		order := func(a, b flow.Budget) int {
			return cmp.Or(cmp.Compare(a.FlowID, b.FlowID), cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Unit, b.Unit))
		}
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		wantEqual(t, "number", len(got), len(want))
		for i := range want {
			wantEqual(t, "budget", got[i], want[i])
		}
	})
}
