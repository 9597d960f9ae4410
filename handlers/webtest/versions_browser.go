package webtest

import (
	"net/url"

	"sluice/e2e/chrome"
	"sluice/flow"
)

// Open signs in a new user with the role, in a real browser, and opens a page.
func (h *Env) Open(b *chrome.Browser, role flow.MemberRole, path string) *chrome.Tab {
	h.T.Helper()
	email := h.Person(role)
	p := b.Open(h.T, h.Http.URL+"/sign-in?next="+url.QueryEscape(path))
	p.Type("[name=email]", email)
	p.Type("[name=password]", Password)
	p.Click("main button.primary")
	p.Until(`location.pathname === "` + path + `"`)
	return p
}
