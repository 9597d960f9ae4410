package webtest

import (
	"net/url"

	"sluice/e2e/chrome"
	"sluice/flow"
)

// Open signs in a new user with the role, in a real browser, and opens a page.
func (h *Env) Open(b *chrome.Browser, role flow.MemberRole, path string) *chrome.Tab {
	h.T.Helper()
	at, _ := url.Parse(h.Http.URL)
	p := b.Open(h.T, "about:blank")
	p.SetCookies(h.Http.URL, h.As(role).Client.Jar.Cookies(at))
	p.Go(h.Http.URL + path)
	p.Until(`location.pathname === "` + path + `"`)
	return p
}
