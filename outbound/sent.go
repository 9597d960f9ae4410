package outbound

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
)

// TraceSent returns a context to make a request with, and a function that reports whether that
// request was written. The server may then have acted on it even if no response came.
func TraceSent(ctx context.Context) (traced context.Context, sent func() bool) {
	var written atomic.Bool // set in a goroutine of net/http
	trace := &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) { written.Store(info.Err == nil) }}
	return httptrace.WithClientTrace(ctx, trace), written.Load
}
