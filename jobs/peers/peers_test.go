package peers

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/flow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var key = bytes.Repeat([]byte("k"), 32)

// newPeers makes an instance with the common key.
func newPeers(t *testing.T, name string, set ...func(*Config)) *Peers {
	t.Helper()
	cfg := Config{Instance: name, Key: key, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	for _, f := range set {
		f(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// serveHolder makes an instance named "holder" that serves text.
func serveHolder(t *testing.T, stream StreamFunc, set ...func(*Config)) flow.Peer {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	newPeers(t, "holder", set...).Serve(l, stream, func(err error) { t.Error(err) })
	return flow.Peer{Instance: "holder", Addr: l.Addr().String()}
}

func streamHello(_ context.Context, runID flow.RunID, send func(flow.PeerText) error) error {
	return send(flow.PeerText{Deltas: []flow.Delta{{Path: string(runID), Attempt: 1, Text: "hello"}}})
}

func TestFollow(t *testing.T) {
	t.Parallel()
	t.Run("receives all frames in order", func(t *testing.T) {
		t.Parallel()
		sent := []flow.PeerText{
			{Deltas: []flow.Delta{{Path: "a", Attempt: 2, Text: "one\n", Reset: true}, {Path: "b", Attempt: 1, Truncated: true}}, Seq: 7},
			{Over: []string{"a", "b"}},
			{Deltas: []flow.Delta{{Path: "c", Attempt: 1, Text: strings.Repeat("ü\x00", 1<<20)}}, Seq: 9},
		}
		peer := serveHolder(t, func(_ context.Context, _ flow.RunID, send func(flow.PeerText) error) error {
			for _, p := range sent {
				if err := send(p); err != nil {
					return err
				}
			}
			return nil
		})
		var got []flow.PeerText
		if err := newPeers(t, "reader").Follow(t.Context(), peer, "run_1", func(p flow.PeerText) { got = append(got, p) }); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(sent) {
			t.Fatalf("%d frames arrived, wanted %d", len(got), len(sent))
		}
		for i := range sent {
			if a, b := flow.EncodeJSON(got[i]), flow.EncodeJSON(sent[i]); !bytes.Equal(a, b) {
				t.Errorf("frame %d is %.100s, wanted %.100s", i, a, b)
			}
		}
	})
	t.Run("returns an error when the stream breaks", func(t *testing.T) {
		t.Parallel()
		peer := serveHolder(t, func(_ context.Context, _ flow.RunID, send func(flow.PeerText) error) error {
			return errors.Join(send(flow.PeerText{Seq: 1}), errors.New("the run was frozen"))
		})
		if err := newPeers(t, "reader").Follow(t.Context(), peer, "run_1", func(flow.PeerText) {}); err == nil {
			t.Error("a broken stream counts as the end of the run")
		}
	})
	t.Run("returns an error when the peer never had the run", func(t *testing.T) {
		t.Parallel()
		peer := serveHolder(t, func(context.Context, flow.RunID, func(flow.PeerText) error) error {
			return flow.Errorf(flow.CodeNotFound, "Not here.")
		})
		if err := newPeers(t, "reader").Follow(t.Context(), peer, "run_1", func(flow.PeerText) {}); err == nil {
			t.Error("an unknown run counts as one that has ended")
		}
	})
	t.Run("stops the peer when the reader leaves", func(t *testing.T) {
		t.Parallel()
		ended := make(chan struct{})
		peer := serveHolder(t, func(ctx context.Context, _ flow.RunID, send func(flow.PeerText) error) error {
			defer close(ended)
			_ = send(flow.PeerText{Seq: 1})
			<-ctx.Done()
			return ctx.Err()
		})
		ctx, cancel := context.WithCancel(t.Context())
		_ = newPeers(t, "reader").Follow(ctx, peer, "run_1", func(flow.PeerText) { cancel() })
		<-ended
	})
	t.Run("rejects addresses that cannot belong to an instance", func(t *testing.T) {
		t.Parallel()
		for _, addr := range []string{"", "localhost:80", "169.254.169.254:80", "[fe80::1]:80", "0.0.0.0:80", "[::]:80", "[::ffff:169.254.169.254]:80", "224.0.0.1:80", "10.0.0.1", "10.0.0.1:80/x", "user@10.0.0.1:80"} {
			p := newPeers(t, "reader")
			p.client.DialContext = func(_ context.Context, _, to string) (net.Conn, error) {
				t.Errorf("%q: dialed %s", addr, to)
				return nil, errors.New("no")
			}
			if err := p.Follow(t.Context(), flow.Peer{Instance: "x", Addr: addr}, "run_1", func(flow.PeerText) {}); err == nil {
				t.Errorf("%q was accepted", addr)
			}
		}
	})
}

// newPeersWithSkew makes an instance whose clock is off.
func newPeersWithSkew(t *testing.T, off time.Duration) *Peers {
	return newPeers(t, "reader", func(c *Config) { c.Now = func() time.Time { return time.Now().Add(off) } })
}

// sendRequest sends a request after change has modified its headers, and returns the
// status of the response.
func sendRequest(t *testing.T, p *Peers, peer flow.Peer, change func(h http.Header)) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+peer.Addr+textPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.sign(req.Header, peer.Instance, "run_1")
	change(req.Header)
	resp, err := p.client.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func TestServe_rejects(t *testing.T) {
	t.Parallel()
	peer := serveHolder(t, streamHello)
	p, raw := newPeers(t, "reader"), newPeers(t, "reader")
	raw.key = key
	for name, change := range map[string]func(h http.Header){
		"no signature":     func(h http.Header) { h.Del(headerMAC) },
		"forged signature": func(h http.Header) { h.Set(headerMAC, strings.Repeat("A", 43)+"=") },
		"another run":      func(h http.Header) { h.Set(headerRun, "run_2") },
		"another sender":   func(h http.Header) { h.Set(headerFrom, "somebody") },
		"another time":     func(h http.Header) { h.Set(headerTime, "1") },
		"another nonce":    func(h http.Header) { h.Set(headerNonce, "n") },
		"shifted fields":   func(h http.Header) { h.Set(headerFrom, "readerholder"); h.Set(headerTo, "") },
		"underived key":    func(h http.Header) { raw.sign(h, peer.Instance, "run_1") },
	} {
		if status := sendRequest(t, p, peer, change); status != http.StatusForbidden {
			t.Errorf("%s: answered with %d", name, status)
		}
	}
	for name, change := range map[string]func(h http.Header){
		"another target":  func(h http.Header) { p.sign(h, "third", "run_1") },
		"expired":         func(h http.Header) { newPeersWithSkew(t, -validity-time.Second).sign(h, peer.Instance, "run_1") },
		"from the future": func(h http.Header) { newPeersWithSkew(t, validity+time.Minute).sign(h, peer.Instance, "run_1") },
	} {
		if status := sendRequest(t, p, peer, change); status != http.StatusForbidden {
			t.Errorf("%s: answered with %d", name, status)
		}
	}
	var accepted http.Header
	if status := sendRequest(t, p, peer, func(h http.Header) { accepted = h.Clone() }); status != http.StatusOK {
		t.Fatalf("a valid request: answered with %d", status)
	}
	for range 2 {
		if status := sendRequest(t, p, peer, func(h http.Header) {
			clear(h)
			for k, v := range accepted {
				h[k] = v
			}
		}); status != http.StatusForbidden {
			t.Errorf("a replayed request: answered with %d", status)
		}
	}
}

// A signature may be forgotten only after it has expired.
func TestReplayCache_outlives_validity(t *testing.T) {
	t.Parallel()
	now := time.Now()
	set := func(c *Config) { c.Now = func() time.Time { return now } }
	holder, reader := newPeers(t, "holder", set), newPeers(t, "reader", set)
	now = now.Add(validity) // signed by a clock that is then set back
	h := http.Header{}
	reader.sign(h, "holder", "run_1")
	now = now.Add(-validity)
	if err := holder.verify(h); err != nil {
		t.Fatal(err)
	}
	for start := now; now.Before(start.Add(5 * validity)); now = now.Add(validity / 4) {
		if err := holder.verify(h); err == nil {
			t.Fatalf("replayed after %s", now.Sub(start))
		}
	}
	for range 3 { // other requests make the cache forget it
		now = now.Add(2*validity + 1)
		other := http.Header{}
		reader.sign(other, "holder", "run_1")
		if err := holder.verify(other); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(holder.replays.seenAt); n > 2 {
		t.Errorf("%d signatures are cached", n)
	}
}

func TestServe_accepts_only_same_master_key(t *testing.T) {
	t.Parallel()
	var passed atomic.Bool
	peer := serveHolder(t, func(ctx context.Context, runID flow.RunID, send func(flow.PeerText) error) error {
		passed.Store(true)
		return streamHello(ctx, runID, send)
	})
	stranger := newPeers(t, "reader", func(c *Config) { c.Key = bytes.Repeat([]byte("x"), 32) })
	if err := stranger.Follow(t.Context(), peer, "run_1", func(flow.PeerText) {}); err == nil {
		t.Error("an instance with another master key was answered")
	}
	trusting := newPeers(t, "reader", func(c *Config) { c.Key = bytes.Repeat([]byte("x"), 32) })
	trusting.client.TLSClientConfig.VerifyConnection = func(tls.ConnectionState) error { return nil }
	if err := trusting.Follow(t.Context(), peer, "run_1", func(flow.PeerText) {}); err == nil {
		t.Error("an instance that accepts any certificate was answered")
	}
	client := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer client.CloseIdleConnections()
	for _, url := range []string{"http://" + peer.Addr + textPath, "https://" + peer.Addr + textPath} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if resp, err := client.RoundTrip(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest { // what net/http says to plain HTTP
				t.Errorf("%s: answered with %d", url, resp.StatusCode)
			}
		}
	}
	if passed.Load() {
		t.Error("text was sent to an instance with another master key")
	}
	p := newPeers(t, "reader")
	for _, path := range []string{"/", "/v1/flow", "/livez", "/text/", "/metrics"} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+peer.Addr+path, nil)
		p.sign(req.Header, peer.Instance, "run_1")
		resp, err := p.client.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: answered with %d", path, resp.StatusCode)
		}
	}
}

func TestCheckAddr(t *testing.T) {
	t.Parallel()
	for addr, good := range map[string]bool{
		"10.0.0.5:8081": true, "[fdaa::1]:8081": true, "127.0.0.1:0": true, "fly-local-6pn:8081": true,
		"": false, ":8081": false, "0.0.0.0:8081": false, "[::]:8081": false, "10.0.0.5": false, "10.0.0.5:": false, "169.254.1.1:80": false,
	} {
		if err := CheckAddr(addr); (err == nil) != good {
			t.Errorf("%q: got %v", addr, err)
		}
	}
}
