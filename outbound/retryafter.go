package outbound

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter limits the wait that a server may request with Retry-After.
const MaxRetryAfter = 24 * time.Hour

// decimal matches a number of seconds. RFC 9110 allows only whole numbers; some
// servers send fractions.
var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// RetryAfter returns how long a server asks clients to wait, from 0 to
// MaxRetryAfter; 0 if the header is missing or invalid. Retry-After is a number
// of seconds or a date; a date is compared with the server's own clock (Date)
// if the response has it, else with now. Some servers send the date as a UNIX time.
// Retry-After-Ms, which some model providers send, takes precedence.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := parseDecimal(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	at, isTime := parseUnix(value)
	if !isTime {
		if d, ok := parseDecimal(value, time.Second); ok {
			return d
		}
		var err error
		if at, err = http.ParseTime(value); err != nil {
			return 0
		}
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), MaxRetryAfter)
}

// parseUnix parses a UNIX time in seconds, or in milliseconds. Smaller numbers are durations:
// no server asks to wait for thirty years.
func parseUnix(text string) (at time.Time, ok bool) {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case !decimal.MatchString(text) || err != nil || n < 1e9 || n >= 1e14:
		return at, false
	case n >= 1e11:
		n /= 1000
	}
	return time.UnixMilli(int64(n * 1000)), true
}

// parseDecimal parses a number of units. Numbers above MaxRetryAfter, including those
// too large for a duration, are capped.
func parseDecimal(text string, unit time.Duration) (d time.Duration, ok bool) {
	text = strings.TrimSpace(text)
	if !decimal.MatchString(text) {
		return 0, false
	}
	n, _ := strconv.ParseFloat(text, 64) // infinite when out of range
	return time.Duration(min(n*float64(unit), float64(MaxRetryAfter))), true
}
