// Package conns owns the TCP connections of the HTTP server: it keeps a request
// alive when its client has only finished sending, and it shuts down without
// dropping a request. It knows nothing of what is asked and answered.
package conns

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Listen makes a listener tell half-closed connections from lost ones.
func Listen(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept waits for the next connection.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	tcp, ok := c.(*net.TCPConn)
	if err != nil || !ok {
		return c, err
	}
	wrapped := &conn{TCPConn: tcp, finished: make(chan struct{})}
	wrapped.ctx, wrapped.lost = context.WithCancel(context.Background())
	return wrapped, nil
}

// conn notes how a connection ended. Embedding *net.TCPConn keeps sendfile and
// CloseWrite, which net/http looks for.
type conn struct {
	*net.TCPConn
	ctx      context.Context // canceled once no answer can reach the client
	lost     context.CancelFunc
	finished chan struct{} // closed when the client has finished sending
	once     sync.Once
}

// Read notes the end of what the client sends. io.EOF says nothing about its
// other direction: shutdown(SHUT_WR) and close look the same from here.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	switch {
	case err == nil || errors.Is(err, os.ErrDeadlineExceeded):
	case errors.Is(err, io.EOF):
		c.once.Do(func() { close(c.finished) })
	default:
		c.lost()
	}
	return n, err
}

// Write notes that the client takes no more.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p)
	if err != nil {
		c.lost()
	}
	return n, err
}

// Close ends the connection and everything that works for it.
func (c *conn) Close() error {
	c.lost()
	return c.TCPConn.Close()
}

type connKey struct{}

// withConn adds the connection to the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// untilLost returns a request whose context ends when the client is gone: reset,
// or no longer taking the answer. net/http ends it as soon as the client has
// finished sending, which clients may do before they read.
func untilLost(r *http.Request) (_ *http.Request, stop func()) {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		return r, func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	release := context.AfterFunc(c.ctx, cancel)
	return r.WithContext(ctx), func() { release(); cancel() }
}

// Finished is closed once the client of a request has finished sending; it may
// be gone, or still reading. It is nil where that is never known.
func Finished(ctx context.Context) <-chan struct{} {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		return c.finished
	}
	return nil
}

// probe is how often a stream writes to a client that has finished sending. If
// it is gone, the first write makes its machine reset the connection, and the
// second one fails.
const probe = 500 * time.Millisecond

// NewTicker returns a ticker for the writes that keep a stream open: every
// interval, and more often when the client may be gone. Stop ends it.
func NewTicker(ctx context.Context, interval time.Duration) (ticks <-chan time.Time, stop func()) {
	t, stopped := time.NewTicker(interval), make(chan struct{})
	if finished := Finished(ctx); finished != nil {
		go func() {
			select {
			case <-finished:
				t.Reset(min(interval, probe))
			case <-stopped:
			}
		}()
	}
	return t.C, func() {
		close(stopped)
		t.Stop()
	}
}
