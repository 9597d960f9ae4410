package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are who is believed when they say for whom they ask.
type Proxies struct {
	trusted []netip.Prefix
	header  string // that they say it in
}

// ParseProxies reads networks such as "10.0.0.0/8, fdaa::/16", or addresses.
// None at all trusts nobody: then who asks is who connects.
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

// Behind is the handler as it sees requests that came through the proxies: from
// the address that they name. Nothing else of such a request is believed.
func (p *Proxies) Behind(h http.Handler) http.Handler {
	if len(p.trusted) == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client, ok := p.client(r); ok {
			r = r.WithContext(r.Context()) // the server keeps its own
			r.RemoteAddr = net.JoinHostPort(client.String(), "0")
		}
		h.ServeHTTP(w, r)
	})
}

// client is the nearest address that is not a trusted proxy: each proxy adds at
// the end whom it heard, and what stands before that anybody may have written.
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

func (p *Proxies) trusts(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(p.trusted, func(t netip.Prefix) bool { return t.Contains(a) })
}

// parseForwarded reads an address, which some proxies write with a port.
func parseForwarded(text string) (netip.Addr, error) {
	text = strings.TrimSpace(text)
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap(), nil
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return a.Unmap(), err
}
