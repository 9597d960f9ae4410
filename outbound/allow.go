package outbound

import (
	"fmt"
	"net/netip"
	"strings"
)

// ParseAllowPrivate parses the value of SLUICE_ALLOW_PRIVATE: CIDRs or single
// addresses, separated by commas. An empty value allows nothing. A CIDR with
// bits set beyond its mask is rejected, because it usually allows more than
// intended.
func ParseAllowPrivate(value string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		prefix, err := parseRange(part)
		if err != nil {
			return nil, fmt.Errorf("SLUICE_ALLOW_PRIVATE: %w", err)
		}
		out = append(out, prefix)
	}
	return out, nil
}

// parseRange parses a CIDR range or a single address, which is a range of one. A range
// whose address has bits beyond the mask is rejected as ambiguous: the range or the single
// address may be meant.
func parseRange(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if addr, addrErr := netip.ParseAddr(s); addrErr == nil && addr.Zone() == "" {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	switch {
	case err != nil:
		return prefix, fmt.Errorf("%q is neither a range such as 10.0.0.0/8 nor an address such as 10.0.0.5", s)
	case prefix.Addr().Is4In6():
		return prefix, fmt.Errorf("%q is an IPv4 address written as IPv6; write it as IPv4", s)
	case prefix != prefix.Masked():
		return prefix, fmt.Errorf("%q has bits set beyond its mask; write %s for the range or %s for the address",
			s, prefix.Masked(), prefix.Addr())
	}
	return prefix, nil
}
