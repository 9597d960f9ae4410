package fairness

import (
	"net/netip"
	"time"
)

// Try is one attempt to guess something, counted under a name: an account, an
// address.
type Try struct {
	Name string
	Free int64 // failures before the first wait
}

// How long failures slow somebody down: at most, and until they are forgotten.
const (
	longestWait    = 15 * time.Minute
	TriesForgotten = 24 * time.Hour
)

// Wait is how long to wait after so many failures: a second after the first
// that is not free, then twice as long each time.
func (t Try) Wait(failures int64) time.Duration {
	n := failures - t.Free
	if n <= 0 {
		return 0
	}
	return min(time.Second<<min(n-1, 20), longestWait)
}

// Rate is what a count of so many a minute says of one more.
type Rate struct {
	OK   bool          // it was taken
	Left int64         // how many may follow at once
	Full time.Duration // until nothing counts any more
	Wait time.Duration // until the next may come; zero when it was taken
}

// NewRate returns the answer to one more request of a rate limit per minute, in which
// each request takes a step of time. used is the time that is used up, with this
// request if it was accepted.
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
