package outbound

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

// Default limits, which a request can change, and fixed limits.
const (
	// DefaultFirstByteTimeout is the maximum time from the last byte of the
	// request to the first byte of the response.
	DefaultFirstByteTimeout = 30 * time.Second
	// ModelFirstByteTimeout replaces it for AI models, which compute before they respond.
	ModelFirstByteTimeout = 120 * time.Second
	// DefaultTimeout bounds a whole call to Do whose context has no deadline, so
	// that a server sending one byte a minute cannot hold a worker forever.
	DefaultTimeout = 10 * time.Minute
	// DefaultMaxBody is the maximum size of a response body in bytes, after decoding.
	DefaultMaxBody = 10 << 20
	// MaxRedirects is the maximum of Request.MaxRedirects.
	MaxRedirects = 3

	defaultUserAgent = "Sluice"
	dialTimeout      = 5 * time.Second // DNS and TCP together
	tlsTimeout       = 5 * time.Second
	idleTimeout      = 90 * time.Second // as net/http's own default
	// connBuffer is the size in bytes of each of a connection's two buffers. Large
	// reads and writes bypass them, and the events of a model are short.
	connBuffer = 2 << 10
	maxHeader  = 64 << 10 // bytes, status line included
	// idlePerHost exceeds the number of workers of one instance. Otherwise, excess
	// connections would be closed and dialed again for every request.
	idlePerHost = 256
	idleTotal   = 1024
)

// Config holds the settings of the operator.
type Config struct {
	// AllowPrivate are private or reserved ranges that may be reached; see
	// ParseAllowPrivate. Link-local and metadata addresses stay blocked even if
	// they are listed.
	AllowPrivate []netip.Prefix
	// AllowEndpoints are single addresses and ports that requests marked
	// Provider may reach although they are private, such as a local model server.
	// Those requests follow no redirects. Client.SetEndpoints replaces the list.
	AllowEndpoints []netip.AddrPort
	// Proxy is used for all hosts but its exceptions; nil connects directly. Names are resolved and checked here first.
	Proxy *Proxy
	// UserAgent is sent unless the request sets one. Default: "Sluice".
	UserAgent string
	// Resolver resolves host names; nil uses the system's resolver. Tests map
	// names to the loopback interface. The guard checks its results as usual.
	Resolver *net.Resolver

	dialTimeout, tlsTimeout time.Duration  // tests: shorter
	rootCAs                 *x509.CertPool // tests: the httptest certificate
}

// Client sends requests. It is safe for concurrent use; make one and share it,
// because it holds the idle connections.
type Client struct {
	guard     *guard
	userAgent string
	proxy     *Proxy // or nil
	// There are two connection pools because net/http reuses idle connections by
	// host and port only: one dialed for a provider must not serve other requests.
	public, provider *http.Transport
	own              atomic.Pointer[own] // nil until SetOwn
}

// New returns a client, or an error if a configured range or endpoint is invalid.
func New(cfg Config) (*Client, error) {
	for _, p := range cfg.AllowPrivate {
		if !p.IsValid() {
			return nil, fmt.Errorf("allowed private range %v is not valid", p)
		}
	}
	for _, e := range cfg.AllowEndpoints {
		if !e.IsValid() {
			return nil, fmt.Errorf("allowed endpoint %v is not valid", e)
		}
	}
	g := newGuard(cfg.AllowPrivate)
	g.setEndpoints(cfg.AllowEndpoints)
	return &Client{
		guard:     g,
		userAgent: cmp.Or(cfg.UserAgent, defaultUserAgent), proxy: cfg.Proxy,
		public:   newTransport(cfg, g, false),
		provider: newTransport(cfg, g, true),
	}, nil
}

// SetEndpoints replaces the endpoints that requests marked Provider may reach,
// for servers found or entered while Sluice runs.
func (c *Client) SetEndpoints(endpoints []netip.AddrPort) {
	c.guard.setEndpoints(endpoints)
	c.provider.CloseIdleConnections()
}

// Close closes the idle connections. It does not interrupt running requests.
func (c *Client) Close() {
	c.public.CloseIdleConnections()
	c.provider.CloseIdleConnections()
}

// newTransport returns a transport whose dialer passes each resolved address to
// the guard. Checking the name before dialing would not be enough: it may resolve to another
// address when it is dialed (DNS rebinding).
func newTransport(cfg Config, g *guard, provider bool) *http.Transport {
	dialer := &net.Dialer{
		Timeout:  cmp.Or(cfg.dialTimeout, dialTimeout),
		Resolver: cfg.Resolver,
		Control:  g.control(provider),
	}
	dial := dialer.DialContext
	if cfg.Proxy != nil {
		d := &proxyDialer{proxy: cfg.Proxy, guard: g, provider: provider, guarded: dialer, plain: &net.Dialer{Timeout: dialer.Timeout}, timeout: 2 * dialer.Timeout}
		dial = d.DialContext
	}
	return &http.Transport{
		Proxy:                  nil,  // net/http's would bypass the guard; see Proxy
		DisableCompression:     true, // decode handles all codings
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.rootCAs},
		TLSHandshakeTimeout:    cmp.Or(cfg.tlsTimeout, tlsTimeout),
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           idleTotal,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		ExpectContinueTimeout:  time.Second,
		ReadBufferSize:         connBuffer,
		WriteBufferSize:        connBuffer,
		ForceAttemptHTTP2:      true, // a custom DialContext disables HTTP/2 otherwise
	}
}
