// Package worktime limits how long a step works. Waiting in a queue of this server, for a processor or for memory, does not
// count: how long it takes depends on what others do. It must not know steps or queues.
package worktime

import (
	"context"
	"errors"
	"sync"
	"time"
)

// limited is a context with a clock. Its deadline moves when the clock stops, therefore it is no context.WithDeadline.
type limited struct {
	context.Context
	clock *clock
}

// Deadline returns when the context ends if nothing has to wait until then.
func (l limited) Deadline() (time.Time, bool) {
	own := l.clock.deadline()
	if of, ok := l.Context.Deadline(); ok && of.Before(own) {
		return of, true
	}
	return own, true
}

// Value returns the clock for its key.
func (l limited) Value(key any) any {
	if key == (clockKey{}) {
		return l.clock
	}
	return l.Context.Value(key)
}

type clockKey struct{}

// clock counts working time.
type clock struct {
	mu      sync.Mutex
	left    time.Duration // when it was started or stopped last
	since   time.Time     // start of the current work
	waiting int           // how many calls of Wait have not ended
	timer   *time.Timer
}

// WithLimit returns a context that ends after d of work, with context.DeadlineExceeded as its cause. stop releases its timer.
func WithLimit(parent context.Context, d time.Duration) (ctx context.Context, stop context.CancelFunc) {
	inner, cancel := context.WithCancelCause(parent)
	c := &clock{left: d, since: time.Now()}
	c.timer = time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return limited{inner, c}, func() {
		cancel(context.Canceled)
		c.timer.Stop()
	}
}

// Expired reports whether a context has ended because of its limit, or of another deadline.
func Expired(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded)
}

// Wait stops the clock of a context, if it has one, until resume is called.
func Wait(ctx context.Context) (resume func()) {
	c, ok := ctx.Value(clockKey{}).(*clock)
	if !ok {
		return func() {}
	}
	c.stop()
	return sync.OnceFunc(c.start)
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 {
		c.timer.Stop() // if it has just fired, the context has ended
		c.left -= time.Since(c.since)
	}
}

func (c *clock) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting--; c.waiting == 0 {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

func (c *clock) deadline() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting > 0 {
		return time.Now().Add(max(c.left, 0))
	}
	return c.since.Add(c.left)
}
