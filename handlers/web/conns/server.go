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

// Server is an http.Server that responds to half-closed clients, and that shuts down
// without dropping requests.
type Server struct {
	http.Server
	leaving atomic.Bool
	release []func()

	mu       sync.Mutex
	listener net.Listener
	served   chan struct{}          // closed when the listener is no longer accepted from
	busy     map[net.Conn]time.Time // when a connection was opened; zero during a request
}

// New returns a server with the handler h. The fields of http.Server may be set
// before Serve, except Handler, ConnContext and ConnState.
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

// Serve serves connections of l. It always returns an error, which is
// http.ErrServerClosed after Shutdown. Call it only once.
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

// OnShutdown registers a function that ends requests which wait or stream. Shutdown
// calls it once no more connections are accepted. Call OnShutdown before Serve.
func (s *Server) OnShutdown(f func()) { s.release = append(s.release, f) }

// Leave makes every response close its connection, so that clients reconnect,
// to another process if there is one. Everything is served as before.
func (s *Server) Leave() { s.leaving.Store(true) }

// Shutdown stops accepting connections, waits until all requests of established
// ones are answered, and closes them. If ctx is done first it returns the context's
// error, and the caller can end the rest with Close. Unlike http.Server.Shutdown it
// does not drop requests that arrive while it waits.
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

// newPatience is how long Shutdown waits for a new connection to send
// something. Browsers open connections for requests that they may never send.
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

// isBusy reports whether a client waits for a response or may be about to send
// a request.
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
