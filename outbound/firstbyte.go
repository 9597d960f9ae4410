package outbound

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// firstByteError is the cause of a context that was canceled because the server did not
// respond in time.
type firstByteError time.Duration

// Error states the limit that was exceeded.
func (e firstByteError) Error() string { return "no response within " + time.Duration(e).String() }

// firstByte cancels a request's context if no response begins in time. It replaces
// Transport.ResponseHeaderTimeout, which applies to a whole pool of connections:
// here, requests with different limits share a pool.
type firstByte struct {
	limit  time.Duration
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	done  bool
}

// startFirstByte returns the context to send the request with. The timer starts
// when the request has been written; until then, the dial and TLS timeouts and the
// context apply.
func startFirstByte(ctx context.Context, limit time.Duration) (context.Context, *firstByte) {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &firstByte{limit: limit, cancel: cancel}
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { f.wrote() }}
	return httptrace.WithClientTrace(ctx, trace), f
}

// wrote starts the timer. It can be called more than once, for each connection that
// the transport tries, and after the response if the server did not wait for the
// body.
func (f *firstByte) wrote() {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.done:
	case f.timer == nil:
		f.timer = time.AfterFunc(f.limit, func() { f.cancel(firstByteError(f.limit)) })
	default:
		f.timer.Reset(f.limit)
	}
}

// arrived stops the timer. The context stays valid while the body is read.
func (f *firstByte) arrived() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = true
	if f.timer != nil {
		f.timer.Stop()
	}
}

// end releases the context when the body is no longer read.
func (f *firstByte) end() { f.cancel(nil) }
