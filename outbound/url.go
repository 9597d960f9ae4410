package outbound

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"sluice/flow/position"
)

// maxURL is the maximum length of a URL in bytes; common servers reject request lines above
// 8 KiB.
const maxURL = 8 << 10

// ParseURL parses an absolute http or https URL. It rejects every spelling of a
// host that programs are known to interpret differently. It does not resolve names:
// a name may still turn out to be private when it is dialed. A plain private address
// passes, because an operator may have allowed it; use Client.CheckURL to check that
// too. Characters that the path and the query cannot hold are percent-encoded.
//
// Errors are *Error of ClassBadURL, or ClassBlocked for a disguised address.
func ParseURL(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, badURL("The URL is longer than " + strconv.Itoa(maxURL) + " characters.")
	}
	if strings.ContainsFunc(raw, isUnprintable) {
		return nil, badURL("The URL contains a space or another character that must be percent-encoded.")
	}
	u, err := url.Parse(position.TypedURL(raw))
	if err != nil {
		return nil, badURL("This is not a valid URL. It should look like https://example.com/path.")
	}
	host, err := checkParsed(u)
	if err != nil {
		return nil, err
	}
	if strings.Contains(authority(raw), "%") {
		return nil, badURL("The host in the URL must be written without percent signs.")
	}
	if host != u.Hostname() && !strings.HasPrefix(u.Host, "[") {
		u.Host = host + strings.TrimPrefix(u.Host, u.Hostname())
	}
	return u, nil
}

// CheckURL validates a URL like ParseURL and also rejects addresses that this client
// would not dial. It does not resolve names.
func (c *Client) CheckURL(raw string) error {
	u, err := ParseURL(raw)
	if err != nil {
		return err
	}
	return c.guard.checkTarget(u, false)
}

// checkTarget checks a parsed URL, and its host if that is an address. The dialer
// would reject such an address too, but with the cost of a dial.
func (g *guard) checkTarget(u *url.URL, provider bool) error {
	host, err := checkParsed(u)
	if err != nil {
		return err
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return nil // a name, which is checked after DNS
	}
	port, _ := strconv.ParseUint(effectivePort(u), 10, 16)
	if !g.permits(netip.AddrPortFrom(ip, uint16(port)), provider) {
		return blocked()
	}
	return nil
}

// checkParsed checks the parts of a URL and returns the host in the form that is dialed.
func checkParsed(u *url.URL) (string, error) {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "", badURL("The URL must begin with http:// or https://.")
	case u.User != nil:
		return "", badURL("The URL must not contain a user name or password. Use a credential instead.")
	case u.Opaque != "" || u.Hostname() == "":
		return "", badURL("The URL has no host. It should look like https://example.com/path.")
	}
	if err := checkPort(u); err != nil {
		return "", err
	}
	if strings.HasPrefix(u.Host, "[") {
		return checkIPv6(u.Hostname())
	}
	return checkName(u.Hostname())
}

// checkPort rejects a port that is not a number from 1 to 65535. It also rejects
// leading zeros and an empty port after a colon, which parsers interpret differently.
func checkPort(u *url.URL) error {
	port := u.Port()
	if port == "" && !strings.HasSuffix(u.Host, ":") {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port[0] == '0' {
		return badURL("The port in the URL must be a number from 1 to 65535.")
	}
	return nil
}

// authority returns the part of a URL between // and the path, undecoded.
func authority(raw string) string {
	_, rest, _ := strings.Cut(raw, "//")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// effectivePort returns the port of a URL, or the default of its scheme, for comparing
// the targets of redirects.
func effectivePort(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// isUnprintable reports whether a character is white space or a control character. Some
// parsers drop these, so a URL with one is ambiguous.
func isUnprintable(r rune) bool { return r <= ' ' || r == 0x7f || (r >= 0x80 && r <= 0xa0) }
