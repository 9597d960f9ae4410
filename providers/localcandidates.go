package providers

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// candidate is an address where a server of a preset may listen.
type candidate struct {
	preset string
	origin string // http://127.0.0.1:11434
	addr   netip.AddrPort
	name   string // host name in OLLAMA_HOST to resolve, if any
	port   uint16
}

// candidates returns the local presets at their default ports, except Ollama, which is at
// OLLAMA_HOST if that is set. They never include Sluice itself.
func candidates(cfg FinderConfig) []candidate {
	var list []candidate
	for _, p := range localPresets {
		c, ok := defaultCandidate(p, cfg.ports)
		if p.Name == nameOllama && strings.TrimSpace(cfg.OllamaHost) != "" {
			c, ok = ollamaCandidate(cfg.OllamaHost)
		}
		if ok && !isSelf(c.addr, cfg.Self) {
			list = append(list, c)
		}
	}
	return list
}

// defaultCandidate returns the server at a preset's own address, on another port if the
// configuration has one. It returns false for presets without an IP address in their
// URL: they are not local servers.
func defaultCandidate(p Preset, ports map[string]uint16) (candidate, bool) {
	u, err := url.Parse(p.BaseURL)
	if err != nil {
		return candidate{}, false
	}
	addr, err := netip.ParseAddrPort(u.Host)
	if port, ok := ports[p.Name]; ok {
		addr = netip.AddrPortFrom(addr.Addr(), port)
	}
	return candidate{preset: p.Name, origin: "http://" + addr.String(), addr: addr}, err == nil
}

// isSelf reports whether Sluice listens on an address, including by listening on all
// addresses of the machine.
func isSelf(addr netip.AddrPort, self []netip.AddrPort) bool {
	return slices.ContainsFunc(self, func(s netip.AddrPort) bool {
		same := s.Addr().Unmap() == addr.Addr().Unmap() || s.Addr().IsUnspecified() || s.Addr().IsLoopback() && addr.Addr().IsLoopback()
		return s.Port() == addr.Port() && (same || !s.Addr().IsValid())
	})
}

// ollamaCandidate parses OLLAMA_HOST in the forms that Ollama accepts: host, host:port,
// :port, http://host:port. The unspecified address means this machine. A name other than
// localhost is resolved before each search, because its address may change.
func ollamaCandidate(value string) (candidate, bool) {
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	scheme, rest, ok := strings.Cut(value, "://")
	port := "11434"
	switch {
	case !ok:
		scheme, rest = "http", value
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	default:
		return candidate{}, false
	}
	rest, _, _ = strings.Cut(rest, "/")
	host, given := splitHost(rest)
	port = cmp.Or(given, port)
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return candidate{}, false
	}
	return hostCandidate(scheme, host, uint16(number))
}

// splitHost splits an address into host and port. Unlike net.SplitHostPort it accepts a
// missing port, which is "" then, and IPv6 addresses without brackets.
func splitHost(s string) (host, port string) {
	if addr, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return addr.String(), ""
	}
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, ""
	}
	return strings.Trim(s[:i], "[]"), s[i+1:]
}

// hostCandidate returns the server at a host that a user named, as in OLLAMA_HOST. An
// unspecified address such as 0.0.0.0 is one to listen on, so loopback is used instead.
// A name is not resolved here.
func hostCandidate(scheme, host string, port uint16) (candidate, bool) {
	c := candidate{preset: nameOllama}
	if host == "" || strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	addr, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		c.origin, c.name, c.port = scheme+"://"+host+":"+strconv.Itoa(int(port)), host, port
		_, err := url.Parse(c.origin)
		return c, err == nil
	case addr.IsUnspecified() && addr.Is6():
		addr = netip.IPv6Loopback()
	case addr.IsUnspecified():
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	c.addr = netip.AddrPortFrom(addr, port)
	c.origin = scheme + "://" + c.addr.String()
	return c, true
}
