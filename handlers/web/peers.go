package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"sluice/flow"
)

// loaded is the session that a request came with, by the hash of its token.
type requestSession struct{ token string }

// loadedOf is nil outside of requests.
func requestSessionOf(ctx context.Context) *requestSession {
	l, _ := ctx.Value(requestSession{}).(*requestSession)
	return l
}

// peer is where the address of who asks is kept in a context.
type peer struct{}

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

func peerOf(ctx context.Context) string {
	ip, _ := ctx.Value(peer{}).(string)
	return ip
}

// IP is the address that asks. What a header says of it could be made up.
func (c *Call) IP() string { return peerOf(c.Ctx()) }

// RateLimitKey maps an address to its rate-limit bucket.
func RateLimitKey(ip string) string { return flow.RateLimitKey(ip) }

// IsLoopback reports whether a host name or address is that of this machine.
func IsLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.IsLoopback()
}
