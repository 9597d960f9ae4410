package web

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"sluice/flow/cache"
)

// RateLimiters has a token bucket per name, which refills at the allowed rate. The number of buckets is bounded; an evicted one
// starts full again. It is safe for concurrent use.
type RateLimiters struct {
	mu      sync.Mutex
	buckets cache.Cache[string, *rate.Limiter]
}

// maxRateLimiters bounds the memory of RateLimiters to a few megabytes.
const maxRateLimiters = 20_000

// NewRateLimiters returns rate limiters without buckets.
func NewRateLimiters() *RateLimiters {
	return &RateLimiters{buckets: cache.New[string, *rate.Limiter](maxRateLimiters)}
}

// take takes a token for a key, or returns the time until the next one is available.
func (s *RateLimiters) take(key string, perMinute int64, now time.Time) (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.buckets.Get(key)
	if !ok || b.Burst() != int(perMinute) {
		b = rate.NewLimiter(rate.Limit(float64(perMinute)/60), int(perMinute))
		s.buckets.Add(key, b)
	}
	if b.AllowN(now, 1) {
		return 0
	}
	return time.Duration((1 - b.TokensAt(now)) / float64(b.Limit()) * float64(time.Second))
}

// TakeRate counts a request under a name, or returns the time until the next one is accepted. It is counted in this process first
// and then in the database, which all instances share; a request that is refused in this process costs no write.
func (c *Call) TakeRate(l *RateLimiters, what, name string, perMinute int64, now time.Time) (time.Duration, error) {
	if wait := l.take(what+" "+name, perMinute, now); wait > 0 {
		return wait, nil
	}
	shared, err := c.s.Store.TakeRate(c.Ctx(), AttemptKey(what, name), perMinute)
	if err != nil || shared == nil {
		return 0, err
	}
	return shared.Wait, nil
}
