package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"sluice/flow"
	"sluice/flow/inflight"
)

// memoryPerByte is how many bytes of memory a byte of a form takes: its values, their copies, and
// what texts that are JSON take once they are decoded.
const memoryPerByte = 12

// memoryPatience is how long a request waits for memory that others have.
const memoryPatience = 10 * time.Second

// TakeMemory takes memory for a request, unless it is small. It returns flow.ErrMemoryBusy if others
// have it for longer than a client should wait.
func TakeMemory(ctx context.Context, memory *inflight.Hold, bytes int64) error {
	if bytes <= inflight.Small {
		return nil
	}
	return takePatiently(ctx, memory.Limit(), func(ctx context.Context) error { return memory.Take(ctx, bytes) })
}

// TakeBody is TakeMemory for decoding a body as JSON.
func TakeBody(ctx context.Context, memory *inflight.Hold, body *inflight.Body) error {
	n := body.Decoding()
	if n <= inflight.Small {
		return nil
	}
	return takePatiently(ctx, memory.Budget().EachBody(), func(ctx context.Context) error { return memory.TakeBody(ctx, n) })
}

// takePatiently waits for memory for a while. limit is how much take may take, in bytes.
func takePatiently(ctx context.Context, limit int64, take func(context.Context) error) error {
	patient, cancel := context.WithTimeout(ctx, memoryPatience)
	defer cancel()
	switch err := take(patient); {
	case errors.Is(err, inflight.ErrTooLarge):
		return ErrTakesTooMuch(limit)
	case err != nil && ctx.Err() == nil:
		return flow.ErrMemoryBusy
	default:
		return err
	}
}

// ErrTakesTooMuch returns the error for a body that takes more memory than limit, in bytes.
func ErrTakesTooMuch(limit int64) error {
	return flow.Errorf(flow.CodeBodyTooLarge, "Decoding the body takes more than %s of memory, which is what one request may have on this server.", flow.Size(limit))
}

// TakeMemory takes memory until the end of the request.
func (c *Call) TakeMemory(bytes int64) error { return TakeMemory(c.Ctx(), c.memory, bytes) }

// ReadBody reads a body of at most limit bytes, and takes the memory for what it contains.
func (c *Call) ReadBody(limit int64) ([]byte, error) {
	body, err := c.s.Memory.Receive(http.MaxBytesReader(c.Response(), c.Request().Body, limit), true)
	if body != nil {
		defer body.Close()
	}
	if err != nil {
		return nil, err
	}
	if err := TakeBody(c.Ctx(), c.memory, body); err != nil {
		return nil, err
	}
	return body.Bytes()
}

// ReadPart reads a part of a form, at most limit bytes. A large part is received into a file before the
// memory for what it contains is taken, so that a slow client occupies none.
func (c *Call) ReadPart(part io.Reader, limit int64) ([]byte, error) {
	body, err := c.s.Memory.Receive(io.LimitReader(part, limit), false)
	if body != nil {
		defer body.Close()
	}
	if err != nil {
		return nil, err
	}
	n := memoryPerByte * body.Size
	if body.LooksLikeJSON() {
		n = max(n, 2*body.Size+body.Cost.Heap)
	}
	if err := c.TakeMemory(n); err != nil {
		return nil, err
	}
	return body.Bytes()
}

// LeaseFor returns a context whose readers of the store take memory for what they decode.
func LeaseFor(ctx context.Context, memory *inflight.Hold) context.Context {
	return inflight.WithLease(ctx, memory.Lease(ctx).Patient(memoryPatience))
}

// openMemory lets the request take memory: for the workspace of the user or, on open pages, for the
// address of the client.
func (c *Call) openMemory() {
	if c.s.Memory == nil {
		return
	}
	group := RemoteIP(c.Request())
	if c.Member != nil {
		group = string(c.Member.WorkspaceID)
	}
	c.memory = c.s.Memory.Open(group)
	c.SetRequest(c.Request().WithContext(LeaseFor(c.Ctx(), c.memory)))
}

// release returns what the request took.
func (c *Call) release() {
	for _, body := range c.received {
		body.Close()
	}
	c.memory.Close()
}
