package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	h := setup(t)
	t.Run("leads who is not signed in to where they can", func(t *testing.T) {
		h.stranger().get("/?x=1").is(http.StatusSeeOther).see("/sign-in?next=" + url.QueryEscape("/?x=1"))
	})
	t.Run("lets a person in and out", func(t *testing.T) {
		b := h.as(flow.MemberViewer)
		b.get("/").see("/flows")
		b.post("/sign-out", nil).see("/sign-in")
		b.get("/").is(http.StatusSeeOther).see("/sign-in?next=%2F")
	})
	t.Run("keeps the e-mail and tells nothing of a wrong password", func(t *testing.T) {
		form := url.Values{"email": {"nobody@example.com"}, "password": {"wrong"}}
		h.stranger().post("/sign-in", form).is(http.StatusUnprocessableEntity).has("nobody@example.com", "do not fit together").lacks("wrong")
	})
}

func TestLocalPath(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/runs?x=1": "/runs?x=1", "": "/flows", "https://evil.test": "/flows", "//evil.test": "/flows", `/\evil.test`: "/flows", "/a\nb": "/flows",
	} {
		if got := localPath(next); got != want {
			t.Errorf("localPath(%q) = %q, want %q", next, got, want)
		}
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	h := setup(t)
	r, _ := http.NewRequest("POST", h.http.URL+"/sign-out", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a forged request got %d", resp.StatusCode)
	}
	page := h.stranger().get("/sign-in").is(http.StatusOK)
	if csp := page.header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self';") {
		t.Errorf("policy %q", csp)
	}
	h.stranger().get("/nothing").is(http.StatusNotFound).has("There is nothing here", "Sign in").lacks("another workspace")
}
