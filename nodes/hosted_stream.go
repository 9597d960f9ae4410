package nodes

import (
	"context"
	"sync/atomic"
	"time"

	"sluice/outbound"
	"sluice/providers/hosted"
)

// listener passes on the text of a prediction while it is generated. The text
// is only a preview: if the stream breaks off, the output still has all of it.
type listener struct {
	cancel context.CancelFunc
	closed chan struct{} // closed after the last text was passed on
	done   chan struct{} // closed, set to nil after wait has seen it; nil without a stream
	last   atomic.Int64  // time of the last text in nanoseconds since 1970
}

// listen follows the stream of a prediction that outputs text.
func (s *hostedStep) listen(ctx context.Context) *listener {
	l := &listener{}
	if s.state.stream == "" || s.state.kind != hosted.OutputText || s.state.rests > 0 {
		return l
	}
	ctx, l.cancel = context.WithCancel(ctx)
	l.closed = make(chan struct{})
	l.done = l.closed
	go func() {
		defer close(l.closed)
		_ = s.host.Stream(ctx, s.m.access.Secret, s.state.stream, func(text string) { // polling continues anyway
			l.last.Store(time.Now().UnixNano())
			s.in.Emit(text)
		})
	}()
	return l
}

// stop ends the stream and returns after the last text was passed on.
func (l *listener) stop() {
	if l.cancel != nil {
		l.cancel()
		<-l.closed
	}
}

// isActive reports whether text arrived within the given duration before now.
func (l *listener) isActive(within time.Duration) bool {
	return l.done != nil && time.Since(time.Unix(0, l.last.Load())) < within
}

// wait returns after d, or when the stream ends, which usually means that the
// prediction has ended.
func (l *listener) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	outbound.Report(ctx, false)
	select {
	case <-timer.C:
	case <-l.done:
		l.done = nil
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
