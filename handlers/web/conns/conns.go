// Package conns owns the TCP connections of the HTTP server. It keeps a request
// alive if its client has only half-closed the connection, and it shuts down
// without dropping requests. SlowBody bounds uploads that are slow but alive. It does
// not look at the content of requests or responses.
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

// Listen wraps a listener so that half-closed connections can be distinguished from
// lost ones.
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

// conn records how a connection ended. Embedding *net.TCPConn keeps sendfile
// and CloseWrite, which net/http uses.
type conn struct {
	*net.TCPConn
	ctx      context.Context // canceled once no response can reach the client
	lost     context.CancelFunc
	finished chan struct{} // closed when the client has finished sending

	mu     sync.Mutex
	ended  bool        // finished is closed
	ticker *connTicker // of the streaming request, or nil
}

// end records that the client has finished sending.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	close(c.finished)
	if c.ticker != nil {
		c.ticker.hurry()
	}
}

// Read records when the client has finished sending. After io.EOF the client may
// still read: shutdown(SHUT_WR) and close look the same to the server.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	switch {
	case err == nil || errors.Is(err, os.ErrDeadlineExceeded):
	case errors.Is(err, io.EOF):
		c.end()
	default:
		c.lost()
	}
	return n, err
}

// Write records that the client is gone.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p)
	if err != nil {
		c.lost()
	}
	return n, err
}

// Close closes the connection and cancels its requests.
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

// untilLost returns a request whose context ends when the connection is reset
// or a write fails. net/http ends the context as soon as the client has
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

// Finished returns a channel that is closed once the client of a request has
// finished sending; the client may be gone or still reading. It is nil if the
// connection cannot tell.
func Finished(ctx context.Context) <-chan struct{} {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		return c.finished
	}
	return nil
}

// probe is the interval between writes of a stream to a client that has finished
// sending. If the client is gone, the first write triggers a reset and the second
// one fails.
const probe = 500 * time.Millisecond

// NewTicker returns a ticker for the writes that keep a stream open: every
// interval, or more often if the client may be gone. Call Stop to release it.
func NewTicker(ctx context.Context, interval time.Duration) (ticks <-chan time.Time, stop func()) {
	t := &connTicker{Ticker: time.NewTicker(interval), interval: interval}
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return t.C, t.Stop
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ticker = t
	if c.ended {
		t.hurry()
	}
	return t.C, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ticker = nil
		t.Stop()
	}
}

// connTicker is a ticker that its connection can speed up, so that it needs no
// goroutine.
type connTicker struct {
	*time.Ticker
	interval time.Duration
}

// hurry shortens the interval to probe unless it is already shorter.
func (t *connTicker) hurry() { t.Reset(min(t.interval, probe)) }
