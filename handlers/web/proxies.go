package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the reverse proxies whose client-IP header is trusted.
type Proxies struct {
	trusted []netip.Prefix
	header  string // that carries the addresses, such as X-Forwarded-For
}

// ParseProxies parses a list of networks or addresses, such as "10.0.0.0/8,
// fdaa::/16". An empty list trusts no proxy.
func ParseProxies(list, header string) (*Proxies, error) {
	p := &Proxies{header: http.CanonicalHeaderKey(strings.TrimSpace(header))}
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if address, e := netip.ParseAddr(text); e == nil {
			prefix, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", text)
		}
		p.trusted = append(p.trusted, prefix.Masked())
	}
	return p, nil
}

// Behind returns a handler that sets RemoteAddr of requests from trusted proxies to
// the address of the client. All other headers of such requests are as untrusted as
// before.
func (p *Proxies) Behind(h http.Handler) http.Handler {
	if len(p.trusted) == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client, ok := p.client(r); ok {
			r = r.WithContext(r.Context()) // a copy
			r.RemoteAddr = net.JoinHostPort(client.String(), "0")
		}
		h.ServeHTTP(w, r)
	})
}

// client returns the last address in the header that is not a trusted proxy. Each
// proxy appends the address it got the request from, so everything before that may
// be forged by the client.
func (p *Proxies) client(r *http.Request) (found netip.Addr, ok bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !p.trusts(peer.Addr()) {
		return found, false
	}
	chain := strings.Split(strings.Join(r.Header.Values(p.header), ","), ",")
	for _, text := range slices.Backward(chain) {
		address, err := parseForwarded(text)
		if err != nil {
			return found, ok
		}
		found, ok = address, true
		if !p.trusts(address) {
			return found, true
		}
	}
	return found, ok
}

// trusts reports whether an address is that of a trusted proxy. An IPv4 address in IPv6
// form counts as IPv4.
func (p *Proxies) trusts(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(p.trusted, func(t netip.Prefix) bool { return t.Contains(a) })
}

// parseForwarded parses an address, to which some proxies add a port.
func parseForwarded(text string) (netip.Addr, error) {
	text = strings.TrimSpace(text)
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap(), nil
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return a.Unmap(), err
}
