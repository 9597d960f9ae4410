package outbound

import (
	"context"
	"io"
	"net/http"
)

// Stream is an answer whose body is still to be read. Body must be closed; its
// errors are *Error, one beyond MaxBody is KindTooLarge.
type Stream struct {
	Status int
	Header http.Header
	Length int64 // bytes as the server announced them, -1 when it did not
	URL    string
	Body   io.ReadCloser
}

// Stream sends the request like Do and returns as soon as the answer begins, so
// that a large body need not fit into the memory. Every error is an *Error. The
// time limit holds until the body is closed; Truncate is not heeded.
func (c *Client) Stream(ctx context.Context, req Request) (*Stream, error) {
	ctx, cancel := bound(ctx, req.Timeout)
	resp, h, err := c.send(ctx, req)
	if err == nil && tells(resp, h.maxBody) {
		_ = resp.Body.Close() // refused unread
		err = tooLarge(resp.Request.URL.Hostname(), h.maxBody)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &Stream{
		Status: resp.StatusCode, Header: resp.Header, Length: resp.ContentLength,
		URL: resp.Request.URL.String(), Body: &streamBody{resp.Body, cancel},
	}, nil
}

// streamBody ends the call's context together with the body.
type streamBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close closes the body and cancels the context of the request, which had to live for
// as long as the body was read.
func (b *streamBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel()
	return err
}

// tells reports whether an answer itself says that its body exceeds the limit.
// That of a HEAD request is a length without a body.
func tells(resp *http.Response, limit int64) bool {
	return resp.ContentLength > limit && resp.Request.Method != http.MethodHead
}
