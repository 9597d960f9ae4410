package account

import (
	"crypto/subtle"
	"net/http"

	"sluice/flow"
	"sluice/handlers/web"
)

// knownBrowserCookie is the name of the cookie that marks a browser in which a
// user has signed in. It grants no access; see countersFor.
func (s *Server) knownBrowserCookie() string {
	if s.Encrypted() {
		return "__Host-known"
	}
	return "sluice_known"
}

// browserMark returns the value of the cookie, which a new password invalidates.
func browserMark(u *flow.User) string {
	return flow.Hash([]byte("known|" + u.ID + "|" + u.PasswordHash))
}

// markBrowser marks the browser as one of the user's.
func (c *call) markBrowser(u *flow.User) {
	c.SetCookie(&http.Cookie{
		Name: c.s.knownBrowserCookie(), Value: browserMark(u), Path: "/", MaxAge: int(web.BrowserMemory.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.s.Sessions.Cookie.Secure,
	})
}

// isMarkedBrowser reports whether the user has signed in with this browser
// before.
func (c *call) isMarkedBrowser(u *flow.User) bool {
	cookie, err := c.Cookie(c.s.knownBrowserCookie())
	return err == nil && subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(browserMark(u))) == 1
}

// lastWorkspace returns the workspace that was open last in this browser, or
// "".
func (c *call) lastWorkspace() string {
	cookie, err := c.Cookie(c.s.WorkspaceCookie())
	if err != nil {
		return ""
	}
	return cookie.Value
}
