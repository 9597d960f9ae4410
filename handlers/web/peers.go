package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"sluice/flow/fairness"
)

// requestSession is the session of a request, in its context. token is a hash.
type requestSession struct{ token string }

// requestSessionOf returns the session of a request context, or nil for any other context.
func requestSessionOf(ctx context.Context) *requestSession {
	s, _ := ctx.Value(requestSession{}).(*requestSession)
	return s
}

// peer is the context key of the client address.
type peer struct{}

// withPeer adds the client address and an empty requestSession to the context of a request.
func withPeer(r *http.Request) *http.Request {
	ctx := context.WithValue(r.Context(), peer{}, RemoteIP(r))
	return r.WithContext(context.WithValue(ctx, requestSession{}, &requestSession{}))
}

// RemoteIP returns the address of the client, without its port.
func RemoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// peerOf returns the IP address of the client, which withPeer put into the context, or "".
func peerOf(ctx context.Context) string {
	ip, _ := ctx.Value(peer{}).(string)
	return ip
}

// IP returns the address of the client. It does not read headers: Proxies has replaced
// the address if a trusted proxy forwarded the request.
func (c *Call) IP() string { return peerOf(c.Ctx()) }

// RateLimitKey is fairness.RateLimitKey, which maps an IP address to its rate-limit bucket.
func RateLimitKey(ip string) string { return fairness.RateLimitKey(ip) }

// IsLoopback reports whether a host name or address is that of this machine.
func IsLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.IsLoopback()
}
