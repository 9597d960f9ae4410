package upstream

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"sluice/flow/sorting"
	"sluice/outbound"
)

// endpoints are the private addresses that requests to providers may reach:
// local model servers and base URLs that the operator entered. Only this type
// passes the list to the outbound client.
//
// Other private addresses are blocked, because flows would otherwise let their
// authors send requests into the operator's network (server-side request forgery).
// Addresses are allowed rather than host names, so that a DNS answer that changes
// later cannot redirect a request.
type endpoints struct {
	client *outbound.Client

	mu       sync.Mutex
	found    []netip.AddrPort    // local servers
	baseURLs map[string]endpoint // by host:port
	applied  []netip.AddrPort    // the list last passed to the client
}

// endpoint is the resolved host of a base URL.
type endpoint struct {
	addrs      []netip.AddrPort
	resolvedAt time.Time
	permanent  bool // configured by a setting, not by a credential
}

const (
	// resolveInterval is how long the addresses of a host name are cached.
	resolveInterval = 30 * time.Second
	// expireAfter is how long an unused base URL stays allowed. Its credential may
	// have been removed meanwhile.
	expireAfter = 10 * time.Minute
)

// newEndpoints returns an empty list, which allows no private address.
func newEndpoints(client *outbound.Client) *endpoints {
	return &endpoints{client: client, baseURLs: map[string]endpoint{}}
}

// setFound replaces the list of local servers.
func (e *endpoints) setFound(addrs []netip.AddrPort) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.found = addrs
	e.update()
}

// trust allows requests to a base URL that the operator entered.
func (e *endpoints) trust(ctx context.Context, baseURL string) error {
	return e.allow(ctx, baseURL, false)
}

// allow resolves the host of a base URL, at most once per resolveInterval, and allows requests
// to its addresses. Base URLs that are not permanent expire after expireAfter without use.
func (e *endpoints) allow(ctx context.Context, baseURL string, permanent bool) error {
	u, err := url.Parse(baseURL)
	if err != nil || u.Hostname() == "" {
		return fmt.Errorf("%q is not the address of a server", baseURL)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	hostPort := net.JoinHostPort(u.Hostname(), port)
	e.mu.Lock()
	known := e.baseURLs[hostPort]
	e.mu.Unlock()
	if time.Since(known.resolvedAt) < resolveInterval {
		return nil
	}
	addrs, err := resolve(ctx, u.Hostname(), port)
	if err != nil && e.client.PassesNames(hostPort) { // only the proxy knows it, and nothing here has to be allowed
		return nil
	}
	if err != nil {
		return fmt.Errorf("the name %s cannot be resolved", u.Hostname())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.baseURLs[hostPort] = endpoint{addrs, time.Now(), permanent || known.permanent}
	maps.DeleteFunc(e.baseURLs, func(_ string, b endpoint) bool { return !b.permanent && time.Since(b.resolvedAt) > expireAfter })
	e.update()
	return nil
}

// resolve returns all addresses of a host with the port.
func resolve(ctx context.Context, host, port string) ([]netip.AddrPort, error) {
	n, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	list := make([]netip.AddrPort, len(ips))
	for i, ip := range ips {
		list[i] = netip.AddrPortFrom(ip.Unmap(), uint16(n)) //nolint:gosec // LookupPort gives at most 65535
	}
	return list, err
}

// update passes the list to the client if it changed. A new list closes idle connections.
func (e *endpoints) update() {
	all := slices.Clone(e.found)
	for _, b := range e.baseURLs {
		all = append(all, b.addrs...)
	}
	sorting.By(all, netip.AddrPort.Compare)
	all = slices.Compact(all)
	if !slices.Equal(all, e.applied) {
		e.applied = all
		e.client.SetEndpoints(all)
	}
}
