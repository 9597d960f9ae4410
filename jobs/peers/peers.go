package peers

import (
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Config configures Peers.
type Config struct {
	Instance string           // ID of this process among the instances
	Key      []byte           // all instances derive the same key from the master key
	Now      func() time.Time // the database's clock, which all instances share
	Log      *slog.Logger
}

// Peers is one instance's end of the connections to all others. It is safe for
// concurrent use.
type Peers struct {
	cfg     Config
	key     []byte // signs requests
	replays replayCache
	tls     *tls.Config
	client  *transport
	server  *http.Server
}

// New derives the keys. It opens no connection; Serve accepts those of others.
func New(cfg Config) (*Peers, error) {
	p := &Peers{cfg: cfg, replays: replayCache{seenAt: map[[sha256.Size]byte]time.Time{}}}
	var err error
	if p.key, err = hkdf.Expand(sha256.New, cfg.Key, "requests", sha256.Size); err != nil {
		return nil, fmt.Errorf("derive the key that signs requests: %w", err)
	}
	seed, err := hkdf.Expand(sha256.New, cfg.Key, "certificate", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of the certificate: %w", err)
	}
	if p.tls, err = mutualTLS(seed); err != nil {
		return nil, err
	}
	p.client = p.newTransport()
	return p, nil
}

// ErrAddress rejects an address that other instances could not connect to.
var ErrAddress = errors.New("the address needs this machine's own IP address or name and a port, such as 10.0.0.5:8081, because other instances connect to it")

// CheckAddr returns ErrAddress unless addr has a host and a port.
func CheckAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if ip, e := netip.ParseAddr(host); err != nil || host == "" || port == "" || e == nil && !reachable(ip) {
		return ErrAddress
	}
	return nil
}

// Listen listens on addr. The address to announce to other instances is that of the
// listener, in which a host name is resolved to an IP address.
func Listen(addr string) (net.Listener, error) {
	if err := CheckAddr(addr); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !reachable(tcp.AddrPort().Addr()) {
		return nil, errors.Join(ErrAddress, l.Close())
	}
	return l, nil
}

// reachable reports whether an IP address can belong to one instance in a private
// network. Link-local addresses cannot: cloud providers serve secrets there.
func reachable(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsValid() && !ip.IsUnspecified() && !ip.IsMulticast() && !ip.IsLinkLocalUnicast()
}

// Close closes all connections. Readers on other instances reconnect.
func (p *Peers) Close() {
	if p.server != nil {
		_ = p.server.Close() // an error changes nothing
	}
	p.client.CloseIdleConnections()
}
