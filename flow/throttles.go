package flow

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
