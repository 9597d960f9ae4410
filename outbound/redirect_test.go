package outbound

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// recorder keeps the headers of every request by host and path.
type recorder struct {
	mu   sync.Mutex
	seen map[string]http.Header
	body map[string]string
}

func newRecorder() *recorder {
	return &recorder{seen: map[string]http.Header{}, body: map[string]string{}}
}

func (rec *recorder) keep(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.seen[r.Host+r.URL.Path] = r.Header.Clone()
	rec.body[r.Host+r.URL.Path] = string(body)
}

func (rec *recorder) headers(t *testing.T, at string) http.Header {
	t.Helper()
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.seen[at] == nil {
		t.Fatalf("%s was not reached", at)
	}
	return rec.seen[at]
}

// signpost redirects to the query's "to" and answers anything else with 200.
func (rec *recorder) signpost(w http.ResponseWriter, r *http.Request) {
	rec.keep(r)
	if to := r.URL.Query().Get("to"); to != "" {
		code, _ := strconv.Atoi(r.URL.Query().Get("code"))
		w.Header().Set("Location", to)
		w.WriteHeader(max(code, 302))
	}
}

var credentials = []string{
	"Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "Api-Key", "X-Auth-Token", "X-Amz-Security-Token",
	"X-Goog-Api-Key", "Private-Token", "X-Signature", "Webhook-Signature", "Ocp-Apim-Subscription-Key", "X-Tenant",
}

func credentialHeaders() http.Header {
	h := http.Header{"Accept": {"text/plain"}, "X-Version": {"2"}}
	for _, name := range credentials {
		h.Set(name, "s3cret")
	}
	return h
}

func via(hops ...string) string {
	out := hops[len(hops)-1]
	for i := len(hops) - 2; i >= 0; i-- {
		out = hops[i] + "?to=" + url.QueryEscape(out)
	}
	return out
}

func TestRedirectDropsCredentials(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hops []string
		kept bool
	}{
		"same_host":             {[]string{"http://a.example/1", "http://a.example/end"}, true},
		"same_host_and_port":    {[]string{"http://a.example/1", "http://a.example:80/end"}, true},
		"relative":              {[]string{"http://a.example/1", "/end"}, true},
		"other_host":            {[]string{"http://a.example/1", "http://b.example/end"}, false},
		"subdomain":             {[]string{"http://a.example/1", "http://sub.a.example/end"}, false},
		"other_port":            {[]string{"http://a.example/1", "http://a.example:81/end"}, false},
		"there_and_back":        {[]string{"http://a.example/1", "http://b.example/2", "http://a.example/end"}, false},
		"stays_after_leaving":   {[]string{"http://a.example/1", "http://b.example/2", "http://b.example/end"}, false},
		"protocol_relative":     {[]string{"http://a.example/1", "//b.example/end"}, false},
		"leaves_on_second_step": {[]string{"http://a.example/1", "http://a.example/2", "http://b.example/end"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := newRecorder()
			s := newServer(t, rec.signpost)
			servers := map[string]*httptest.Server{}
			for _, host := range []string{"a.example:80", "a.example:81", "b.example:80", "sub.a.example:80"} {
				servers[host] = s
			}
			client := newClient(t, Config{})
			pretendPublic(client, servers)
			header := credentialHeaders()
			final := mustDo(t, client, Request{URL: via(c.hops...), Header: header, MaxRedirects: 3, SecretHeaders: []string{"x-tenant"}})
			checkArrived(t, rec, final.URL, c.kept)

			// The same through http.Client, which keeps most of them.
			hreq, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, via(c.hops...), nil)
			hreq.Header = header
			resp, err := client.HTTPClient(ClientOptions{MaxRedirects: 3, SecretHeaders: []string{"x-tenant"}}).Do(hreq)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			checkArrived(t, rec, final.URL, c.kept)
		})
	}
}

func checkArrived(t *testing.T, rec *recorder, final string, kept bool) {
	t.Helper()
	u, _ := url.Parse(final)
	got := rec.headers(t, u.Host+u.Path)
	for _, name := range credentials {
		if (got.Get(name) != "") != kept {
			t.Errorf("%s arrived as %q, want kept %v", name, got.Get(name), kept)
		}
	}
	if got.Get("Accept") != "text/plain" || got.Get("X-Version") != "2" {
		t.Errorf("harmless headers were dropped: %v", got)
	}
	if got.Get("Referer") != "" {
		t.Errorf("the last URL was told: %s", got.Get("Referer"))
	}
}

