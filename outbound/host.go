package outbound

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// checkIPv6 checks the host between brackets and returns it. Addresses that embed an
// IPv4 address are blocked: they would bypass checks of IPv4
// ranges.
func checkIPv6(host string) (string, error) {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return "", badURL("The address between the brackets in the URL is not an IPv6 address.")
	}
	if _, ok := nat64(ip); ok || !ip.Is6() || ip.Zone() != "" || isTranslated(ip) {
		return "", blocked()
	}
	return host, nil
}

// checkName accepts a DNS name or an IPv4 address of four decimal numbers. C
// libraries read 127.1, 0x7f.1, 2130706433 and 0177.0.0.1 as 127.0.0.1
// (inet_aton). As in the URL standard, every host whose last label is a number
// counts as an IPv4 address (url.spec.whatwg.org, "ends in a number").
func checkName(host string) (string, error) {
	host, err := asciiHost(host)
	if err != nil {
		return "", err
	}
	if endsInNumber(host) {
		if ip, err := netip.ParseAddr(host); err != nil || !ip.Is4() {
			return "", blocked()
		}
		return host, nil
	}
	if len(host) > 253 { // RFC 1035, without the root's dot
		return "", badURL("The host name in the URL is too long.")
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, isNotNameChar) {
			return "", badURL("The host name in the URL is not valid. Remove dots at its start and end.")
		}
	}
	return host, nil
}

// asciiHost converts an international name to its DNS form (xn--). It rejects
// characters that are equivalent to ASCII ones, such as full-width digits and
// dots, because they are used to bypass filters.
func asciiHost(host string) (string, error) {
	if !strings.ContainsFunc(host, isNotASCII) {
		return strings.ToLower(host), nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err == nil && endsInNumber(ascii) {
		return "", blocked()
	}
	labels, given := strings.Split(ascii, "."), strings.Split(host, ".")
	if err != nil || len(labels) != len(given) {
		return "", badURL("The host name in the URL contains invalid characters.")
	}
	for i, label := range given {
		if strings.ContainsFunc(label, isNotASCII) && !strings.HasPrefix(labels[i], "xn--") {
			return "", badURL("The host name in the URL contains look-alike characters. Write them as plain letters and digits.")
		}
	}
	return ascii, nil
}

// endsInNumber reports whether the last label is a decimal or hexadecimal (0x) number.
func endsInNumber(host string) bool {
	host = strings.TrimRight(host, ".")
	label := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(strings.ToLower(label), "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// isNotASCII reports whether a character must be encoded (xn--) before the name can be
// looked up in DNS.
func isNotASCII(r rune) bool { return r >= 0x80 }

// isNotNameChar reports whether a character is invalid in a host name. It allows the
// underscore, which container networks use.
func isNotNameChar(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_')
}
