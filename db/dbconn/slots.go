package dbconn

import (
	"context"
	"sync"
)

// Slots is a semaphore that bounds how many connections are in use at once. Unlike a
// channel it can be resized while it is in use. It serves waiters in order and is
// safe for concurrent use.
type Slots struct {
	Mu      sync.Mutex
	max     int
	used    int
	Waiters []chan struct{} // each is closed when it gets a slot
}

// NewSlots returns a semaphore with n slots.
func NewSlots(n int) *Slots { return &Slots{max: n} }

// Acquire takes a slot. It returns the error of ctx if ctx ends first.
func (s *Slots) Acquire(ctx context.Context) error {
	s.Mu.Lock()
	if s.used < s.max && len(s.Waiters) == 0 {
		s.used++
		s.Mu.Unlock()
		return nil
	}
	granted := make(chan struct{})
	s.Waiters = append(s.Waiters, granted)
	s.Mu.Unlock()
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	for i, w := range s.Waiters {
		if w == granted {
			s.Waiters = append(s.Waiters[:i:i], s.Waiters[i+1:]...)
			return ctx.Err()
		}
	}
	s.used-- // it was granted at the last moment
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

// Resize sets the number of slots. If more are in use, their holders keep them until
// they release them.
func (s *Slots) Resize(n int) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.max = n
	s.serve()
}

// serve grants free slots to waiters.
func (s *Slots) serve() {
	for s.used < s.max && len(s.Waiters) > 0 {
		s.used++
		close(s.Waiters[0])
		s.Waiters = s.Waiters[1:]
	}
}
