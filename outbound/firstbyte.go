package outbound

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// firstByteError is the cause of a context ended by a server that stayed silent.
type firstByteError time.Duration

// Error states the limit that passed without the first byte of an answer.
func (e firstByteError) Error() string { return "no answer within " + time.Duration(e).String() }

// firstByte ends a request's context if no answer begins in time. The transport
// has such a timer of its own, but one per pool of connections, and requests
// with different patience share a pool here.
type firstByte struct {
	limit  time.Duration
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	done  bool
}

// startFirstByte returns the context to send the request with. The timer starts
// when the request has been written; until then the dial and TLS limits and the
// context hold.
func startFirstByte(ctx context.Context, limit time.Duration) (context.Context, *firstByte) {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &firstByte{limit: limit, cancel: cancel}
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { f.wrote() }}
	return httptrace.WithClientTrace(ctx, trace), f
}

// wrote can come more than once, for each connection the transport tries, and
// after the answer if the server did not wait for the body.
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

// arrived stops the timer; the context lives on while the body is read.
func (f *firstByte) arrived() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = true
	if f.timer != nil {
		f.timer.Stop()
	}
}

// end releases the context once nothing more is read.
func (f *firstByte) end() { f.cancel(nil) }
