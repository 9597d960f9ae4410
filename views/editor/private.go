package editor

import (
	"net/netip"
	"net/url"
	"strings"
)

// privateWarning is shown for a private address. It isn't a problem of the document, because
// the operator may have allowed the range.
const privateWarning = "This address is private. Runs fail with “no connection” unless the operator allows its range with SLUICE_ALLOW_PRIVATE."

// isPrivateURL reports whether a typed URL refers to this machine or a private network. Hosts
// that a template fills in and names that only DNS can resolve are not checked.
func isPrivateURL(text string) bool {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		return addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsUnspecified()
	}
	if host == "localhost" {
		return true
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".lan"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}
