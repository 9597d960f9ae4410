package outbound

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"sluice/flow/caller"
)

// own is the server that the client belongs to.
type own struct {
	url *url.URL
	key []byte
}

// SetOwn tells the client the public URL of its own server and the key that signs the header of package caller. Requests of runs to
// that URL carry the header from then on.
func (c *Client) SetOwn(publicURL string, key []byte) error {
	u, err := url.Parse(publicURL)
	if err != nil {
		return err
	}
	c.own.Store(&own{u, key})
	return nil
}

// markCaller sets the header of a request that a run sends to its own server, and removes it from every other one: a flow cannot
// choose it. It is called for each hop of a redirect.
func (c *Client) markCaller(req *http.Request) (*http.Request, error) {
	value, own := "", c.own.Load()
	if find := caller.Sender(req.Context()); find != nil && own != nil && own.serves(req.URL) {
		sender, err := find(req.Context())
		if err != nil {
			return req, &Error{Class: ClassConnection, Message: "The request was not sent: the run that sends it could not be read.", retryable: true, cause: err}
		}
		value = sender.Sign(own.key)
	}
	if value == "" && req.Header[caller.Header] == nil {
		return req, nil
	}
	req = req.WithContext(req.Context()) // a shallow copy
	req.Header = req.Header.Clone()
	if req.Header.Del(caller.Header); value != "" {
		req.Header.Set(caller.Header, value)
	}
	return req, nil
}

// serves reports whether a URL is the address of the server. The loopback interface has several names.
func (o *own) serves(u *url.URL) bool {
	if port(u) != port(o.url) {
		return false
	}
	host, named := strings.ToLower(u.Hostname()), strings.ToLower(o.url.Hostname())
	return host == named || isLoopback(host) && isLoopback(named)
}

// isLoopback reports whether a host is a name of the loopback interface.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.Unmap().IsLoopback()
}

// port returns the port of a URL, also if it is the default of its scheme.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
