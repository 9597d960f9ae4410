package outbound

import "context"

// calls are what a context's owner wants to know of the requests sent with it.
type calls struct {
	before  func(context.Context) error
	working func(bool)
}

type callsKey struct{}

// WithCalls returns a context that makes its requests known. Each hop of a
// request calls before; an error keeps it from being sent. working is told
// false when a request waits for the network and true when something arrived
// that the caller now works on. Both must be safe for concurrent use.
func WithCalls(ctx context.Context, before func(context.Context) error, working func(bool)) context.Context {
	return context.WithValue(ctx, callsKey{}, &calls{before, working})
}

// Report tells the owner of the context whether the caller works or waits, where
// no request can tell: during a pause, or while another process has the work.
func Report(ctx context.Context, working bool) { callsOf(ctx).report(working) }

func callsOf(ctx context.Context) *calls {
	c, _ := ctx.Value(callsKey{}).(*calls)
	return c
}

// ask returns the error that keeps a request from being sent.
func (c *calls) ask(ctx context.Context) error {
	if c == nil {
		return nil
	}
	if err := c.before(ctx); err != nil {
		return &Error{Kind: KindCanceled, Message: "The request was not sent: another worker may have taken over.", retryable: true, cause: err}
	}
	return nil
}

func (c *calls) report(working bool) {
	if c != nil {
		c.working(working)
	}
}
