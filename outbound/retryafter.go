package outbound

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter bounds what a server may ask for with Retry-After.
const MaxRetryAfter = 24 * time.Hour

// decimal is a number of seconds as servers write it. RFC 9110 has only whole
// ones; some servers send fractions.
var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// RetryAfter returns how long a server asks not to be called again, at most
// MaxRetryAfter and never negative; 0 when it does not say, or says what cannot
// be read. Retry-After is a number of seconds or a date; a date is taken against
// the server's own clock (Date) where the answer has it, else against now.
// Retry-After-Ms, a finer form that some model providers send, comes first.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := parseDecimal(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := parseDecimal(value, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), MaxRetryAfter)
}

func parseDecimal(text string, unit time.Duration) (d time.Duration, ok bool) {
	text = strings.TrimSpace(text)
	if !decimal.MatchString(text) {
		return 0, false
	}
	n, _ := strconv.ParseFloat(text, 64) // infinite when out of range
	return time.Duration(min(n*float64(unit), float64(MaxRetryAfter))), true
}
