package api

import (
	"context"
	"sync"
	"time"

	"sluice/flow"
)

// streamKeys shares the looks at keys among streams. A thousand streams of one
// key read it once in a while together, not each for itself. It is safe for
// concurrent use.
type streamKeys struct {
	read func(ctx context.Context, hash string) (*flow.Key, error)

	mu    sync.Mutex
	keys  map[string]*streamKey // by hash
	swept time.Time
}

// streamKey is one key as it was read last.
type streamKey struct {
	mu   sync.Mutex // held while it is read, so that others wait for the answer
	key  *flow.Key
	when time.Time
}

// find returns a key that was read no longer ago than age. Errors are not kept.
func (s *streamKeys) find(ctx context.Context, hash string, age time.Duration) (*flow.Key, error) {
	k := s.at(hash, age)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != nil && time.Since(k.when) < age {
		return k.key, nil
	}
	now := time.Now() // before the read: the key may change right after it
	key, err := s.read(ctx, hash)
	if err == nil {
		k.key, k.when = key, now
	}
	return key, err
}

// at returns the place of a key and, now and then, drops those that no stream
// has asked for.
func (s *streamKeys) at(hash string, age time.Duration) *streamKey {
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
