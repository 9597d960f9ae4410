package outbound

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Limits that hold unless a request says otherwise, and those no request can
// change.
const (
	// DefaultFirstByteTimeout runs from the last byte of the request to the
	// first byte of the answer.
	DefaultFirstByteTimeout = 30 * time.Second
	// ModelFirstByteTimeout is for AI models, which think before they speak.
	ModelFirstByteTimeout = 120 * time.Second
	// DefaultTimeout bounds a whole call to Do whose context has no deadline, so
	// that a server sending one byte a minute cannot hold a worker forever.
	DefaultTimeout = 10 * time.Minute
	// DefaultMaxBody is in bytes, counted after gunzip.
	DefaultMaxBody = 10 << 20
	// MaxRedirects is the most a request can ask for.
	MaxRedirects = 3

	defaultUserAgent = "Sluice"
	dialTimeout      = 5 * time.Second // DNS and TCP together
	tlsTimeout       = 5 * time.Second
	idleTimeout      = 90 * time.Second // as net/http's own default
	// connBuffer is the size of each of a connection's two buffers, in bytes. Long
	// reads and writes pass by them, and the events of a model are short.
	connBuffer = 2 << 10
	maxHeader  = 64 << 10 // bytes, status line included
	// idlePerHost is above the workers of one instance. Below it, connections
	// beyond the number would be closed and dialled again for every request.
	idlePerHost = 256
	idleTotal   = 1024
)

// Config is what an operator decides.
type Config struct {
	// AllowPrivate are ranges that may be reached although they are private or
	// reserved; see ParseAllowPrivate. Link-local and metadata addresses stay
	// out of reach whatever is listed here.
	AllowPrivate []netip.Prefix
	// AllowEndpoints are single addresses and ports that requests marked
	// Provider may reach although private, such as a model server on loopback.
	// Those requests follow no redirect. Client.SetEndpoints replaces the list.
	AllowEndpoints []netip.AddrPort
	// UserAgent is sent by Do where the request sets none. Default: "Sluice".
	UserAgent string
	// Resolver looks names up; nil means the system's. Tests put names on
	// loopback with it. The guard judges its answers like any other.
	Resolver *net.Resolver

	dialTimeout, tlsTimeout time.Duration  // tests: shorter
	rootCAs                 *x509.CertPool // tests: the httptest certificate
}

// Client sends requests. It is safe for concurrent use; make one and share it,
// because it holds the idle connections.
type Client struct {
	guard     *guard
	userAgent string
	// Two pools, because an idle connection is handed out by host and port
	// alone: one dialled for a provider must never serve another request.
	public, provider *http.Transport
}

// New returns a client, or an error if a configured range or endpoint is not
// usable.
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
		userAgent: cmp.Or(cfg.UserAgent, defaultUserAgent),
		public:    newTransport(cfg, g.control(false)),
		provider:  newTransport(cfg, g.control(true)),
	}, nil
}

// SetEndpoints replaces the endpoints that requests marked Provider may reach,
// for servers found or entered while Sluice runs.
func (c *Client) SetEndpoints(endpoints []netip.AddrPort) {
	c.guard.setEndpoints(endpoints)
	c.provider.CloseIdleConnections()
}

// Close closes the idle connections. Requests under way are not touched.
func (c *Client) Close() {
	c.public.CloseIdleConnections()
	c.provider.CloseIdleConnections()
}

// newTransport returns a transport whose dialer passes each resolved address to
// control. Checking the name before would be void: it may resolve to another address
// when it is dialed (DNS rebinding).
func newTransport(cfg Config, control controlFunc) *http.Transport {
	dialer := &net.Dialer{
		Timeout:  cmp.Or(cfg.dialTimeout, dialTimeout),
		Resolver: cfg.Resolver,
		Control:  control,
	}
	return &http.Transport{
		Proxy:                  nil, // a proxy would dial for us, behind the guard's back
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.rootCAs},
		TLSHandshakeTimeout:    cmp.Or(cfg.tlsTimeout, tlsTimeout),
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           idleTotal,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		ExpectContinueTimeout:  time.Second,
		ReadBufferSize:         connBuffer,
		WriteBufferSize:        connBuffer,
		ForceAttemptHTTP2:      true, // a DialContext of our own turns it off otherwise
	}
}
