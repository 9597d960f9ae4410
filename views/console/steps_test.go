package console

import (
	"testing"
	"time"
)

func TestWaterfall_summary_counts_states(t *testing.T) {
	t.Parallel()
	for want, states := range map[string]map[string]int{
		"":                                  {},
		"8 done · 1 skipped":                {"succeeded": 6, "reused": 2, "skipped": 1},
		"1 done · 1 failed · 2 not started": {"pending": 2, "failed": 1, "succeeded": 1},
		"1 running · 1 waiting · 1,200 canceled": {"waiting": 1, "running": 1, "canceled": 1200},
	} {
		if got := (Waterfall{States: states}).summary(); got != want {
			t.Errorf("%v: %q, want %q", states, got, want)
		}
	}
}

func TestWaterfall_shows_short_steps(t *testing.T) {
	t.Parallel()
	w := Waterfall{Span: time.Minute}
	last := WaterfallBar{From: time.Minute, To: time.Minute}
	if w.x(last) != "98.00%" || w.width(last) != "2.00%" {
		t.Errorf("a step of no duration is at %s and %s wide", w.x(last), w.width(last))
	}
}
