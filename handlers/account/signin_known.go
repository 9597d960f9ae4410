package account

import (
	"crypto/subtle"
	"net/http"

	"sluice/flow"
	"sluice/handlers/web"
)

// knownCookie keeps that a person has signed in with a browser. It lets nobody
// in: it only keeps the failures of others apart.
func (s *Server) knownCookie() string {
	if s.Encrypted() {
		return "__Host-known"
	}
	return "sluice_known"
}

// knownMark is worthless once the person has another password.
func knownMark(u *flow.User) string { return flow.Hash([]byte("known|" + u.ID + "|" + u.PasswordHash)) }

// knowBrowser marks the browser as one of the person's.
func (c *call) knowBrowser(u *flow.User) {
	c.SetCookie(&http.Cookie{
		Name: c.s.knownCookie(), Value: knownMark(u), Path: "/", MaxAge: int(web.BrowserMemory.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.s.Sessions.Cookie.Secure,
	})
}

func (c *call) knowsBrowser(u *flow.User) bool {
	cookie, err := c.Cookie(c.s.knownCookie())
	return err == nil && subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(knownMark(u))) == 1
}

// keptWorkspace is the workspace of last time; empty when there was none.
func (c *call) keptWorkspace() string {
	cookie, err := c.Cookie(c.s.WorkspaceCookie())
	if err != nil {
		return ""
	}
	return cookie.Value
}
