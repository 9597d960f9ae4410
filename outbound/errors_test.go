package outbound

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestConnectionErrors(t *testing.T) {
	t.Parallel()
	hangUp := func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }
	breakOff := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
	}
	gone := newServer(t, nil)
	gone.Close()
	untrusted := newTLSServer(t, silent)
	for name, c := range map[string]struct {
		url       string
		says      string
		retryable bool
	}{
		"refused":      {gone.URL, "refused the connection", true},
		"hung_up":      {newServer(t, hangUp).URL, "broke off", true},
		"broken_off":   {newServer(t, breakOff).URL, "broke off", true},
		"untrusted":    {untrusted.URL, "not from an authority", false},
		"not_tls":      {strings.Replace(newServer(t, nil).URL, "http:", "https:", 1), "does not speak HTTPS", false},
		"not_http":     {"http://" + newBabbler(t), "failed on the way", true},
		"unknown_name": {"http://nowhere.example/", "Can't find nowhere.example.", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := loopback()
			cfg.Resolver = newResolver(func(string, int) []string { return nil })
			_, err := newClient(t, cfg).Do(t.Context(), Request{URL: c.url})
			e := wantKind(t, err, ClassConnection)
			if !strings.Contains(e.Message, c.says) || e.Retryable() != c.retryable || e.Temporary() != c.retryable {
				t.Errorf("%q, retryable %v (cause %v)", e.Message, e.Retryable(), errors.Unwrap(e))
			}
		})
	}
}

func TestCertificateForAnotherName(t *testing.T) {
	t.Parallel()
	s := newTLSServer(t, silent)
	cfg := trusting(s)
	cfg.Resolver = newResolver(func(string, int) []string { return []string{"127.0.0.1"} })
	_, err := newClient(t, cfg).Do(t.Context(), Request{URL: "https://other.test" + portOf(s)})
	if e := wantKind(t, err, ClassConnection); !strings.Contains(e.Message, "for another name") || e.Retryable() {
		t.Errorf("%v", e)
	}
}

// newBabbler answers every connection with something that is not HTTP.
func newBabbler(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1024))
			_, _ = conn.Write([]byte("220 mail.example ESMTP\r\n"))
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// The message is shown to members and logged with runs: it may name the host
// they wrote, nothing behind it and nothing of the path or query.
func TestMessagesLeakNothing(t *testing.T) {
	t.Parallel()
	gone := newServer(t, nil)
	gone.Close()
	cfg := loopback()
	cfg.Resolver = newResolver(func(name string, _ int) []string {
		return map[string][]string{"up.example": {"127.0.0.1"}, "in.example": {"10.9.8.7"}}[name]
	})
	c := newClient(t, cfg)
	for _, host := range []string{"up.example", "in.example", "none.example"} {
		_, err := c.Do(t.Context(), Request{URL: "http://" + host + portOf(gone) + "/path?key=s3cret"})
		e := wantKind(t, err, ClassConnection, ClassBlocked)
		for _, leak := range []string{"127.0.0.1", "10.9.8.7", "s3cret", "/path", "dial", portOf(gone)} {
			if strings.Contains(e.Error(), leak) {
				t.Errorf("%s: %q contains %q", host, e, leak)
			}
		}
	}
}
