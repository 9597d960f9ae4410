package outbound

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Request is one call. Only URL is required.
type Request struct {
	Method string // default GET
	URL    string
	// Header is sent unchanged, without the headers that control the connection
	// (Connection, Upgrade, Host, Accept-Encoding and similar ones). The map is
	// not modified.
	Header http.Header
	// Body is sent if BodyReader is nil, and again on a redirect, unless that
	// changes the request to a GET: 303, and 301 or 302 of a POST.
	Body []byte
	// BodyReader streams a body of BodyLength bytes; 0 means unknown and sends
	// it in chunks. It cannot be sent twice: a 307 or 308 is returned as the
	// response, and a 301 or 302 that keeps the method is an error. It is closed
	// if it is an io.Closer.
	BodyReader io.Reader
	BodyLength int64

	// MaxRedirects is how many redirects are followed, at most the constant
	// MaxRedirects. With 0, a 3xx is returned like any other response, so that a
	// webhook delivery can log it and count it as a failure. Otherwise, exceeding
	// the limit is an error of ClassRedirect.
	MaxRedirects int
	// SecretHeaders are dropped when a redirect leaves the host, together with
	// every header whose name suggests a credential.
	SecretHeaders []string
	// SecretBody is set if the body contains a secret. A redirect that would
	// send it to another host is an error.
	SecretBody bool
	// Provider lets the request reach Config.AllowEndpoints and forbids
	// redirects. For requests to AI providers only.
	Provider bool

	// Timeout bounds the whole call, body included. Default: the context's
	// deadline, or DefaultTimeout if it has none.
	Timeout time.Duration
	// FirstByteTimeout is the maximum time from the end of the request to the first
	// byte of the response, for each redirect. Default: DefaultFirstByteTimeout.
	FirstByteTimeout time.Duration
	// MaxBody is the maximum size of the response body in bytes, after decoding.
	// Default: DefaultMaxBody. A larger body is an error of ClassTooLarge, or is
	// cut if Truncate is set.
	MaxBody  int64
	Truncate bool
}

// Response is a complete response with any status; the caller decides whether a
// status such as 404 is an error.
type Response struct {
	Status    int
	Header    http.Header
	Body      []byte
	Truncated bool   // the body was longer than MaxBody and has been cut
	URL       string // after redirects
}

// Do sends the request and reads the response. Every error is an *Error.
func (c *Client) Do(ctx context.Context, req Request) (*Response, error) {
	ctx, cancel := bound(ctx, req.Timeout)
	defer cancel()
	resp, h, err := c.send(ctx, req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // the response has been read; closing only returns the connection
	return readResponse(ctx, resp, h.maxBody, req.Truncate)
}

// send sends the request and returns the response as soon as it begins.
func (c *Client) send(ctx context.Context, req Request) (*http.Response, *hop, error) {
	hreq, err := c.newRequest(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	h := c.newHop(req)
	resp, err := h.httpClient().Do(hreq)
	if err != nil {
		return nil, nil, asError(err)
	}
	return resp, h, nil
}

// bound returns a context with a deadline: the timeout, or else that of ctx, or else
// DefaultTimeout.
func bound(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		if _, ok := ctx.Deadline(); ok {
			return ctx, func() {}
		}
		timeout = DefaultTimeout
	}
	return context.WithTimeout(ctx, timeout)
}

// newHop returns the state of a request that its redirects share. Redirects are never
// followed for providers, and limits that are not set get their defaults.
func (c *Client) newHop(req Request) *hop {
	h := &hop{
		client:    c,
		provider:  req.Provider,
		redirects: min(max(req.MaxRedirects, 0), MaxRedirects),
		firstByte: cmp.Or(max(req.FirstByteTimeout, 0), DefaultFirstByteTimeout),
		maxBody:   cmp.Or(max(req.MaxBody, 0), DefaultMaxBody),
		secret:    req.SecretHeaders,
		keepBody:  req.SecretBody,
	}
	if h.provider {
		h.redirects = 0
	}
	return h
}

// newRequest checks the URL, the method and the headers, and returns the first request.
// Redirected ones are made by http.Client.
func (c *Client) newRequest(ctx context.Context, req Request) (*http.Request, error) {
	u, err := ParseURL(req.URL)
	if err != nil {
		return nil, err
	}
	method := cmp.Or(req.Method, http.MethodGet)
	if err := checkMethod(method); err != nil {
		return nil, err
	}
	header, err := c.newHeader(req.Header)
	if err != nil {
		return nil, err
	}
	hreq := &http.Request{Method: method, URL: u, Host: u.Host, Header: header}
	setBody(hreq, req)
	return hreq.WithContext(ctx), nil
}

// setBody sets the body. Only a body in memory gets GetBody, with which net/http sends
// it again after a redirect that keeps the method.
func setBody(hreq *http.Request, req Request) {
	switch {
	case req.BodyReader != nil:
		hreq.Body, hreq.ContentLength = io.NopCloser(req.BodyReader), req.BodyLength
		if closer, ok := req.BodyReader.(io.ReadCloser); ok {
			hreq.Body = closer
		}
		if req.BodyLength <= 0 {
			hreq.ContentLength = -1
		}
	case len(req.Body) > 0:
		hreq.ContentLength = int64(len(req.Body))
		hreq.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(req.Body)), nil }
		hreq.Body, _ = hreq.GetBody()
	}
}

// readResponse reads the body up to the limit. A larger body is an error, even before
// it is read if Content-Length says so; with truncate it is cut at the limit.
func readResponse(ctx context.Context, resp *http.Response, limit int64, truncate bool) (*Response, error) {
	if tells(resp, limit) && !truncate {
		return nil, tooLarge(resp.Request.URL.Hostname(), limit) // by its Content-Length
	}
	data, err := readAll(ctx, resp)
	e, _ := errors.AsType[*Error](err)
	cut := e != nil && e.Class == ClassTooLarge && truncate
	if err != nil && !cut {
		return nil, err
	}
	return &Response{
		Status: resp.StatusCode, Header: resp.Header, Body: data, Truncated: cut,
		URL: resp.Request.URL.String(),
	}, nil
}
