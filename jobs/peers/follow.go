package peers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"sluice/flow"
)

// textPath is the only path that is answered.
const textPath = "/text"

// dialPatience bounds each of: connecting, the TLS handshake, and the answer's
// header.
const dialTimeout = 3 * time.Second

// client makes requests to other instances.
type transport struct{ *http.Transport }

// newClient dials by itself, not through package outbound: see the package
// comment. It follows no redirect and uses no proxy.
func (p *Peers) newClient() *transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	http2 := http2Config
	return &transport{&http.Transport{
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSClientConfig: p.tls.Clone(), Protocols: protocols, HTTP2: &http2,
		TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: dialTimeout, MaxResponseHeaderBytes: maxHeaderBytes, IdleConnTimeout: idleTimeout,
		DisableCompression: true,
	}}
}

// Follow tells the text of a run that the peer works on. It returns nil once
// the peer has the run no more.
func (p *Peers) Follow(ctx context.Context, peer flow.Peer, runID string, told func(flow.PeerText)) error {
	addr, err := netip.ParseAddrPort(peer.Addr)
	if err != nil || !reachable(addr.Addr()) {
		return fmt.Errorf("the address of %s is not one of a peer", peer.Instance)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+addr.String()+textPath, nil)
	if err != nil {
		return err
	}
	p.sign(req.Header, peer.Instance, runID)
	resp, err := p.client.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", peer.Instance, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", peer.Instance, resp.Status)
	}
	for r := bufio.NewReader(resp.Body); ; {
		t, err := readFrame(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from %s: %w", peer.Instance, err)
		}
		told(*t)
	}
}
