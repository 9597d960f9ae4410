package outbound

import (
	"net/http"
	"strings"
	"time"

	"sluice/flow/position"
	"sluice/flow/trace"
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
	req = validQuery(req)
	req, err := h.client.markCaller(req)
	if err != nil {
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
	resp, err := h.transport().RoundTrip(traced(onceOnly(acceptCodings(req.WithContext(ctx)))))
	wait.arrived()
	if err != nil {
		failure := classify(ctx, err, req.URL.Hostname())
		wait.end()
		return nil, failure
	}
	calls.report(true)
	resp.Request = req
	decode(resp, req.Method, h.maxBody)
	resp.Body = &body{
		ReadCloser: resp.Body, ctx: ctx, wait: wait, calls: calls,
		host: req.URL.Hostname(), limit: h.maxBody, left: h.maxBody,
	}
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

// validQuery percent-encodes what the query of a URL cannot hold, because net/http sends it as
// it is. URLs that ParseURL returned are valid; this is for those of redirects and of
// callers with an http.Request.
func validQuery(req *http.Request) *http.Request {
	if valid := position.TypedQuery(req.URL.RawQuery); valid != req.URL.RawQuery {
		u := *req.URL
		u.RawQuery = valid
		req = req.WithContext(req.Context()) // a shallow copy
		req.URL = &u
	}
	return req
}

// acceptCodings asks for gzip, which every server offers; what the server sends is decoded
// whatever it is (coding.go). A part of an encoded body could not be decoded, so requests
// for a range ask for none.
func acceptCodings(req *http.Request) *http.Request {
	accepted := "gzip"
	if req.Header.Get("Range") != "" || req.Method == http.MethodHead {
		accepted = "identity"
	}
	req.Header = req.Header.Clone()
	req.Header.Set("Accept-Encoding", accepted)
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

// traced adds the trace context of a request's context, unless the request has one of its own. The header map must be a copy.
func traced(req *http.Request) *http.Request {
	if header := trace.HeaderOf(req.Context()); header != "" && req.Header.Get("Traceparent") == "" {
		req.Header.Set("Traceparent", header)
	}
	return req
}

// closeBody closes the request body, which http.RoundTripper must do on errors too.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // nothing was sent, so the error is irrelevant
	}
}
