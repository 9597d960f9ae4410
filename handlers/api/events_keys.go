package api

import (
	"context"
	"sync"
	"time"

	"sluice/flow"
)

// streamKeys caches keys for event streams, so that a thousand streams of one key share
// one query. It is safe for concurrent use.
type streamKeys struct {
	read func(ctx context.Context, hash string) (*flow.Key, error)

	mu    sync.Mutex
	keys  map[string]*streamKey // by hash
	swept time.Time
}

// streamKey is the last read state of one key.
type streamKey struct {
	mu     sync.Mutex // held during the read, so that concurrent callers share its result
	key    *flow.Key
	readAt time.Time
}

// find returns a key that was read at most age ago. Errors are not cached.
func (s *streamKeys) find(ctx context.Context, hash string, age time.Duration) (*flow.Key, error) {
	k := s.entry(hash, age)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != nil && time.Since(k.readAt) < age {
		return k.key, nil
	}
	now := time.Now() // before the read, so that the age is never underestimated
	key, err := s.read(ctx, hash)
	if err == nil {
		k.key, k.readAt = key, now
	}
	return key, err
}

// entry returns the cache entry of a key. Once a minute it drops all entries, because their
// streams may have ended.
func (s *streamKeys) entry(hash string, age time.Duration) *streamKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.swept) > time.Minute+age {
		s.keys, s.swept = map[string]*streamKey{}, time.Now()
	}
	k := s.keys[hash]
	if k == nil {
		k = &streamKey{}
		s.keys[hash] = k
	}
	return k
}
