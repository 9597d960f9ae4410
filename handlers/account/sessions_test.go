package account_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	t.Run("redirects to the sign-in page", func(t *testing.T) {
		h.Anonymous().Get("/?x=1").Is(http.StatusSeeOther).RedirectsTo("/sign-in?next=" + url.QueryEscape("/?x=1"))
	})
	t.Run("signs a user in and out", func(t *testing.T) {
		b := h.As(flow.MemberViewer)
		b.Get("/").RedirectsTo("/flows")
		b.Post("/sign-out", nil).RedirectsTo("/sign-in")
		b.Get("/").Is(http.StatusSeeOther).RedirectsTo("/sign-in?next=%2F")
	})
	t.Run("keeps the email after a wrong password", func(t *testing.T) {
		form := url.Values{"email": {"nobody@example.com"}, "password": {"wrong"}}
		h.Anonymous().Post("/sign-in", form).Is(http.StatusUnprocessableEntity).Has("nobody@example.com", "Wrong email or password").Lacks("wrong")
	})
}

func TestLocalPath(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/runs?x=1": "/runs?x=1", "": "/flows", "https://evil.test": "/flows", "//evil.test": "/flows", `/\evil.test`: "/flows", "/a\nb": "/flows",
	} {
		if got := web.LocalPath(next); got != want {
			t.Errorf("localPath(%q) = %q, want %q", next, got, want)
		}
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	r, _ := http.NewRequest("POST", h.Http.URL+"/sign-out", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a forged request got %d", resp.StatusCode)
	}
	page := h.Anonymous().Get("/sign-in").Is(http.StatusOK)
	if csp := page.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self';") {
		t.Errorf("policy %q", csp)
	}
	h.Anonymous().Get("/nothing").Is(http.StatusNotFound).Has("Page not found", "Sign in").Lacks("another workspace")
}
