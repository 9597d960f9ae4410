package dbconn

import (
	"context"
	"sync"
)

// Slots bounds how many connections are in use at once. Unlike a channel it can
// grow and shrink while it is used. Waiters are served in their order. It is
// safe for concurrent use.
type Slots struct {
	Mu      sync.Mutex
	max     int
	used    int
	Waiters []chan struct{} // each closed once its slot is taken for it
}

func NewSlots(n int) *Slots { return &Slots{max: n} }

// Acquire takes a slot. It returns the error of ctx if that ends first.
func (s *Slots) Acquire(ctx context.Context) error {
	s.Mu.Lock()
	if s.used < s.max && len(s.Waiters) == 0 {
		s.used++
		s.Mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	s.Waiters = append(s.Waiters, turn)
	s.Mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for i, w := range s.Waiters {
		if w == turn {
			s.Waiters = append(s.Waiters[:i:i], s.Waiters[i+1:]...)
			return ctx.Err()
		}
	}
	s.used-- // it was taken at the last moment
	s.serve()
	return ctx.Err()
}

// Release gives a slot back.
func (s *Slots) Release() {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.used--
	s.serve()
}

// Resize sets the number of slots. Those beyond it are not taken away from
// whoever has them, but not taken again.
func (s *Slots) Resize(n int) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.max = n
	s.serve()
}

// serve takes free slots for those who wait.
func (s *Slots) serve() {
	for s.used < s.max && len(s.Waiters) > 0 {
		s.used++
		close(s.Waiters[0])
		s.Waiters = s.Waiters[1:]
	}
}
