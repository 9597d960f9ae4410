package wording

import (
	"testing"
	"time"
)

func TestTimes_have_US_form(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 18, 14, 9, 0, time.FixedZone("CET", 3600))
	for want, got := range map[string]string{
		"Nov 28, 2026": Day(at), "Nov 28": ShortDay(at), "Nov 28, 2026, 5:14 PM UTC": Moment(at), "Nov 28, 2026, 5:14:09 PM UTC": Second(at),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
