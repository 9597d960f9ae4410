package pages

import (
	"crypto/subtle"
	"net/http"
	"time"

	"sluice/flow"
)

// knownLife is how long a browser stays known after its last sign-in.
const knownLife = 180 * 24 * time.Hour

// knownCookie keeps that a person has signed in with a browser. It lets nobody
// in: it only keeps the failures of others apart.
func (s *Server) knownCookie() string {
	if s.encrypted() {
		return "__Host-known"
	}
	return "sluice_known"
}

// knownMark is worthless once the person has another password.
func knownMark(u *flow.User) string { return flow.Hash([]byte("known|" + u.ID + "|" + u.PasswordHash)) }

// knowBrowser marks the browser as one of the person's.
func (c *call) knowBrowser(u *flow.User) {
	c.SetCookie(&http.Cookie{
		Name: c.s.knownCookie(), Value: knownMark(u), Path: "/", MaxAge: int(knownLife.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.s.sessions.Cookie.Secure,
	})
}

func (c *call) knowsBrowser(u *flow.User) bool {
	cookie, err := c.Cookie(c.s.knownCookie())
	return err == nil && subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(knownMark(u))) == 1
}

// workspaceCookie keeps the workspace that this browser was in last, for the
// next sign-in. It opens nothing: only a member gets in.
func (s *Server) workspaceCookie() string {
	if s.encrypted() {
		return "__Host-workspace"
	}
	return "sluice_workspace"
}

// keepWorkspace remembers where the person works now.
func (c *call) keepWorkspace() {
	if c.ws() == "" {
		return
	}
	c.SetCookie(&http.Cookie{
		Name: c.s.workspaceCookie(), Value: c.ws(), Path: "/", MaxAge: int(knownLife.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.s.sessions.Cookie.Secure,
	})
}

// keptWorkspace is the workspace of last time; empty when there was none.
func (c *call) keptWorkspace() string {
	cookie, err := c.Cookie(c.s.workspaceCookie())
	if err != nil {
		return ""
	}
	return cookie.Value
}
