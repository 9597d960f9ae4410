package outbound

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient makes a client that is closed before the servers made earlier.
func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// loopback allows the httptest servers, which listen on 127.0.0.1.
func loopback() Config { return Config{AllowPrivate: prefixes("127.0.0.1/32")} }

func newServer(t testing.TB, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

func newTLSServer(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = quiet
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// trusting is loopback with the certificate of a TLS server.
func trusting(s *httptest.Server) Config {
	cfg := loopback()
	cfg.rootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return cfg
}

// pretendPublic lets names stand for servers on the Internet: dialling "host:port"
// in servers goes to the test server behind it, everything else the guarded way.
func pretendPublic(c *Client, servers map[string]*httptest.Server) {
	guarded := c.public.DialContext
	c.public.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if s, ok := servers[addr]; ok {
			return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
		}
		return guarded(ctx, network, addr)
	}
}

// canary listens on every address of the machine and counts who comes.
type canary struct {
	port   string
	visits atomic.Int64
}

func newCanary(t *testing.T) *canary {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := &canary{port: port}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.visits.Add(1)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		if n := c.visits.Load(); n != 0 {
			t.Errorf("canary was reached %d times", n)
		}
	})
	return c
}

// wantKind fails unless err is an *Error of one of the kinds.
func wantKind(t *testing.T, err error, kinds ...ErrorClass) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v (%T), want an *Error of kind %v", err, err, kinds)
	}
	for _, k := range kinds {
		if e.Class == k {
			return e
		}
	}
	t.Fatalf("got kind %s (%s), want %v", e.Class, e.Message, kinds)
	return nil
}

func mustDo(t *testing.T, c *Client, req Request) *Response {
	t.Helper()
	resp, err := c.Do(t.Context(), req)
	if err != nil {
		t.Fatalf("Do(%s): %v (cause %v)", req.URL, err, errors.Unwrap(err))
	}
	return resp
}

func addr(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// portOf is the port of a test server with its colon.
func portOf(s *httptest.Server) string { return ":" + strconv.Itoa(int(serverAddr(s).Port())) }

func serverAddr(s *httptest.Server) netip.AddrPort {
	return addr(s.Listener.Addr().String())
}
