package engine

import (
	"testing"

	"sluice/flow"
)

// TestCosts_keep_parallel_steps_within_a_budget reserves steps in parallel until a budget is used
// up, as db.ReserveSpending does, and then records what they really cost. At most one step
// exceeds the budget, whether steps cost a little more than estimated or, after the first
// ones, much more.
func TestCosts_keep_parallel_steps_within_a_budget(t *testing.T) {
	t.Parallel()
	const limit, parallel = 1_000_000_000, 64
	for name, c := range map[string]struct{ estimate, actual flow.NanoUSD }{
		"as estimated":          {10_000_000, 10_000_000},
		"3 percent more":        {15_600_000, 16_100_000},
		"24 percent more":       {15_000_000, 18_600_000},
		"five times more":       {1_000_000, 5_000_000},
		"without an estimate":   {0, 40_000_000},
		"much without one":      {0, 9_000_000},
		"less than it reserves": {15_000_000, 2_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			costs, key := NewCosts(), costKey{"ws", "m"}
			var used flow.NanoUSD
			for used < limit {
				var open int
				var reserved flow.NanoUSD
				for open < parallel {
					amount := costs.reservation(key, c.estimate)
					if open > 0 && used+reserved+amount > limit {
						break
					}
					reserved += amount
					open++
				}
				for range open {
					used += c.actual
					costs.note(key, c.estimate, c.actual)
				}
			}
			if used >= limit+c.actual {
				t.Errorf("used %d, more than one step of %d above the budget", used, c.actual)
			}
		})
	}
}

func TestCosts_forget(t *testing.T) {
	t.Parallel()
	costs, key := NewCosts(), costKey{"ws", "m"}
	costs.note(key, 100, 1000)
	if got := costs.reservation(key, 100); got < 1000 {
		t.Errorf("reserved %d after a step of 1000", got)
	}
	for range 300 {
		costs.note(key, 100, 100)
	}
	if got := costs.reservation(key, 100); got != 126 {
		t.Errorf("reserved %d after many steps of 100", got)
	}
	if got := (*Costs)(nil).reservation(key, 100); got != 125 {
		t.Errorf("without a memory reserved %d", got)
	}
}
