package outbound

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Proxy is an HTTP proxy for all requests that leave the machine. Each connection is a CONNECT with the name of the
// host, so that the proxy can decide by names and sees no content of https.
type Proxy struct {
	url    *url.URL
	header string // Proxy-Authorization, or ""
	direct func(*url.URL) (*url.URL, error)
	// Strict refuses names that do not resolve here. Otherwise such a name is passed to the proxy, which must refuse
	// private addresses.
	Strict bool
}

// ParseProxy reads the URL of a proxy, and the hosts that are reached without it, in the form of the variable
// NO_PROXY: names, names with a dot in front for all names below, addresses and CIDRs, separated by commas. It returns
// nil for an empty URL.
func ParseProxy(text, noProxy string) (*Proxy, error) {
	if text == "" {
		if noProxy != "" {
			return nil, errors.New("SLUICE_NO_PROXY needs SLUICE_PROXY")
		}
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("SLUICE_PROXY: write a URL such as http://proxy.example.com:3128") // without the text, which may have a password
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("SLUICE_PROXY: the port is %q; use 1 to 65535", port)
		}
	}
	p := &Proxy{url: u}
	if u.User != nil {
		password, _ := u.User.Password()
		p.header = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
	}
	p.direct = (&httpproxy.Config{HTTPSProxy: "http://proxy", NoProxy: noProxy}).ProxyFunc()
	return p, nil
}

// Address returns the host and port of the proxy.
func (p *Proxy) Address() string {
	port := "80"
	if p.url.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(p.url.Hostname(), cmp.Or(p.url.Port(), port))
}

// isDirect reports whether a host and port are reached without the proxy: those of SLUICE_NO_PROXY, and this machine.
func (p *Proxy) isDirect(address string) bool {
	to, err := p.direct(&url.URL{Scheme: "https", Host: address})
	return err == nil && to == nil
}

// PassesNames reports whether the name of a host and port is passed to a proxy although it does not resolve here.
func (c *Client) PassesNames(address string) bool {
	return c.proxy != nil && !c.proxy.Strict && !c.proxy.isDirect(address)
}

// proxyDialer connects to hosts through a proxy.
type proxyDialer struct {
	proxy    *Proxy
	guard    *guard
	provider bool
	guarded  *net.Dialer // for hosts without the proxy
	plain    *net.Dialer // for the proxy itself, which the operator chose
	timeout  time.Duration
}

// DialContext connects to a host and port. Names are resolved here first: a name with a refused address is refused.
func (d *proxyDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	ip, literalErr := netip.ParseAddr(host)
	if d.proxy.isDirect(address) || literalErr == nil && d.provider && d.guard.isEndpoint(netip.AddrPortFrom(ip.Unmap(), uint16(port))) {
		return d.guarded.DialContext(ctx, network, address)
	}
	if literalErr == nil {
		if !d.guard.permits(netip.AddrPortFrom(ip.Unmap(), uint16(port)), d.provider) {
			return nil, errBlocked
		}
	} else if err := d.checkName(ctx, host, uint16(port)); err != nil {
		return nil, err
	}
	return d.connect(ctx, address)
}

// checkName resolves a name and refuses it if any of its addresses is refused.
func (d *proxyDialer) checkName(ctx context.Context, host string, port uint16) error {
	resolver := cmp.Or(d.guarded.Resolver, net.DefaultResolver)
	list, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		if d.proxy.Strict {
			return err
		}
		return nil // networks whose machines resolve only internal names; the proxy resolves it
	}
	for _, ip := range list {
		if !d.guard.permits(netip.AddrPortFrom(ip.Unmap(), port), d.provider) {
			return errBlocked
		}
	}
	return nil
}

// maxProxyHeader is the maximum size in bytes of the response of a proxy to CONNECT.
const maxProxyHeader = 16 << 10

// connect asks the proxy for a connection to a host and port.
func (d *proxyDialer) connect(ctx context.Context, address string) (conn net.Conn, err error) {
	conn, err = d.plain.DialContext(ctx, "tcp", d.proxy.Address())
	if err != nil {
		return nil, &Error{Class: ClassConnection, Message: "The proxy of this server cannot be reached.", retryable: true, cause: err}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() && err == nil {
			err = ctx.Err()
		}
		if err != nil {
			_ = conn.Close() // the error says why
			conn = nil
		}
	}()
	if d.proxy.url.Scheme == "https" {
		secured := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: d.proxy.url.Hostname()})
		if err := secured.HandshakeContext(ctx); err != nil {
			return conn, &Error{Class: ClassConnection, Message: "The proxy of this server cannot be reached.", retryable: true, cause: err}
		}
		conn = secured
	}
	return conn, d.ask(conn, address)
}

// ask sends CONNECT and reads the response.
func (d *proxyDialer) ask(conn net.Conn, address string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	req.Header.Set("User-Agent", defaultUserAgent)
	if d.proxy.header != "" {
		req.Header.Set("Proxy-Authorization", d.proxy.header)
	}
	host, _, _ := net.SplitHostPort(address)
	broken := func(err error) error {
		return &Error{Class: ClassConnection, Message: "The proxy of this server did not connect to " + host + ".", retryable: true, cause: err}
	}
	if err := req.Write(conn); err != nil {
		return broken(err)
	}
	// One byte at a time, because what follows the header belongs to the host.
	head := bufio.NewReaderSize(&byteReader{r: conn, left: maxProxyHeader}, 1)
	resp, err := http.ReadResponse(head, req)
	if err != nil {
		return broken(err)
	}
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	e := &Error{Class: ClassConnection, Message: "The proxy of this server refused to connect to " + host + " (" + strconv.Itoa(resp.StatusCode) + ")."}
	e.retryable = resp.StatusCode == http.StatusBadGateway || resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusGatewayTimeout
	if resp.StatusCode == http.StatusProxyAuthRequired {
		e.Message = "The proxy of this server does not accept its user and password."
	}
	return e
}

// byteReader reads at most left bytes, one at a time.
type byteReader struct {
	r    io.Reader
	left int
}

// Read reads one byte.
func (b *byteReader) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errors.New("the header of the proxy is too long")
	}
	b.left--
	return b.r.Read(p[:min(1, len(p))])
}

// Probe reports whether the proxy connects to an address, without the checks of this package, for doctor.
func (p *Proxy) Probe(ctx context.Context, address string) error {
	d := &proxyDialer{proxy: p, plain: &net.Dialer{Timeout: dialTimeout}}
	conn, err := d.connect(ctx, address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Reachable reports whether a connection to the proxy itself can be made.
func (p *Proxy) Reachable(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", p.Address())
	if err != nil {
		return err
	}
	return conn.Close()
}
