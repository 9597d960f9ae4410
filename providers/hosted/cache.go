package hosted

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	cacheSize    = 300              // entries; the one that was fetched first is evicted
	fetchTimeout = 2 * time.Minute  // of a fetch, which several callers may share
	staleFor     = 24 * time.Hour   // how long an expired entry is used while the platform fails
	retryPause   = 30 * time.Second // pause between fetches while an expired entry is used
)

// cache is a cache of the platform's responses. Concurrent callers of the same key share one
// fetch.
type cache struct {
	now    func() time.Time
	flight singleflight.Group

	mu      sync.Mutex
	entries map[string]*cacheEntry
}

// cacheEntry is a cached response. Failed fetches postpone next, but do not change fetched.
type cacheEntry struct {
	value   any
	fetched time.Time
	next    time.Time // earliest time of the next fetch
}

// newCache returns an empty cache. now is the clock, which tests replace.
func newCache(now func() time.Time) *cache {
	return &cache{now: now, entries: map[string]*cacheEntry{}}
}

// cacheKey returns a cache key. Entries are separate for each secret, because the platform
// may show more to some accounts. The key contains only a hash of the secret.
func cacheKey(secret string, parts ...string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:12]) + "\x00" + strings.Join(parts, "\x00")
}

// get returns a cached value that has not expired, or fetches it. If the fetch fails, it
// returns an expired value for up to staleFor.
func get[T any](ctx context.Context, s *cache, key string, age time.Duration, fetch func(context.Context) (T, error)) (T, error) {
	if v, ok := s.fresh(key); ok {
		return v.(T), nil
	}
	done := s.flight.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
		defer cancel()
		v, err := fetch(ctx)
		if err != nil {
			return s.stale(key, err)
		}
		s.keep(key, v, age)
		return v, nil
	})
	var zero T
	select {
	case <-ctx.Done():
		return zero, ctx.Err()
	case r := <-done:
		if r.Err != nil {
			return zero, r.Err
		}
		return r.Val.(T), nil
	}
}

// fresh returns a cached value and true until it should be fetched again.
func (s *cache) fresh(key string) (any, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	if !ok || !s.now().Before(e.next) {
		return nil, false
	}
	return e.value, true
}

// keep stores a value that is fresh for the given age. If there are too many entries,
// the one that was fetched first is evicted.
func (s *cache) keep(key string, v any, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.entries[key] = &cacheEntry{value: v, fetched: now, next: now.Add(age)}
	if len(s.entries) <= cacheSize {
		return
	}
	oldest := key
	for k, e := range s.entries {
		if e.fetched.Before(s.entries[oldest].fetched) {
			oldest = k
		}
	}
	delete(s.entries, oldest)
}

// stale returns an expired value instead of a transient error, for up to staleFor after
// it was fetched. The platform is not asked again for retryPause. Other errors, such as
// a refusal, are returned.
func (s *cache) stale(key string, err error) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	if !ok || s.now().Sub(e.fetched) > staleFor || !isTransient(err) {
		return nil, err
	}
	e.next = s.now().Add(retryPause)
	return e.value, nil
}
