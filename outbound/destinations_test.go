package outbound

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// everythingIsLocal is the worst name server there is.
func everythingIsLocal(string, int) []string { return []string{"127.0.0.1", "::1"} }

func TestForbiddenDestinations(t *testing.T) {
	t.Parallel()
	hosts := forbidden()
	if len(hosts) < 150 {
		t.Fatalf("%d spellings, want at least 150", len(hosts))
	}
	watch := newCanary(t)
	c := newClient(t, Config{Resolver: newResolver(everythingIsLocal)})
	for _, scheme := range []string{"http://", "https://"} {
		for _, host := range hosts {
			t.Run(scheme+host, func(t *testing.T) {
				for _, raw := range []string{scheme + host + ":" + watch.port + "/", scheme + host + "/"} {
					_, err := c.Do(t.Context(), Request{URL: raw})
					checkRefusal(t, wantKind(t, err, ClassBlocked, ClassBadURL))
				}
			})
		}
	}
}

func TestForbiddenRedirects(t *testing.T) {
	t.Parallel()
	watch := newCanary(t)
	origin := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Location"] = []string{r.Header.Get("X-To")}
		w.WriteHeader(http.StatusFound)
	})
	c := newClient(t, Config{Resolver: newResolver(everythingIsLocal)})
	pretendPublic(c, map[string]*httptest.Server{"public.example:80": origin})
	for _, host := range forbidden() {
		t.Run(host, func(t *testing.T) {
			to := "http://" + host + ":" + watch.port + "/"
			if checkHeaderValue(to) != nil {
				return // such a Location cannot be sent
			}
			header := http.Header{"X-To": {to}}
			_, err := c.Do(t.Context(), Request{URL: "http://public.example/", Header: header, MaxRedirects: 3})
			checkRefusal(t, wantKind(t, err, ClassBlocked, ClassRedirect))
		})
	}
}

func checkHeaderValue(v string) error {
	_, err := (&Client{}).newHeader(http.Header{"X-To": {v}})
	return err
}

// checkRefusal holds every refusal for the address to the same words.
func checkRefusal(t *testing.T, e *Error) {
	t.Helper()
	if e.Class == ClassBlocked && (e.Message != blockedMessage || errors.Unwrap(e) != nil) {
		t.Errorf("blocked with %q and cause %v", e.Message, errors.Unwrap(e))
	}
	if e.Retryable() {
		t.Errorf("%s is retryable", e.Class)
	}
}

func TestForbiddenForms(t *testing.T) {
	t.Parallel()
	watch := newCanary(t)
	c := newClient(t, Config{Resolver: newResolver(everythingIsLocal)})
	for _, raw := range []string{
		"", "/", "//127.0.0.1", "127.0.0.1", "localhost:" + watch.port, "http:", "http:/127.0.0.1", "http:127.0.0.1",
		"http:///127.0.0.1", "http:\\\\127.0.0.1", "ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/",
		"unix:///run/x.sock", "data:text/plain,x", "javascript:alert(1)", "ws://127.0.0.1/", "http+unix://127.0.0.1/",
		"http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:99999999999/", "http://127.0.0.1:-1/",
		"http://127.0.0.1:http/", "http://127.0.0.1:080/", "http://127.0.0.1:８０/", "jar:http://127.0.0.1/", "about:blank",
	} {
		_, err := c.Do(t.Context(), Request{URL: raw})
		checkRefusal(t, wantKind(t, err, ClassBadURL, ClassBlocked))
	}
}

// A name may answer differently each time it is asked; only the answer that is
// dialled counts.
func TestFlippingDNS(t *testing.T) {
	t.Parallel()
	watch := newCanary(t)
	flip := func(_ string, n int) []string {
		if n == 1 {
			return []string{"127.0.0.1"} // allowed below: stands for a public address
		}
		return []string{"127.0.0.2", "::1"}
	}
	t.Run("between_requests", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
		cfg := loopback()
		cfg.Resolver = newResolver(flip)
		c := newClient(t, cfg)
		mustDo(t, c, Request{URL: "http://flip.example" + portOf(s)})
		for range 3 {
			_, err := c.Do(t.Context(), Request{URL: "http://flip.example:" + watch.port})
			wantKind(t, err, ClassBlocked)
		}
	})
	t.Run("between_redirects", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			http.Redirect(w, r, "http://flip.example:"+watch.port, http.StatusFound)
		})
		cfg := loopback()
		cfg.Resolver = newResolver(flip)
		c := newClient(t, cfg)
		_, err := c.Do(t.Context(), Request{URL: "http://flip.example" + portOf(s), MaxRedirects: 3})
		wantKind(t, err, ClassBlocked)
	})
	t.Run("in_one_answer", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, func(http.ResponseWriter, *http.Request) {})
		cfg := loopback()
		cfg.Resolver = newResolver(func(name string, _ int) []string {
			if name == "mixed.example" {
				return []string{"127.0.0.2", "127.0.0.1", "::1"}
			}
			return []string{"127.0.0.2", "10.0.0.1", "::1", "fe80::1"}
		})
		c := newClient(t, cfg)
		mustDo(t, c, Request{URL: "http://mixed.example" + portOf(s)})
		_, err := c.Do(t.Context(), Request{URL: "http://private.example:" + watch.port})
		wantKind(t, err, ClassBlocked)
	})
}
