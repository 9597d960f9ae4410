package outbound

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// connectProxy is an HTTP proxy that knows only CONNECT. It connects every name to one server.
type connectProxy struct {
	*httptest.Server
	to string // address of that server

	mu     sync.Mutex
	asked  []string // the targets of CONNECT
	auth   []string
	others []string // requests with another method
	refuse int      // status instead of a connection
}

func newProxy(t *testing.T, to string) *connectProxy {
	t.Helper()
	p := &connectProxy{to: to}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// ServeHTTP connects, or refuses.
func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	if r.Method != http.MethodConnect {
		p.others = append(p.others, r.Method+" "+r.RequestURI)
	}
	p.asked, p.auth = append(p.asked, r.RequestURI), append(p.auth, r.Header.Get("Proxy-Authorization"))
	refuse := p.refuse
	p.mu.Unlock()
	if refuse != 0 {
		w.WriteHeader(refuse)
		return
	}
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer up.Close()
	down, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer down.Close()
	_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\nX-Proxy: yes\r\n\r\n")
	go func() {
		_, _ = io.Copy(up, io.MultiReader(io.LimitReader(rw, int64(rw.Reader.Buffered())), down))
		up.Close()
	}()
	_, _ = io.Copy(down, up)
}

func (p *connectProxy) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// through returns a client of the proxy. Names are resolved by the function.
func through(t *testing.T, p *connectProxy, cfg Config, noProxy string, answer func(name string, n int) []string) *Client {
	t.Helper()
	var err error
	if cfg.Proxy, err = ParseProxy(p.URL, noProxy); err != nil {
		t.Fatal(err)
	}
	cfg.Resolver = newResolver(answer)
	return newClient(t, cfg)
}

func get(t *testing.T, c *Client, url string) (string, error) {
	t.Helper()
	resp, err := c.HTTPClient(ClientOptions{MaxRedirects: 3}).Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestProxy_sees_every_connection_by_name(t *testing.T) {
	t.Parallel()
	plain := newServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "plain "+r.Host) })
	secure := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto+" "+r.Host) })
	for name, c := range map[string]struct {
		server    *httptest.Server
		url, want string
		asked     string
	}{
		"http":  {plain, "http://example.com/x", "plain example.com", "example.com:80"},
		"https": {secure, "https://example.com:8443/x", "HTTP/2.0 example.com:8443", "example.com:8443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProxy(t, c.server.Listener.Addr().String())
			cfg := Config{}
			if c.server == secure {
				cfg = trusting(secure)
			}
			client := through(t, p, cfg, "", func(string, int) []string { return []string{"93.184.216.34"} })
			got, err := get(t, client, c.url)
			if err != nil || got != c.want || !slices.Equal(p.seen(), []string{c.asked}) || len(p.others) > 0 {
				t.Errorf("%q %v, the proxy saw %q %q", got, err, p.seen(), p.others)
			}
		})
	}
}

func TestProxy_never_gets_refused_addresses(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Redirect(w, &http.Request{Method: "GET", URL: &url.URL{Path: "/"}}, "http://metadata.internal/", http.StatusFound)
	})
	p := newProxy(t, server.Listener.Addr().String())
	c := through(t, p, Config{}, "", func(name string, _ int) []string {
		switch {
		case strings.HasPrefix(name, "metadata"):
			return []string{"169.254.169.254"}
		case strings.HasPrefix(name, "mixed"):
			return []string{"93.184.216.34", "10.0.0.1"}
		case strings.HasPrefix(name, "six"):
			return []string{"fd00:ec2::254"}
		case strings.HasSuffix(name, "example.com"):
			return []string{"93.184.216.34"}
		}
		return []string{"127.0.0.1"}
	})
	spellings := forbidden()
	for i, host := range spellings {
		spellings[i] = "http://" + host + "/"
	}
	for _, to := range append(spellings,
		"http://metadata.internal/", "https://mixed.example.com/", "http://six.example.com/", "http://169.254.169.254/latest", "http://10.0.0.1/", "http://[::ffff:10.0.0.1]/",
		"http://[fd00::1]/", "http://0x7f000001/", "http://2130706433/", "http://[64:ff9b::a9fe:a9fe]/", "http://100.100.100.200/",
	) {
		if _, err := get(t, c, to); err == nil {
			t.Errorf("%s was reached", to)
		}
	}
	if seen := p.seen(); len(seen) != 0 {
		t.Errorf("the proxy was asked for %q", seen)
	}
	_, err := get(t, c, "http://example.com/") // redirects to the metadata
	if e, ok := errors.AsType[*Error](err); !ok || e.Class != ClassBlocked || !slices.Equal(p.seen(), []string{"example.com:80"}) {
		t.Errorf("%v, the proxy saw %q", err, p.seen())
	}
}

