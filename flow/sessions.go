package flow

import (
	"context"
	"errors"
	"io"
	"sync"
)

// Sessions are connections to servers that the steps of a run share as long as one worker executes the
// run. They are closed when the run ends, waits or moves to another worker, so that a server holds
// nothing for a run that waits for days. The zero value is ready to use, and safe for concurrent use.
type Sessions struct {
	mu   sync.Mutex
	open map[string]*session
}

// session is a connection that is open or being opened.
type session struct {
	ready chan struct{} // closed when c or err is set
	c     io.Closer
	err   error
}

// Take returns the connection with a key, and opens it otherwise. Steps that come meanwhile wait
// for it. A connection that could not be opened is tried again by the next step.
func (s *Sessions) Take(ctx context.Context, key string, open func(context.Context) (io.Closer, error)) (io.Closer, error) {
	s.mu.Lock()
	found := s.open[key]
	if found == nil {
		found = &session{ready: make(chan struct{})}
		if s.open == nil {
			s.open = map[string]*session{}
		}
		s.open[key] = found
		s.mu.Unlock()
		if found.c, found.err = open(ctx); found.err != nil {
			s.forget(key, found)
		}
		close(found.ready)
		return found.c, found.err
	}
	s.mu.Unlock()
	select {
	case <-found.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if ctx.Err() == nil && (errors.Is(found.err, context.Canceled) || errors.Is(found.err, context.DeadlineExceeded)) {
		return s.Take(ctx, key, open) // the step that opened it has ended; this one has time
	}
	return found.c, found.err
}

// Drop forgets a connection that does not work any more and closes it. The next step opens another.
func (s *Sessions) Drop(key string, c io.Closer) {
	s.mu.Lock()
	if found := s.open[key]; found != nil {
		select {
		case <-found.ready:
			if found.c == c {
				delete(s.open, key)
			}
		default: // another one is being opened already
		}
	}
	s.mu.Unlock()
	_ = c.Close()
}

// forget removes a connection that could not be opened.
func (s *Sessions) forget(key string, failed *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[key] == failed {
		delete(s.open, key)
	}
}

// Close closes all connections at the same time. No step may use them any more.
func (s *Sessions) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all sync.WaitGroup
	for _, one := range s.open {
		all.Go(func() {
			if <-one.ready; one.c != nil {
				_ = one.c.Close() // its server ends it after a while otherwise
			}
		})
	}
	all.Wait()
	s.open = nil
}
