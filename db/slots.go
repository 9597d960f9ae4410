package db

import (
	"context"
	"sync"
)

// slots bounds how many connections are in use at once. Unlike a channel it can
// grow and shrink while it is used. Waiters are served in their order. It is
// safe for concurrent use.
type slots struct {
	mu      sync.Mutex
	max     int
	used    int
	waiters []chan struct{} // each closed once its slot is taken for it
}

func newSlots(n int) *slots { return &slots{max: n} }

// acquire takes a slot. It returns the error of ctx if that ends first.
func (s *slots) acquire(ctx context.Context) error {
	s.mu.Lock()
	if s.used < s.max && len(s.waiters) == 0 {
		s.used++
		s.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	s.waiters = append(s.waiters, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.waiters {
		if w == turn {
			s.waiters = append(s.waiters[:i:i], s.waiters[i+1:]...)
			return ctx.Err()
		}
	}
	s.used-- // it was taken at the last moment
	s.serve()
	return ctx.Err()
}

// release gives a slot back.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	s.serve()
}

// resize sets the number of slots. Those beyond it are not taken away from
// whoever has them, but not taken again.
func (s *slots) resize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.max = n
	s.serve()
}

// serve takes free slots for those who wait.
func (s *slots) serve() {
	for s.used < s.max && len(s.waiters) > 0 {
		s.used++
		close(s.waiters[0])
		s.waiters = s.waiters[1:]
	}
}