func TestProxy_gets_names_that_do_not_resolve_here(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	p := newProxy(t, server.Listener.Addr().String())
	c := through(t, p, Config{}, "", func(string, int) []string { return nil })
	if got, err := get(t, c, "http://only-there.example.com/"); err != nil || got != "ok" {
		t.Errorf("%q %v", got, err)
	}
	proxy, err := ParseProxy(p.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	proxy.Strict = true
	strict := newClient(t, Config{Proxy: proxy, Resolver: newResolver(func(string, int) []string { return nil })})
	if _, err := get(t, strict, "http://only-there.example.com/"); err == nil || len(p.seen()) != 1 {
		t.Errorf("%v, the proxy saw %q", err, p.seen())
	}
}

func TestProxy_exceptions_are_reached_directly(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "direct") })
	p := newProxy(t, "127.0.0.1:1")
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	c := through(t, p, loopback(), ".corp.example.com,10.0.0.0/8", func(string, int) []string { return []string{"127.0.0.1"} })
	for _, host := range []string{"git.corp.example.com", "127.0.0.1", "localhost"} {
		if got, err := get(t, c, "http://"+host+":"+port+"/"); err != nil || got != "direct" {
			t.Errorf("%s: %q %v", host, got, err)
		}
	}
	guarded := through(t, p, Config{}, "git.corp.example.com", func(string, int) []string { return []string{"127.0.0.1"} })
	if _, err := get(t, guarded, "http://git.corp.example.com:"+port+"/"); err == nil {
		t.Error("an exception is not guarded")
	}
	if seen := p.seen(); len(seen) != 0 {
		t.Errorf("the proxy was asked for %q", seen)
	}
}

func TestProxy_explains_failures(t *testing.T) {
	t.Parallel()
	public := func(string, int) []string { return []string{"93.184.216.34"} }
	for status, want := range map[int]string{
		http.StatusForbidden: "refused to connect to example.com (403)", http.StatusProxyAuthRequired: "does not accept its user and password", http.StatusBadGateway: "(502)",
	} {
		p := newProxy(t, "")
		p.refuse = status
		_, err := get(t, through(t, p, Config{}, "", public), "https://example.com/")
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Message, want) {
			t.Errorf("%d: %v", status, err)
		}
	}
	p := newProxy(t, "")
	c := through(t, p, Config{}, "", public)
	p.Close()
	if _, err := get(t, c, "https://example.com/"); err == nil || !strings.Contains(err.Error(), "proxy of this server cannot be reached") {
		t.Errorf("%v", err)
	}
}

// TestProxy_bounds_what_a_proxy_answers connects to a proxy that sends a header without an end, and to one that says nothing.
func TestProxy_bounds_what_a_proxy_answers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string][]byte{"long": bytes.Repeat([]byte("X-A: b\r\n"), 10_000), "silent": nil} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = bufio.NewReader(conn).ReadString('\n')
			if answer != nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
				_, _ = conn.Write(answer)
			}
			_, _ = io.Copy(io.Discard, conn)
		}()
		proxy, err := ParseProxy("http://"+l.Addr().String(), "")
		if err != nil {
			t.Fatal(err)
		}
		c := newClient(t, Config{Proxy: proxy, dialTimeout: 100 * time.Millisecond, Resolver: newResolver(func(string, int) []string { return []string{"93.184.216.34"} })})
		if _, err := get(t, c, "https://example.com/"); err == nil {
			t.Errorf("%s: connected", name)
		}
		<-done
	}
}

func TestProxy_sends_its_password_only_to_the_proxy(t *testing.T) {
	t.Parallel()
	var got http.Header
	server := newServer(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	p := newProxy(t, server.Listener.Addr().String())
	proxy, err := ParseProxy(strings.Replace(p.URL, "http://", "http://ada:s3cret@", 1), "")
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Config{Proxy: proxy, Resolver: newResolver(func(string, int) []string { return []string{"93.184.216.34"} })})
	if _, err := get(t, c, "http://example.com/"); err != nil || got.Get("Proxy-Authorization") != "" || p.auth[0] != "Basic YWRhOnMzY3JldA==" {
		t.Errorf("%v, the host got %v, the proxy %q", err, got, p.auth)
	}
	if err := proxy.Probe(context.Background(), "169.254.169.254:80"); err != nil {
		t.Error(err)
	}
}

func TestParseProxy_explains_mistakes(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"proxy:3128", "socks5://proxy", "http://", "http://proxy/path", "http://u:s3cret@proxy:99999", "http://u:s3cret@ proxy", "http://proxy?x=1"} {
		if p, err := ParseProxy(bad, ""); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v %v", bad, p, err)
		}
	}
	if _, err := ParseProxy("", "example.com"); err == nil {
		t.Error("SLUICE_NO_PROXY without SLUICE_PROXY was accepted")
	}
}