func TestRedirectCount(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); n > 0 {
			http.Redirect(w, r, "/"+strconv.Itoa(n-1), http.StatusMovedPermanently)
		}
	})
	c := newClient(t, loopback())
	for _, x := range []struct {
		redirects, limit, status int // status 0: refused
	}{{0, 0, 200}, {1, 0, 301}, {1, -1, 301}, {1, 1, 200}, {2, 1, 0}, {3, 3, 200}, {4, 3, 0}, {4, 99, 0}} {
		resp, err := c.Do(t.Context(), Request{URL: s.URL + "/" + strconv.Itoa(x.redirects), MaxRedirects: x.limit})
		switch {
		case x.status == 0:
			wantKind(t, err, ClassRedirect)
		case err != nil || resp.Status != x.status:
			t.Errorf("%+v: got %v, %v", x, resp, err)
		}
	}
	resp := mustDo(t, c, Request{URL: s.URL + "/1", Method: http.MethodPost, Body: []byte("{}")})
	if resp.Header.Get("Location") != "/0" || resp.URL != s.URL+"/1" {
		t.Errorf("an unfollowed redirect should come back whole: %+v", resp)
	}
}

func TestRedirectFromHTTPS(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	secure, plain := newTLSServer(t, rec.signpost), newServer(t, rec.signpost)
	c := newClient(t, trusting(secure))
	_, err := c.Do(t.Context(), Request{URL: via(secure.URL+"/1", plain.URL+"/end"), MaxRedirects: 3})
	wantKind(t, err, ClassRedirect)
	_, err = c.Do(t.Context(), Request{URL: via(plain.URL+"/1", secure.URL+"/2", plain.URL+"/end"), MaxRedirects: 3})
	wantKind(t, err, ClassRedirect)
	mustDo(t, c, Request{URL: via(plain.URL+"/1", secure.URL+"/end"), MaxRedirects: 3})
	if len(rec.headers(t, secure.Listener.Addr().String()+"/end")) == 0 {
		t.Error("http to https should be followed")
	}
}

func TestRedirectTargets(t *testing.T) {
	t.Parallel()
	s := newServer(t, newRecorder().signpost)
	c := newClient(t, loopback())
	for _, to := range []string{
		"ftp://example.com/", "file:///etc/passwd", "http://user:pw@example.com/", "http://", "http://[::1", "http://a b/",
		"http://example.com:0/", "http://%zz/", "mailto:a@example.com",
	} {
		_, err := c.Do(t.Context(), Request{URL: s.URL + "/?to=" + url.QueryEscape(to), MaxRedirects: 3})
		if e := wantKind(t, err, ClassRedirect); strings.Contains(e.Message, "://") {
			t.Errorf("%s: %s", to, e.Message)
		}
	}
	resp := mustDo(t, c, Request{URL: s.URL + "/?code=304", MaxRedirects: 3})
	if resp.Status != http.StatusOK {
		t.Errorf("status %d", resp.Status)
	}
}

func TestRedirectBody(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	s := newServer(t, rec.signpost)
	c := newClient(t, loopback())
	at := s.Listener.Addr().String()
	hop := func(code int, path string) string {
		return s.URL + "/1?code=" + strconv.Itoa(code) + "&to=" + url.QueryEscape(path)
	}
	mustDo(t, c, Request{Method: http.MethodPost, URL: hop(307, "/kept"), Body: []byte("payload"), MaxRedirects: 1})
	if rec.body[at+"/kept"] != "payload" {
		t.Errorf("307 lost the body: %q", rec.body[at+"/kept"])
	}
	mustDo(t, c, Request{Method: http.MethodPost, URL: hop(303, "/gone"), Body: []byte("payload"), MaxRedirects: 1})
	if rec.body[at+"/gone"] != "" {
		t.Errorf("303 kept the body: %q", rec.body[at+"/gone"])
	}
	stream := io.MultiReader(bytes.NewReader([]byte("payload")))
	resp := mustDo(t, c, Request{Method: http.MethodPost, URL: hop(308, "/again"), BodyReader: stream, MaxRedirects: 1})
	if resp.Status != http.StatusPermanentRedirect {
		t.Errorf("a stream cannot be sent twice, yet the status is %d", resp.Status)
	}
}

