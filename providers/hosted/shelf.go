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
	shelfSize    = 300              // entries; the least lately fetched goes first
	fetchTimeout = 2 * time.Minute  // of a fetch that several callers may wait for
	staleFor     = 24 * time.Hour   // how long an old answer stands in for a failing platform
	calmAfter    = 30 * time.Second // how long a failing platform is left alone if there is one
)

// shelf keeps what the platform said for a while. Callers that want the same
// at the same time share one fetch.
type shelf struct {
	now    func() time.Time
	flight singleflight.Group

	mu      sync.Mutex
	entries map[string]*kept
}

// kept is a cached response. Failed fetches postpone next, but do not change fetched.
type kept struct {
	value   any
	fetched time.Time
	next    time.Time // not fetched again before
}

// newShelf returns an empty cache. now is the clock, which tests replace.
func newShelf(now func() time.Time) *shelf { return &shelf{now: now, entries: map[string]*kept{}} }

// keyOf names what is kept: per secret, because what a secret may see is its
// own, and never with the secret itself.
func keyOf(secret string, parts ...string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:12]) + "\x00" + strings.Join(parts, "\x00")
}

// get returns what is kept if it is young enough, else fetches it. If that
// fails, what is kept is good enough for a day.
func get[T any](ctx context.Context, s *shelf, key string, age time.Duration, fetch func(context.Context) (T, error)) (T, error) {
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
func (s *shelf) fresh(key string) (any, bool) {
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
func (s *shelf) keep(key string, v any, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.entries[key] = &kept{value: v, fetched: now, next: now.Add(age)}
	if len(s.entries) <= shelfSize {
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
// it was fetched. The platform is not asked again for calmAfter. Other errors, such as
// a refusal, are returned.
func (s *shelf) stale(key string, err error) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	if !ok || s.now().Sub(e.fetched) > staleFor || !passing(err) {
		return nil, err
	}
	e.next = s.now().Add(calmAfter)
	return e.value, nil
}
