package outbound

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// body limits the size of a response body. It counts bytes after gunzip, so that
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

// readAll reads the body into memory. It allocates an announced length of up to
// 64 KiB at once; a larger Content-Length is not trusted.
func readAll(resp *http.Response) ([]byte, error) {
	n := resp.ContentLength
	if n < 0 || n > 64<<10 {
		return io.ReadAll(resp.Body)
	}
	var buf bytes.Buffer
	buf.Grow(int(n) + bytes.MinRead) // MinRead: room for the read that finds the end
	_, err := buf.ReadFrom(resp.Body)
	return buf.Bytes(), err
}
