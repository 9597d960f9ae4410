package webtest

import (
	"net/http"
	"testing"
)

// On returns a copy of the browser that reports failures to t, usually a subtest. The
// copies share their cookies.
func (b *Browser) On(t *testing.T) *Browser {
	other := *b
	other.T = t
	return &other
}

// WithHeader returns a copy of the browser that adds a header to each request.
func (b *Browser) WithHeader(name, value string) *Browser {
	other, client := *b, *b.Client
	client.Transport = withHeader{name, value}
	other.Client = &client
	return &other
}

// withHeader is a transport that adds a header to each request.
type withHeader struct{ name, value string }

// RoundTrip implements http.RoundTripper.
func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set(h.name, h.value)
	return http.DefaultTransport.RoundTrip(r)
}
