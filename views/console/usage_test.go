package console

import "testing"

// TestCostValue_names_lost_calls: the cost of a lost call is unknown, too.
func TestCostValue_names_lost_calls(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]UsageSum{"$1.50": {Micros: 1_500_000}, "$1.50 · 2 steps without a price or lost": {Micros: 1_500_000, Unpriced: 2}} {
		if got := costValue(s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
