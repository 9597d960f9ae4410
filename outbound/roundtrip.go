package outbound

import (
	"net/http"
	"strings"
	"time"
)

// hop holds the limits of one request for http.Client. It is the client's transport
// and redirect policy, so that each hop of a redirect passes the same checks as the
// first.
type hop struct {
	client    *Client
	provider  bool
	redirects int
	firstByte time.Duration
	maxBody   int64
	secret    []string
	keepBody  bool // the body must not leave the host
}

// RoundTrip checks the URL, sends the request and limits the response. Every
// error is an *Error.
func (h *hop) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := h.client.guard.checkTarget(req.URL, h.provider); err != nil {
		closeBody(req)
		return nil, err
	}
	calls := callsOf(req.Context())
	if err := calls.ask(req.Context()); err != nil {
		closeBody(req)
		return nil, err
	}
	calls.report(false)
	ctx, wait := startFirstByte(req.Context(), h.firstByte)
	resp, err := h.transport().RoundTrip(onceOnly(withoutEncoding(req.WithContext(ctx))))
	wait.arrived()
	if err != nil {
		failure := classify(ctx, err, req.URL.Hostname())
		wait.end()
		return nil, failure
	}
	calls.report(true)
	resp.Body = &body{
		ReadCloser: resp.Body, ctx: ctx, wait: wait, calls: calls,
		host: req.URL.Hostname(), limit: h.maxBody, left: h.maxBody,
	}
	resp.Request = req
	return resp, nil
}

// transport returns the transport for the request: that of providers may also reach the
// private endpoints of local model servers.
func (h *hop) transport() *http.Transport {
	if h.provider {
		return h.client.provider
	}
	return h.client.public
}

// httpClient returns a client whose transport and redirect policy are h. It has no
// timeout, because the context bounds the request with all its redirects.
func (h *hop) httpClient() *http.Client {
	return &http.Client{Transport: h, CheckRedirect: h.checkRedirect}
}

// withoutEncoding leaves compression to the transport, which requests gzip and
// decompresses the body as it is read, so that the limit applies to the
// decompressed body.
func withoutEncoding(req *http.Request) *http.Request {
	if _, ok := req.Header["Accept-Encoding"]; ok {
		req.Header = req.Header.Clone()
		req.Header.Del("Accept-Encoding")
	}
	return req
}

// onceOnly keeps net/http from sending a request a second time. It treats an
// Idempotency-Key header as permission to retry when a reused connection breaks,
// but few servers support the header, and the others would act, or charge, twice.
// net/http looks for the canonical spelling, and header names are case-insensitive
// (RFC 9110, section 5.1), so another spelling hides the header from it.
func onceOnly(req *http.Request) *http.Request {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := req.Header[name]; ok {
			req.Header = req.Header.Clone()
			delete(req.Header, name)
			req.Header[strings.ToLower(name)] = values
		}
	}
	return req
}

// closeBody closes the request body, which http.RoundTripper must do on errors too.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // nothing was sent, so the error is irrelevant
	}
}
