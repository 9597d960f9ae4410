package main

import "testing"

func TestGarbagePercent(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: maxPercent, 5 << 20: maxPercent, 12 << 20: 200, 48 << 20: 50, 64 << 20: minPercent, 1 << 30: minPercent} {
		if got := garbagePercent(live); got != want {
			t.Errorf("%d MiB alive: %d %%, want %d %%", live>>20, got, want)
		}
	}
}
