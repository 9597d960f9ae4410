package console

import (
	"slices"
	"testing"
	"time"
)

// TestWaterfall_ticks_have_distinct_labels checks the moments below the axis, also where
// they are half a minute or half an hour apart.
func TestWaterfall_ticks_have_distinct_labels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		span time.Duration
		want []string
	}{
		{3 * time.Second, []string{"0", "1 s", "2 s"}},
		{2 * time.Minute, []string{"0", "30 s", "1 min", "1.5 min"}},
		{2 * time.Hour, []string{"0", "30 min", "1 h", "1.5 h"}},
	} {
		var labels []string
		for _, tick := range (Waterfall{Span: tt.span}).ticks() {
			labels = append(labels, tick.label)
		}
		if !slices.Equal(labels, tt.want) {
			t.Errorf("%v: %q, want %q", tt.span, labels, tt.want)
		}
	}
}
