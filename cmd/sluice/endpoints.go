package main

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

	"sluice/outbound"
)

// endpoints are the private addresses that requests to providers may reach:
// local model servers and base URLs that the operator entered. Only this type
// passes the list to the outbound client.
type endpoints struct {
	client *outbound.Client

	mu      sync.Mutex
	found   []netip.AddrPort
	entered map[string]entered // by host:port
	told    []netip.AddrPort
}

// entered is the resolved host of a base URL.
type entered struct {
	addrs []netip.AddrPort
	at    time.Time
	stays bool // it is a setting of the process, not a credential's
}

const (
	// enteredFor is how long a name is taken to stay where it is.
	enteredFor = 30 * time.Second
	// forgetAfter is when an address that nobody used is closed again: its
	// credential may be gone.
	forgetAfter = 10 * time.Minute
)

func newEndpoints(client *outbound.Client) *endpoints {
	return &endpoints{client: client, entered: map[string]entered{}}
}

// setFound replaces the list of local servers.
func (e *endpoints) setFound(addrs []netip.AddrPort) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.found = addrs
	e.tell()
}

// trust allows requests to a base URL that the operator entered.
func (e *endpoints) trust(ctx context.Context, baseURL string) error {
	return e.enter(ctx, baseURL, false)
}

func (e *endpoints) enter(ctx context.Context, baseURL string, stays bool) error {
	u, err := url.Parse(baseURL)
	if err != nil || u.Hostname() == "" {
		return fmt.Errorf("%q is not the address of a server", baseURL)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	place := net.JoinHostPort(u.Hostname(), port)
	e.mu.Lock()
	known := e.entered[place]
	e.mu.Unlock()
	if time.Since(known.at) < enteredFor {
		return nil
	}
	addrs, err := resolve(ctx, u.Hostname(), port)
	if err != nil {
		return fmt.Errorf("the name %s cannot be resolved", u.Hostname())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.entered[place] = entered{addrs, time.Now(), stays || known.stays}
	maps.DeleteFunc(e.entered, func(_ string, known entered) bool { return !known.stays && time.Since(known.at) > forgetAfter })
	e.tell()
	return nil
}

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

// tell passes the list to the client if it changed, because that closes idle
// connections.
func (e *endpoints) tell() {
	all := slices.Clone(e.found)
	for _, place := range slices.Sorted(maps.Keys(e.entered)) {
		all = append(all, e.entered[place].addrs...)
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	all = slices.Compact(all)
	if !slices.Equal(all, e.told) {
		e.told = all
		e.client.SetEndpoints(all)
	}
}
