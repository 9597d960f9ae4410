package fairness

import (
	"cmp"
	"net/netip"
	"time"
)

// Try describes a counter of failed or repeated attempts, such as sign-ins, by account or
// IP address.
type Try struct {
	Name  string        // of the counter
	Free  int64         // failures before the first wait
	First time.Duration // the first wait; default one second
}

// The longest wait after failures, and the time after which they are forgotten.
const (
	maxWait        = 15 * time.Minute
	TriesForgotten = 24 * time.Hour
)

// Wait returns the wait after a number of failures: exponential back-off from the first wait,
// after the free failures.
func (t Try) Wait(failures int64) time.Duration {
	n := failures - t.Free
	if n <= 0 {
		return 0
	}
	return min(cmp.Or(t.First, time.Second)<<min(n-1, 20), maxWait)
}

// Rate is the result of counting a request against a rate limit.
type Rate struct {
	OK   bool          // the request was accepted
	Left int64         // requests that can follow immediately
	Full time.Duration // until the whole quota is available again
	Wait time.Duration // until the next request is accepted; 0 if this one was
}

// NewRate returns the result for a request under a limit per minute, by the generic cell
// rate algorithm: each request uses up a step of the minute. used is the time used so far,
// with this request if it was accepted.
func NewRate(accepted bool, used, step time.Duration) *Rate {
	r := &Rate{OK: accepted, Full: max(used, 0)}
	r.Left = max(int64((time.Minute-r.Full)/step), 0)
	if !accepted {
		r.Left, r.Wait = 0, max(r.Full+step-time.Minute, time.Millisecond)
	}
	return r
}

// Fail returns the number of failures after one more, and when the next attempt is
// allowed. Failures are forgotten TriesForgotten after the last one.
func (t Try) Fail(failures int64, last, now time.Time) (n int64, until time.Time) {
	if last.Before(now.Add(-TriesForgotten)) {
		failures = 0
	}
	return failures + 1, now.Add(t.Wait(failures + 1))
}

// RateLimitKey maps an IP address to its rate-limit bucket: the address for
// IPv4, the /64 for IPv6, because a household has a whole /64.
func RateLimitKey(ip string) string {
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	if a = a.Unmap(); a.Is4() {
		return a.String()
	}
	p, _ := a.WithZone("").Prefix(64)
	return p.String()
}
