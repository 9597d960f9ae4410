package outbound

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestDo(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Saw", strings.Join([]string{r.Method, r.URL.RequestURI(), r.Header.Get("X-A"), string(body)}, "|"))
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("short and stout"))
	})
	c := newClient(t, loopback())
	got := mustDo(t, c, Request{
		Method: http.MethodPut, URL: s.URL + "/a?b=c#d", Header: http.Header{"x-a": {"1"}}, Body: []byte("in"),
	})
	if got.Status != http.StatusTeapot || string(got.Body) != "short and stout" || got.URL != s.URL+"/a?b=c#d" {
		t.Errorf("%+v", got)
	}
	if saw := got.Header.Get("X-Saw"); saw != "PUT|/a?b=c|1|in" {
		t.Errorf("the server saw %s", saw)
	}
}

func TestDoHeaders(t *testing.T) {
	t.Parallel()
	var got http.Header
	var host string
	s := newServer(t, func(_ http.ResponseWriter, r *http.Request) { got, host = r.Header.Clone(), r.Host })
	c := newClient(t, loopback())
	sent := http.Header{
		"Host": {"internal"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Transfer-Encoding": {"chunked"},
		"Content-Length": {"99"}, "Te": {"trailers"}, "Accept-Encoding": {"br"}, "X-Many": {"1", "2"},
	}
	mustDo(t, c, Request{URL: s.URL, Header: sent})
	if host != s.Listener.Addr().String() || len(got) != 3 || got.Get("User-Agent") != "Sluice" ||
		got.Get("Accept-Encoding") != "gzip" || len(got["X-Many"]) != 2 {
		t.Errorf("%s %v", host, got)
	}
	if len(sent) != 8 {
		t.Error("the caller's headers were changed")
	}
	mustDo(t, c, Request{URL: s.URL, Header: http.Header{"User-Agent": {"mine"}}})
	if got.Get("User-Agent") != "mine" {
		t.Errorf("%v", got)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	c := newClient(t, loopback())
	for _, req := range []Request{
		{Method: "CONNECT"}, {Method: "trace"}, {Method: "GE T"}, {Method: "GET\r\n"},
		{Header: http.Header{"X-A": {"1\r\nX-B: 2"}}}, {Header: http.Header{"X A": {"1"}}}, {Header: http.Header{"": {"1"}}},
		{Header: http.Header{"X-A": {"\x00"}}},
	} {
		req.URL = s.URL
		_, err := c.Do(t.Context(), req)
		wantKind(t, err, ClassBadRequest)
	}
}

func TestBodyReader(t *testing.T) {
	t.Parallel()
	var length int64
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) { length = r.ContentLength; _, _ = io.Copy(w, r.Body) })
	c := newClient(t, loopback())
	for _, size := range []int64{0, 5} {
		body := &closing{Reader: bytes.NewReader([]byte("hello"))}
		got := mustDo(t, c, Request{Method: http.MethodPost, URL: s.URL, BodyReader: body, BodyLength: size})
		want := size
		if size == 0 {
			want = -1
		}
		if string(got.Body) != "hello" || length != want || !body.closed.Load() {
			t.Errorf("size %d: %q, Content-Length %d, closed %v", size, got.Body, length, body.closed.Load())
		}
	}
	refused := &closing{Reader: bytes.NewReader(nil)}
	_, err := c.Do(t.Context(), Request{Method: http.MethodPost, URL: "http://10.0.0.1/", BodyReader: refused})
	wantKind(t, err, ClassBlocked)
	if !refused.closed.Load() {
		t.Error("the body of a refused request was left open")
	}
}

type closing struct {
	io.Reader
	closed atomic.Bool
}

func (c *closing) Close() error { c.closed.Store(true); return nil }

// 64 callers keep their connections: the benchmark of the whole depends on it.
func TestConnectionReuse(t *testing.T) {
	t.Parallel()
	const callers, each = 64, 20
	var opened atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := newClient(t, loopback())
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				if _, err := c.Do(t.Context(), Request{URL: s.URL}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	// Twice: a connection dialled for a caller can be late, because another one
	// was returned meanwhile; it is kept for the next.
	if n := opened.Load(); n > 2*callers {
		t.Errorf("%d connections for %d callers", n, callers)
	}
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	s := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Proto)) })
	if got := mustDo(t, newClient(t, trusting(s)), Request{URL: s.URL}); string(got.Body) != "HTTP/2.0" {
		t.Errorf("spoke %s", got.Body)
	}
}

// The promises that no loopback server can show.
func TestTransportLimits(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{})
	for _, tr := range []*http.Transport{c.public, c.provider} {
		if tr.Proxy != nil {
			t.Error("a proxy would dial for us, out of the guard's sight")
		}
		if tr.TLSHandshakeTimeout != 5*time.Second || tr.MaxResponseHeaderBytes != 64<<10 || tr.MaxIdleConnsPerHost < 64 {
			t.Errorf("%+v", tr)
		}
		if tr.TLSClientConfig.InsecureSkipVerify || tr.DialTLSContext != nil {
			t.Error("certificates must be verified")
		}
	}
	h := c.newHop(Request{MaxBody: -1, FirstByteTimeout: -1, MaxRedirects: -1})
	if h.maxBody != 10<<20 || h.firstByte != 30*time.Second || h.redirects != 0 {
		t.Errorf("%+v", h)
	}
}

// TestNothingIsSentTwice: a server that takes a request and then breaks the
// connection may have acted on it, also when it was asked with a key.
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	var taken atomic.Int32
	var keys sync.Map
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		keys.Store(r.Header.Get("Idempotency-Key"), true)
		if taken.Add(1) > 1 { // the first answer lets the connection be used again
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}
	})
	c := newClient(t, loopback())
	header := http.Header{"Idempotency-Key": {"run_1:pay"}}
	mustDo(t, c, Request{Method: http.MethodPost, URL: s.URL, Header: header, Body: []byte("{}")})
	_, err := c.Do(t.Context(), Request{Method: http.MethodPost, URL: s.URL, Header: header, Body: []byte("{}")})
	wantKind(t, err, ClassConnection)
	if n := taken.Load(); n != 2 {
		t.Errorf("two requests came %d times", n)
	}
	if _, ok := keys.Load("run_1:pay"); !ok {
		t.Error("the key did not come along")
	}
}
