package db_test

import (
	"errors"
	"testing"
	"time"

	"sluice/flow"
)

// remembered reports whether a refusal was decided from memory.
func remembered(err error) bool {
	_, known := errors.AsType[*flow.RememberedRefusal](err)
	return known
}

// wantRemembered starts until a refusal comes from memory. The machine may be so slow that the
// memory of the one before has ended.
func (w *fixture) wantRemembered(code flow.Code, option func(*flow.NewRun)) {
	w.t.Helper()
	for try := 0; ; try++ {
		_, err := w.tryStart(option)
		wantCode(w.t, err, code)
		if remembered(err) {
			return
		}
		if try > 1000 {
			w.t.Fatal("refusals are never decided from memory")
		}
	}
}

func TestRefusals_of_budgets_end_with_a_change(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k, byKey := w.key(1, 0)
		_, err := w.tryStart(byKey)
		w.must(err)
		w.wantRemembered(flow.CodeBudgetExceeded, byKey)
		_, err = w.tryStart() // without the key
		w.must(err)

		k.RunsPerDay = 2
		w.must(w.updateKey(k))
		_, err = w.tryStart(byKey)
		w.must(err)
		w.wantRemembered(flow.CodeBudgetExceeded, byKey)

		w.clock.move(24 * time.Hour)
		_, err = w.tryStart(byKey)
		w.must(err)

		w.limit(flow.Limits{RunsPerDay: 1})
		ofFlow := func(*flow.NewRun) {}
		w.wantRemembered(flow.CodeBudgetExceeded, ofFlow)
		w.limit(flow.Limits{RunsPerDay: 100})
		_, err = w.tryStart(ofFlow)
		w.must(err)
	})
}

func TestRefusals_of_open_runs_end_with_a_run(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k, byKey := w.key(0, 0)
		k.Concurrency = 1
		w.must(w.updateKey(k))
		for range 20 {
			started, err := w.tryStart(byKey)
			w.must(err)
			w.wantRemembered(flow.CodeConcurrencyLimited, byKey)
			w.must(w.finish(w.take(started.Run.ID), flow.RunSucceeded))
		}
	})
}

// TestRefusals_of_other_instances_end_soon raises a budget in one instance, while another one remembers
// a refusal.
func TestRefusals_of_other_instances_end_soon(t *testing.T) {
	onTwoStores(t, func(t *testing.T, here, there *fixture) {
		there.flow = here.flow
		here.limit(flow.Limits{RunsPerDay: 1})
		_, err := here.tryStart()
		here.must(err)
		there.wantRemembered(flow.CodeBudgetExceeded, func(*flow.NewRun) {})
		here.limit(flow.Limits{RunsPerDay: 1000})
		for start := time.Now(); ; {
			_, err := there.tryStart()
			if err == nil {
				break
			}
			if !remembered(err) || time.Since(start) > time.Minute {
				t.Fatalf("after %s: %v", time.Since(start), err)
			}
		}
	})
}
