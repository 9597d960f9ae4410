package flow

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// errHostForm describes the form of a host binding.
var errHostForm = errors.New("write a host such as api.example.com, api.example.com:8443 or *.example.com, without a scheme or a path")

// ParseHost returns the canonical form of a host that a credential may be sent to. There are
// three forms:
//
//	api.example.com       that host, on any port
//	api.example.com:8443  that host, on that port only
//	*.example.com         every host below example.com, but not example.com itself
//
// A port may also follow a wildcard. Names are lowercased, a trailing dot is removed, and
// international names become their DNS form (xn--…). IP addresses have the forms 192.0.2.7,
// 2001:db8::7 or [2001:db8::7]:8443. A wildcard for a public suffix, such as *.com or
// *.github.io, is rejected, because strangers own the hosts below it.
func ParseHost(text string) (string, error) {
	name, port, err := SplitHost(strings.ToLower(strings.TrimSpace(text)))
	if err != nil {
		return "", err
	}
	name, wildcard := strings.CutPrefix(name, "*.")
	ip, notIP := netip.ParseAddr(name)
	switch {
	case notIP == nil && (wildcard || ip.Zone() != ""):
		return "", errHostForm
	case notIP == nil:
		return JoinHost(ip.Unmap().String(), port), nil
	}
	if name, err = hostName(name); err != nil {
		return "", err
	}
	if !wildcard {
		return JoinHost(name, port), nil
	}
	if suffix, _ := publicsuffix.PublicSuffix(name); suffix == name {
		return "", fmt.Errorf("*.%s would allow hosts of strangers; use your own domain, such as *.example.%s", name, name)
	}
	return JoinHost("*."+name, port), nil
}

// ParseHosts parses a list of hosts and removes duplicates. Empty items are skipped.
func ParseHosts(list []string) ([]string, error) {
	var hosts []string
	for _, text := range list {
		if strings.TrimSpace(text) == "" {
			continue
		}
		host, err := ParseHost(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a host: %w", FirstRunes(text, 60), err)
		}
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts, nil
}

// SplitHost splits a host and an optional port. An IPv6 address with a port is in brackets.
func SplitHost(text string) (name, port string, err error) {
	if strings.Count(text, ":") > 1 && !strings.HasPrefix(text, "[") {
		return text, "", nil
	}
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inner, "]") {
		return strings.TrimSuffix(inner, "]"), "", nil
	}
	name, port, found := strings.Cut(text, ":")
	if strings.HasPrefix(text, "[") {
		if name, port, err = net.SplitHostPort(text); err != nil {
			return "", "", errHostForm
		}
		found = true
	}
	if !found {
		return text, "", nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port[0] == '0' {
		return "", "", errHostForm
	}
	return name, port, nil
}

// JoinHost is the reverse of SplitHost. An empty port is omitted.
func JoinHost(name, port string) string {
	if port == "" {
		return name
	}
	return net.JoinHostPort(name, port)
}

// hostName validates a DNS name. The last label must not be a number, because programs parse
// such names as addresses in different ways.
func hostName(name string) (string, error) {
	name = strings.TrimSuffix(name, ".")
	if strings.ContainsFunc(name, func(r rune) bool { return r >= 0x80 }) {
		ascii, err := idna.Lookup.ToASCII(name)
		if err != nil {
			return "", errHostForm
		}
		name = ascii
	}
	if name == "" || len(name) > 253 {
		return "", errHostForm
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", errHostForm
		}
	}
	if strings.Trim(labels[len(labels)-1], "0123456789") == "" {
		return "", errHostForm
	}
	return name, nil
}

// HostPort returns the host and port of a URL in the form that Access.May expects. The port
// defaults to that of the scheme.
func HostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case strings.EqualFold(u.Scheme, "http"):
		port = "80"
	default:
		port = "443"
	}
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), port)
}

// BoundHost returns the host to which a credential used at a URL is bound, with
// the port if the URL has one. It is empty if the URL has no valid host.
func BoundHost(u *url.URL) string {
	host, err := ParseHost(u.Host)
	if err != nil {
		return ""
	}
	return host
}

// HostAllowed reports whether one of the patterns matches host, which may have a port. A
// pattern with a port matches only a host with that port.
func HostAllowed(patterns []string, host string) bool {
	name, port, err := SplitHost(strings.ToLower(host))
	if err != nil {
		return false
	}
	_, notIP := netip.ParseAddr(name)
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		wanted, wantedPort, err := SplitHost(strings.ToLower(pattern))
		if err != nil || wantedPort != "" && wantedPort != port {
			return false
		}
		if domain, wildcard := strings.CutPrefix(wanted, "*."); wildcard {
			below, ok := strings.CutSuffix(name, "."+domain)
			return ok && below != "" && notIP != nil
		}
		return wanted == name
	})
}

// shownHost returns a host for messages, without the default port of https.
func shownHost(host string) string { return strings.TrimSuffix(host, ":443") }

// URLHost returns the Hosts function of a kind that calls the URL in a field.
func URLHost(field string) func(n *Node) []string {
	return func(n *Node) []string {
		switch v := n.Config[field].(type) {
		case string:
			if host := FixedHost(v); host != "" {
				return []string{host}
			}
		case []any: // only URLs with credentials count
			var hosts []string
			for _, item := range v {
				s, _ := item.(string)
				if len(TextCredentials(s)) == 0 {
					continue
				}
				host := FixedHost(s)
				if host == "" {
					return nil
				}
				hosts = append(hosts, host)
			}
			return hosts
		}
		return nil
	}
}

// FixedHost returns the host of a URL that may be a template, or "" if the host is templated.
func FixedHost(address string) string {
	_, rest, found := strings.Cut(strings.TrimSpace(address), "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	host, err := ParseHost(rest)
	if !found || err != nil || strings.HasPrefix(host, "*") {
		return ""
	}
	return host
}
