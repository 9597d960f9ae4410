package providers

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"sluice/outbound"
)

func newGuarded(t *testing.T, cfg outbound.Config) *Client {
	t.Helper()
	client, err := outbound.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return NewClient(Guarded(client))
}

func TestGuarded(t *testing.T) {
	t.Parallel()
	u := setup(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			answerJSON(w, `{"data":[{"id":"a"}]}`)
			return
		}
		stream(w, delta("Hello"))
		panic(http.ErrAbortHandler)
	})
	parsed, err := url.Parse(u.URL)
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.MustParseAddrPort(parsed.Host)
	t.Run("lets nobody to a private address", func(t *testing.T) {
		t.Parallel()
		c := newGuarded(t, outbound.Config{})
		for _, m := range methods {
			for _, trusted := range []bool{true, false} {
				at := u.at("openai_compatible")
				if strings.Contains(m.name, "Responses") {
					at.Provider = "azure" // searches, and may be anywhere
				}
				at.Trusted = trusted
				if e := failure(t, m.run(brief(t), c, at)); e.Class != ClassBlocked || e.Retryable || strings.Contains(e.Message, "127.0.0.1") {
					t.Errorf("%s: got %+v", m.name, e)
				}
			}
		}
	})
	t.Run("lets only trusted endpoints to an allowed one", func(t *testing.T) {
		t.Parallel()
		c := newGuarded(t, outbound.Config{AllowEndpoints: []netip.AddrPort{addr}})
		at := u.at("openai_compatible")
		if _, err := c.Models(brief(t), at); err != nil {
			t.Error(err)
		}
		at.Trusted = false
		_, err := c.Models(brief(t), at)
		if e := failure(t, err); e.Class != ClassBlocked {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("says what broke in the guard's words", func(t *testing.T) {
		t.Parallel()
		c := newGuarded(t, outbound.Config{AllowEndpoints: []netip.AddrPort{addr}})
		_, err := c.Chat(brief(t), u.at("ollama"), ChatRequest{Model: "m", Prompt: "?"}, nil)
		if e := failure(t, err); e.Class != ClassUnavailable || e.Retryable || !strings.Contains(e.Message, "broke off after 5 characters") || !strings.Contains(e.Message, "broke off the connection") {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("asks whether a local server runs", func(t *testing.T) {
		t.Parallel()
		c := newGuarded(t, outbound.Config{AllowEndpoints: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")}})
		_, err := c.Models(brief(t), Endpoint{Provider: "ollama", BaseURL: "http://127.0.0.1:1", Trusted: true})
		if e := failure(t, err); e.Class != ClassUnavailable || !strings.Contains(e.Message, "Is it running?") {
			t.Errorf("got %+v", e)
		}
	})
}
