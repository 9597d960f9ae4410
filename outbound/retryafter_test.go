package outbound_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/outbound"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		after, ms, date string
		want            time.Duration
	}{
		{after: "", want: 0},
		{after: "3", want: 3 * time.Second},
		{after: " 3 ", want: 3 * time.Second},
		{after: "0", want: 0},
		{after: "0.5", want: 500 * time.Millisecond},
		{after: "86400", want: 24 * time.Hour},
		{after: "86401", want: 24 * time.Hour},
		{after: "99999999999999999999", want: 24 * time.Hour},
		{after: strings.Repeat("9", 400), want: 24 * time.Hour},
		{after: "-4", want: 0},
		{after: "+4", want: 0},
		{after: "NaN", want: 0},
		{after: "Inf", want: 0},
		{after: "0x10", want: 0},
		{after: "1e3", want: 0},
		{after: "3s", want: 0},
		{after: "3, 4", want: 0},
		{after: "soon", want: 0},
		{after: "1777888830", want: 30 * time.Second}, // a UNIX time
		{after: "1777888830.5", want: 30*time.Second + 500*time.Millisecond},
		{after: "1777888830500", want: 30*time.Second + 500*time.Millisecond},
		{after: "1777888830", date: "Mon, 04 May 2026 10:00:10 GMT", want: 20 * time.Second},
		{after: "1777888000", want: 0},
		{after: "2777888830", want: 24 * time.Hour},
		{after: "Mon, 04 May 2026 10:00:20 GMT", want: 20 * time.Second},
		{after: "Monday, 04-May-26 10:00:20 GMT", want: 20 * time.Second},
		{after: "Mon, 04 May 2026 09:00:00 GMT", want: 0},
		{after: "Mon, 04 May 2099 10:00:00 GMT", want: 24 * time.Hour},
		{after: "Mon, 04 May 2026 10:00:20 GMT", date: "Mon, 04 May 2026 10:00:15 GMT", want: 5 * time.Second},
		{after: "Mon, 04 May 2026 10:00:20 GMT", date: "today", want: 20 * time.Second},
		{after: "1", ms: "250", want: 250 * time.Millisecond},
		{after: "1", ms: "1.5", want: 1500 * time.Microsecond},
		{after: "1", ms: "-5", want: time.Second},
		{ms: "99999999999", want: 24 * time.Hour},
	} {
		h := http.Header{}
		for name, value := range map[string]string{"Retry-After": c.after, "Retry-After-Ms": c.ms, "Date": c.date} {
			if value != "" {
				h.Set(name, value)
			}
		}
		if got := outbound.RetryAfter(h, now); got != c.want {
			t.Errorf("%v: got %s, wanted %s", h, got, c.want)
		}
	}
}
