package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"sluice/flow/inflight"
)

// body limits the size of a response body. It counts decoded bytes, so that
// a decompression bomb is read only up to the limit.
type body struct {
	io.ReadCloser
	ctx         context.Context
	wait        *firstByte
	calls       *calls
	host        string
	limit, left int64 // bytes
	err         error // the first error, returned by all later reads
}

// Read reads up to one byte more than is left, to distinguish a body of exactly
// the limit from a larger one.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	b.calls.report(false)
	n, err := b.ReadCloser.Read(p)
	b.calls.report(true)
	if int64(n) > b.left {
		n, err = int(b.left), tooLarge(b.host, b.limit)
	}
	b.left -= int64(n)
	if err != nil && err != io.EOF {
		err = classify(b.ctx, err, b.host)
	}
	b.err = err
	return n, err
}

// Close closes the body and releases the context of the request, which lives until the
// body has been read.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.wait.end()
	return err
}

// tooLarge returns the error for a body larger than limit, in bytes. Reading stops
// there, so the message cannot state the actual size.
func tooLarge(host string, limit int64) *Error {
	return &Error{Class: ClassTooLarge, Message: fmt.Sprintf("The answer of %s is larger than %s.", host, byteSize(limit))}
}

// byteSize formats a limit for messages: in MiB if it is a whole number of them, else
// in bytes.
func byteSize(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// readAll reads the body into memory. A large body is received into a file first, so that a slow
// server occupies no memory, and waits there until the step's lease has memory for it, and for the
// value if it is JSON. It returns what arrived before an error.
func readAll(ctx context.Context, resp *http.Response) ([]byte, error) {
	lease := inflight.LeaseOf(ctx)
	content, failed := lease.Budget().Receive(resp.Body, false)
	if content == nil {
		return nil, classify(ctx, failed, resp.Request.URL.Hostname())
	}
	defer content.Close()
	if err := lease.Take(memoryFor(content, resp.Header)); errors.Is(err, inflight.ErrTooLarge) {
		return nil, &Error{Class: ClassTooLarge, Message: fmt.Sprintf("The answer of %s needs more memory than one run may have on this server.", resp.Request.URL.Hostname())}
	} else if err != nil {
		return nil, classify(ctx, err, resp.Request.URL.Hostname())
	}
	data, err := content.Bytes()
	if err != nil {
		return nil, classify(ctx, err, resp.Request.URL.Hostname())
	}
	return data, failed
}

// memoryFor returns the bytes that a response takes: itself, its text, a copy of that while it is
// converted, and the value of JSON.
func memoryFor(content *inflight.Body, h http.Header) int64 {
	if content.Size < inflight.Small {
		return 0
	}
	n := 3 * content.Size
	if strings.Contains(h.Get("Content-Type"), "json") || content.LooksLikeJSON() {
		n += content.Cost.Heap
	}
	return n
}
