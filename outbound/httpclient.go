package outbound

import (
	"net/http"
	"time"
)

// ClientOptions are the limits of an http.Client; the fields have the same meaning
// as in Request. Only the context bounds the duration of a whole call: the Timeout
// of http.Client would hide this package's errors.
type ClientOptions struct {
	Provider         bool
	MaxRedirects     int
	SecretHeaders    []string
	FirstByteTimeout time.Duration
	MaxBody          int64
}

// HTTPClient returns a client for code that needs one of net/http, such as package
// providers, which reads streams. It has the same guard, follows the same redirects
// and shares the idle connections. Its errors are the *url.Error of
// net/http around an *Error, and so are those of reading a body: use errors.As.
func (c *Client) HTTPClient(opts ClientOptions) *http.Client {
	h := c.newHop(Request{
		Provider:         opts.Provider,
		MaxRedirects:     opts.MaxRedirects,
		SecretHeaders:    opts.SecretHeaders,
		FirstByteTimeout: opts.FirstByteTimeout,
		MaxBody:          opts.MaxBody,
	})
	return h.httpClient()
}
