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

// textPath is the only path that the server answers.
const textPath = "/text"

// dialTimeout bounds each of: connecting, the TLS handshake, and the response header.
const dialTimeout = 3 * time.Second

// transport makes requests to other instances.
type transport struct{ *http.Transport }

// newTransport dials directly, not through package outbound: see the package comment.
// It follows no redirects and uses no proxy.
func (p *Peers) newTransport() *transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	http2 := http2Config
	return &transport{&http.Transport{
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSClientConfig: p.tls.Clone(), Protocols: protocols, HTTP2: &http2,
		TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: dialTimeout, MaxResponseHeaderBytes: maxHeaderBytes, IdleConnTimeout: idleTimeout,
		DisableCompression: true,
	}}
}

// Follow calls receive with the text of a run that the peer works on, frame by frame.
// It returns nil once the peer no longer has the run, and an error if the stream
// breaks before, which is a reason to reconnect.
func (p *Peers) Follow(ctx context.Context, peer flow.Peer, runID flow.RunID, receive func(flow.PeerText)) error {
	addr, err := netip.ParseAddrPort(peer.Addr)
	if err != nil || !reachable(addr.Addr()) {
		return fmt.Errorf("%s has an address that cannot belong to a peer", peer.Instance)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+addr.String()+textPath, nil)
	if err != nil {
		return err
	}
	p.sign(req.Header, peer.Instance, runID)
	resp, err := p.client.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("request text from %s: %w", peer.Instance, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responded %s", peer.Instance, resp.Status)
	}
	for r := bufio.NewReader(resp.Body); ; {
		t, err := readFrame(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from %s: %w", peer.Instance, err)
		}
		receive(*t)
	}
}
