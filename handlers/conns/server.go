package conns

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server is an http.Server that answers clients which have finished sending, and
// that shuts down without dropping a request.
type Server struct {
	http.Server
	leaving atomic.Bool
	release []func()

	mu       sync.Mutex
	listener net.Listener
	served   chan struct{}          // closed when the listener is no longer accepted from
	busy     map[net.Conn]time.Time // since when; zero while there is a request
}

// New makes a server that h handles. Its fields of http.Server may be set before
// it serves, except Handler, ConnContext and ConnState.
func New(h http.Handler) *Server {
	s := &Server{served: make(chan struct{}), busy: map[net.Conn]time.Time{}}
	s.ConnContext, s.ConnState = withConn, s.track
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, stop := untilLost(r)
		defer stop()
		if s.leaving.Load() {
			w.Header().Set("Connection", "close")
			r.Close = true // for handlers: the connection ends after the answer
		}
		h.ServeHTTP(w, r)
	})
	return s
}

// Serve answers what connects to l. It always returns an error; after Shutdown
// that is http.ErrServerClosed. It may be called once.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	s.listener = l
	s.mu.Unlock()
	defer close(s.served)
	err := s.Server.Serve(Listen(l))
	if s.leaving.Load() && errors.Is(err, net.ErrClosed) {
		return http.ErrServerClosed
	}
	return err
}

// OnShutdown has Shutdown call f once no connection is accepted any more, to let
// go of requests that would otherwise wait or stream on. It is called before
// Serve.
func (s *Server) OnShutdown(f func()) { s.release = append(s.release, f) }

// Leave makes every answer end its connection, so that clients make new ones,
// to another process if there is one. Everything is served as before.
func (s *Server) Leave() { s.leaving.Store(true) }

// Shutdown refuses connections, waits until all requests of those that were made
// are answered, and closes. When ctx is done first it returns the context's
// error, and Close ends what is left. http.Server.Shutdown alone drops requests
// that arrive while it waits.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Leave()
	s.mu.Lock()
	l := s.listener
	s.mu.Unlock()
	if l != nil {
		refuse(l)
		_ = l.Close()
		<-s.served
	}
	s.SetKeepAlivesEnabled(false) // also for answers to requests that came before Leave; closes idle connections
	for _, f := range s.release {
		f()
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for s.isBusy() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Server.Shutdown(ctx)
}

// newPatience is how long a new connection may take to send something before
// shutting down no longer waits for it. Browsers connect ahead of requests that
// they may never send.
const newPatience = 2 * time.Second

// track follows the states of connections. http.Server calls it for a new one
// before it accepts the next.
func (s *Server) track(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.busy[c] = time.Now()
	case http.StateActive:
		s.busy[c] = time.Time{}
	case http.StateIdle, http.StateHijacked, http.StateClosed:
		delete(s.busy, c)
	}
}

// isBusy reports whether a client waits for an answer or may be about to ask.
func (s *Server) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, since := range s.busy {
		if since.IsZero() || time.Since(since) < newPatience {
			return true
		}
	}
	return false
}
