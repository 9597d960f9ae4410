package outbound

import (
	"net/netip"
	"sync/atomic"
	"syscall"

	"code.dny.dev/ssrf"
)

// neverReachable is blocked even if a configured range contains it. Metadata
// services return the machine's cloud credentials to any client.
var neverReachable = prefixes(
	"169.254.0.0/16",     // link-local (RFC 3927): AWS, Google, Azure, Oracle, DigitalOcean metadata, ECS and EKS roles
	"fe80::/10",          // link-local (RFC 4291)
	"fec0::/10",          // site-local, deprecated (RFC 3879)
	"100.100.100.200/32", // Alibaba Cloud metadata
	"168.63.129.16/32",   // Azure WireServer; a public address, so no other rule blocks it
	"192.0.0.192/32",     // Oracle Cloud Classic metadata
	"fd00:ec2::/32",      // AWS metadata, time and EKS roles over IPv6
	"fd20:ce::254/128",   // Google Cloud metadata over IPv6
	"fd00:42::42/128",    // Scaleway metadata over IPv6
)

// translated are IPv6 ranges whose addresses embed an IPv4 address. Except for
// NAT64 they are obsolete and only used to bypass filters.
var translated = prefixes(
	"::/96",           // IPv4-compatible (RFC 4291, deprecated)
	"::ffff:0:0/96",   // IPv4-mapped
	"::ffff:0:0:0/96", // IPv4-translated (RFC 2765)
	"64:ff9b:1::/48",  // local NAT64 (RFC 8215)
	"2001::/32",       // Teredo (RFC 4380)
	"2002::/16",       // 6to4 (RFC 3056)
)

// controlFunc is the type of net.Dialer.Control. It gets the resolved address after the
// socket was created and before it is connected.
type controlFunc = func(network, address string, conn syscall.RawConn) error

// guard decides which addresses may be reached. Its control functions run in the
// dialers, after DNS and before the connection.
type guard struct {
	ssrf      *ssrf.Guardian
	endpoints atomic.Pointer[map[netip.AddrPort]bool]
}

// newGuard returns a guard that permits the public Internet and the given ranges. The
// library takes the ranges separately for IPv4 and IPv6.
func newGuard(allow []netip.Prefix) *guard {
	var v4, v6 []netip.Prefix
	for _, p := range allow {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return &guard{ssrf: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))}
}

// setEndpoints replaces the private endpoints that requests to providers may reach,
// such as local model servers. It is safe for concurrent use with requests.
func (g *guard) setEndpoints(list []netip.AddrPort) {
	set := make(map[netip.AddrPort]bool, len(list))
	for _, e := range list {
		set[netip.AddrPortFrom(e.Addr().Unmap(), e.Port())] = true
	}
	g.endpoints.Store(&set)
}

// control returns the hook for a dialer. It allows only TCP to permitted addresses.
func (g *guard) control(provider bool) controlFunc {
	return func(network, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil || (network != "tcp4" && network != "tcp6") || !g.permits(target, provider) {
			return errBlocked
		}
		return nil
	}
}

// permits reports whether an address may be reached at all.
func (g *guard) permits(target netip.AddrPort, provider bool) bool {
	ip := target.Addr()
	if isNever(ip) {
		return false
	}
	if provider && g.isEndpoint(target) {
		return true
	}
	// In an IPv6-only network, DNS64 returns NAT64 addresses for all IPv4 hosts.
	// An operator can allow the range; the embedded IPv4 address is also checked.
	if inner, ok := nat64(ip); ok && !g.permits(netip.AddrPortFrom(inner, target.Port()), false) {
		return false
	}
	return g.ssrf.SafeAddrPort(target) == nil
}

// isEndpoint reports whether an address and port were permitted by setEndpoints. Other
// ports of the same machine stay blocked.
func (g *guard) isEndpoint(target netip.AddrPort) bool { return (*g.endpoints.Load())[target] }

// isNever reports whether an address is blocked even if the operator allows its range:
// link-local addresses, the metadata services of clouds, and IPv6 forms that embed an
// IPv4 address.
func isNever(ip netip.Addr) bool {
	if ip.Zone() != "" { // only link-local addresses have zones, and Prefix.Contains never matches one
		return true
	}
	return containsAddr(neverReachable, ip) || isTranslated(ip)
}

// isTranslated reports whether an IPv6 address embeds an IPv4 address. ::1 is in
// the range of IPv4-compatible addresses but does not.
func isTranslated(ip netip.Addr) bool {
	return ip.Is6() && ip != netip.IPv6Loopback() && containsAddr(translated, ip)
}

// nat64 returns the IPv4 address inside 64:ff9b::/96 (RFC 6052).
func nat64(ip netip.Addr) (netip.Addr, bool) {
	if !ssrf.IPv6NAT64Prefix.Contains(ip) {
		return netip.Addr{}, false
	}
	b := ip.As16()
	return netip.AddrFrom4([4]byte(b[12:])), true
}

// containsAddr reports whether any range contains the address. IPv4 ranges do not match
// the IPv6 form of an IPv4 address.
func containsAddr(list []netip.Prefix, ip netip.Addr) bool {
	for _, p := range list {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// prefixes parses constant ranges. It panics if one is invalid.
func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}
