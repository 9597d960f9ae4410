package dbconn

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// LimitAnswers makes connections of cfg fail if the server takes longer than
// answerTimeout to answer.
func LimitAnswers(cfg *pgx.ConnConfig) {
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &answeringConn{Conn: conn}, nil
	}
}

// answeringConn bounds the wait for the first bytes of an answer. It does not affect
// a connection that only listens for notifications, and it keeps deadlines that pgx
// sets to end a read when a context ends.
type answeringConn struct {
	net.Conn
	awaiting    atomic.Bool // a request was sent and nothing was read since then
	mu          sync.Mutex
	hasDeadline bool // pgx set a deadline
}

// Write sends a request.
func (c *answeringConn) Write(b []byte) (int, error) {
	c.awaiting.Store(true)
	return c.Conn.Write(b)
}

// Read reads what the server sends.
func (c *answeringConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	if !c.hasDeadline {
		var deadline time.Time
		if c.awaiting.Load() {
			deadline = time.Now().Add(answerTimeout)
		}
		_ = c.Conn.SetReadDeadline(deadline)
	}
	c.mu.Unlock()
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.awaiting.Store(false)
	}
	return n, err
}

// SetDeadline sets the deadline of reads and writes; zero ends it.
func (c *answeringConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hasDeadline = !t.IsZero()
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline sets the deadline of reads; zero ends it.
func (c *answeringConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hasDeadline = !t.IsZero()
	return c.Conn.SetReadDeadline(t)
}