// TestRedirect_keeps_method checks that a redirect changes the method only where it may:
// after 303, and after 301 and 302 of a POST.
func TestRedirect_keeps_method(t *testing.T) {
	t.Parallel()
	client := newClient(t, loopback())
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		for _, codes := range [][]int{{301}, {302}, {303}, {307}, {308}, {302, 302}, {307, 301}, {303, 307}, {301, 303}, {308, 302, 307}} {
			t.Run(fmt.Sprint(method, codes), func(t *testing.T) {
				t.Parallel()
				var got *http.Request
				var body []byte
				s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
					hop, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
					if hop < len(codes) {
						w.Header().Set("Location", strconv.Itoa(hop+1))
						w.WriteHeader(codes[hop])
						return
					}
					got = r
					body, _ = io.ReadAll(r.Body)
				})
				want, wantBody := method, `{"a": 1}`
				for _, code := range codes {
					if want != "HEAD" && (code == 303 || want == "POST" && code < 303) {
						want, wantBody = "GET", ""
					} else if code == 303 {
						wantBody = ""
					}
				}
				header := http.Header{"Content-Type": {"application/json"}, "X-Kept": {"1"}, "Content-Language": {"en"}}
				mustDo(t, client, Request{Method: method, URL: s.URL + "/0", Header: header, Body: []byte(`{"a": 1}`), MaxRedirects: 3})
				if got.Method != want || string(body) != wantBody || got.Header.Get("X-Kept") != "1" {
					t.Errorf("%s arrived with %q and %v, want %s with %q", got.Method, body, got.Header, want, wantBody)
				}
				if hasType := got.Header.Get("Content-Type") != "" && got.Header.Get("Content-Language") != ""; hasType != (wantBody != "") {
					t.Errorf("the headers of the body: %v", got.Header)
				}
			})
		}
	}
}

func TestRedirect_names_target_if_body_cannot_follow(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	s := newServer(t, rec.signpost)
	client := newClient(t, loopback())
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		stream := io.MultiReader(strings.NewReader("payload"))
		_, err := client.Do(t.Context(), Request{Method: method, URL: s.URL + "/1?to=" + url.QueryEscape("/end?key=s3cret"), BodyReader: stream, MaxRedirects: 3})
		if e := wantKind(t, err, ClassRedirect); !strings.Contains(e.Message, s.URL+"/end,") || !strings.Contains(e.Message, method) || strings.Contains(e.Message, "s3cret") {
			t.Errorf("%s: %s", method, e.Message)
		}
	}
	if rec.seen[s.Listener.Addr().String()+"/end"] != nil {
		t.Error("the target was reached without the body")
	}
}

func TestRedirect_drops_credentials_of_kept_methods(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	s := newServer(t, rec.signpost)
	client := newClient(t, Config{})
	pretendPublic(client, map[string]*httptest.Server{"a.example:80": s, "b.example:80": s})
	mustDo(t, client, Request{Method: "DELETE", URL: via("http://a.example/1", "http://b.example/end"), Header: credentialHeaders(), SecretHeaders: []string{"x-tenant"}, Body: []byte("x"), MaxRedirects: 3})
	checkArrived(t, rec, "http://b.example/end", false)
	if rec.body["b.example/end"] != "x" {
		t.Errorf("the body is %q", rec.body["b.example/end"])
	}
	_, err := client.Do(t.Context(), Request{Method: "PUT", URL: via("http://a.example/2", "http://b.example/secret"), Body: []byte("s3cret"), SecretBody: true, MaxRedirects: 3})
	if e := wantKind(t, err, ClassRedirect); !strings.Contains(e.Message, "http://b.example/secret") {
		t.Error(e)
	}
}

func TestHTTPClientRedirects(t *testing.T) {
	t.Parallel()
	s := newServer(t, newRecorder().signpost)
	watch := newCanary(t)
	client := newClient(t, loopback()).HTTPClient(ClientOptions{MaxRedirects: 3})
	_, err := client.Get(s.URL + "/?to=" + url.QueryEscape("http://127.0.0.2:"+watch.port))
	if e, ok := errors.AsType[*Error](err); !ok || e.Class != ClassBlocked {
		t.Errorf("got %v", err)
	}
}

// TestRedirect_encodes_query checks that the query of a redirect arrives encoded.
func TestRedirect_encodes_query(t *testing.T) {
	t.Parallel()
	var got string
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/1" {
			w.Header().Set("Location", `/end?q=ü"|{100%25}`)
			w.WriteHeader(http.StatusFound)
		}
		got = r.RequestURI
	})
	mustDo(t, newClient(t, loopback()), Request{URL: s.URL + "/1", MaxRedirects: 1})
	if want := "/end?q=%C3%BC%22%7C%7B100%25%7D"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
