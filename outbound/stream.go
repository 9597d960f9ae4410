package outbound

import (
	"context"
	"io"
	"net/http"
)

// Stream is a response whose body has not been read yet. Body must be closed. Its
// errors are *Error, of ClassTooLarge beyond MaxBody.
type Stream struct {
	Status int
	Header http.Header
	Length int64 // announced size in bytes; -1 if unknown
	URL    string
	Body   io.ReadCloser
}

// Stream sends the request like Do and returns as soon as the response begins, so
// that a large body does not have to fit in memory. Every error is an *Error. The
// time limit applies until the body is closed; Truncate is ignored.
func (c *Client) Stream(ctx context.Context, req Request) (*Stream, error) {
	ctx, cancel := bound(ctx, req.Timeout)
	resp, h, err := c.send(ctx, req)
	if err == nil && tells(resp, h.maxBody) {
		_ = resp.Body.Close() // rejected without reading it
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

// streamBody cancels the context of the call when the body is closed.
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

// tells reports whether a response announces a body that exceeds the limit. The
// response to a HEAD request has a length but no body.
func tells(resp *http.Response, limit int64) bool {
	return resp.ContentLength > limit && resp.Request.Method != http.MethodHead
}
