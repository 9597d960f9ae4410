package outbound

import "context"

// calls holds the callbacks for requests sent with a context.
type calls struct {
	before  func(context.Context) error
	working func(bool)
}

// callsKey is the context key of the callbacks that WithCalls sets. Its own type keeps
// it from colliding with keys of other packages.
type callsKey struct{}

// WithCalls returns a context that reports its requests. Each hop of a request
// calls before; an error stops it. working is called with false when a request
// waits for the network and with true when data has arrived for the caller to
// process. Both must be safe for concurrent use.
func WithCalls(ctx context.Context, before func(context.Context) error, working func(bool)) context.Context {
	return context.WithValue(ctx, callsKey{}, &calls{before, working})
}

// Report calls working for times without a request: during a pause, or while
// another process does the work.
func Report(ctx context.Context, working bool) { callsOf(ctx).report(working) }

// callsOf returns the callbacks of the context, or nil if it has none. All methods
// accept a nil receiver and do nothing then.
func callsOf(ctx context.Context) *calls {
	c, _ := ctx.Value(callsKey{}).(*calls)
	return c
}

// ask returns the error that prevents a request, if any.
func (c *calls) ask(ctx context.Context) error {
	if c == nil {
		return nil
	}
	if err := c.before(ctx); err != nil {
		return &Error{Class: ClassCanceled, Message: "The request was not sent: another worker may have taken over.", retryable: true, cause: err}
	}
	return nil
}

// report reports whether the caller is processing data or waiting for the network.
func (c *calls) report(working bool) {
	if c != nil {
		c.working(working)
	}
}
