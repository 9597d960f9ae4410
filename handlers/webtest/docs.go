package webtest

import (
	"net/http"
	"testing"
)

// On is the same browser that reports to a test of its own.
func (b *Browser) On(t *testing.T) *Browser {
	other := *b
	other.T = t
	return &other
}

// Asking is the same browser that sends one header more.
func (b *Browser) Asking(name, value string) *Browser {
	other, client := *b, *b.Client
	client.Transport = withHeader{name, value}
	other.Client = &client
	return &other
}

type withHeader struct{ name, value string }

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set(h.name, h.value)
	return http.DefaultTransport.RoundTrip(r)
}
