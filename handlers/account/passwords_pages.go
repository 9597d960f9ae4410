package account

import (
	"cmp"
	"fmt"
	"net/http"

	"sluice/flow"
	"sluice/flow/fairness"
	"sluice/handlers/passwords"
	"sluice/handlers/web"
	accountview "sluice/views/account"
	"sluice/views/components"
)

// passwordRoutes returns the routes for changing a password, and for setting a new one
// with a link that an owner created.
func (s *Server) passwordRoutes() []route {
	return []route{
		{"GET", "/password", web.SignedIn, s.showPassword},
		{"POST", "/password", web.SignedIn, web.Posted(s.changePassword)},
		{"GET", "/password/forgot", web.Open, s.showForgot},
		{"POST", "/password/forgot", web.Open, web.Posted(s.mailReset)},
		{"GET", "/password/reset", web.Open, s.showReset},
		{"POST", "/password/reset", web.Open, web.Posted(s.resetPassword)},
	}
}

// showPassword is GET /password.
func (s *Server) showPassword(c *call) error {
	if keeps, err := c.keepsPassword(c.Member.UserID); !keeps {
		return cmp.Or(err, error(web.ErrNotFound))
	}
	return c.renderPassword(http.StatusOK, nil)
}

// renderPassword renders the form for a new password.
func (c *call) renderPassword(status int, e components.Errors) error {
	return c.Render(status, accountview.ChangePassword(c.Page("Change password", ""), accountview.PasswordForm{Email: c.Member.Email, Errors: e}))
}

// changePassword is POST /password. It signs out the other browsers of the
// user. Attempts at the current password are limited as at sign-in, in case the
// session was stolen.
func (s *Server) changePassword(c *call) error {
	if e := web.FieldErrors(map[string]string{"new": passwords.Check(c.FormValue("new"), c.Member.Email)}); len(e) > 0 {
		return c.renderPassword(http.StatusUnprocessableEntity, e)
	}
	u, wait, err := c.authenticate(c.Member.Email, c.FormValue("current"))
	switch {
	case err != nil:
		return err
	case wait > 0:
		c.RetryAfter(wait)
		return c.renderPassword(http.StatusTooManyRequests, components.Errors{"": "Too many attempts. Try again in " + web.WaitText(wait) + "."})
	case u == nil:
		return c.renderPassword(http.StatusUnprocessableEntity, components.Errors{"current": "Wrong password. Enter your current password."})
	}
	hash, err := s.Hasher.Hash(c.Ctx(), c.FormValue("new"))
	if err != nil {
		return err
	}
	if err := s.members.SetPassword(c.Ctx(), c.Actor(), c.Member, hash, c.SessionID()); err != nil {
		return fmt.Errorf("change the password of %s: %w", u.ID, err)
	}
	if err := s.Sessions.RenewToken(c.Ctx()); err != nil {
		return fmt.Errorf("renew the session: %w", err)
	}
	u.PasswordHash = hash
	c.markBrowser(u)
	c.Toast(components.ToneOK, "Your password was changed. All other browsers were signed out.")
	return c.Redirect("/flows")
}

// findReset returns the password reset for a token, or nil if the link is not
// valid.
func (c *call) findReset(token string) (*flow.Invite, error) {
	i, err := c.s.Store.FindInvite(c.Ctx(), flow.Hash([]byte(token)))
	if flow.IsNotFound(err) || err == nil && i.UserID == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if keeps, err := c.keepsPassword(i.UserID); !keeps {
		return nil, err
	}
	return i, nil
}

// renderInvalidLink renders the page for a link that is invalid, used or
// expired. It is the same in all cases.
func (c *call) renderInvalidLink() error {
	return c.Render(http.StatusNotFound, accountview.LinkOver(c.Page("Link", ""), flow.InviteLife, flow.ResetLife))
}

// freeLinkTries is the number of invalid links that an address may open before it has
// to wait.
const freeLinkTries = 30

// countInvalidLink counts an invalid link for the client address, and refuses the
// address after too many. Links are looked up first, so valid ones are never
// refused.
func (c *call) countInvalidLink(token string) error {
	if token == "" {
		return nil
	}
	wait, err := c.s.Store.TakeTry(c.Ctx(), fairness.Try{Name: web.AttemptKey("link", web.RateLimitKey(c.IP())), Free: freeLinkTries})
	if err != nil || wait == 0 {
		return err
	}
	c.RetryAfter(wait)
	return web.NewError(http.StatusTooManyRequests, "Too many invalid links were opened from your network. Try again in "+web.WaitText(wait)+".")
}

// respondInvalidLink responds to an invalid or expired link, or refuses the address
// after too many of them.
func (c *call) respondInvalidLink(token string) error {
	if err := c.countInvalidLink(token); err != nil {
		return err
	}
	return c.renderInvalidLink()
}

// showReset is GET /password/reset.
func (s *Server) showReset(c *call) error {
	token := c.QueryParam("token")
	i, err := c.findReset(token)
	if err != nil {
		return err
	}
	if i == nil {
		return c.respondInvalidLink(token)
	}
	return c.Render(http.StatusOK, accountview.NewPassword(c.Page("New password", ""), accountview.NewPasswordForm{Token: token, Email: i.Email}))
}

// resetPassword is POST /password/reset: it sets the password and signs the
// user in with this browser. All other sessions end.
func (s *Server) resetPassword(c *call) error {
	token := c.FormValue("token")
	i, err := c.findReset(token)
	if err != nil {
		return err
	}
	if i == nil {
		return c.respondInvalidLink(token)
	}
	if e := web.FieldErrors(map[string]string{"password": passwords.Check(c.FormValue("password"), i.Email)}); len(e) > 0 {
		f := accountview.NewPasswordForm{Token: token, Email: i.Email, Errors: e}
		return c.Render(http.StatusUnprocessableEntity, accountview.NewPassword(c.Page("New password", ""), f))
	}
	hash, err := s.Hasher.Hash(c.Ctx(), c.FormValue("password"))
	if err != nil {
		return err
	}
	if err = s.members.ResetPassword(c.Ctx(), c.IP(), token, i, hash); err != nil {
		if flow.IsNotFound(err) {
			return c.renderInvalidLink()
		}
		return fmt.Errorf("set the password of %s: %w", i.UserID, err)
	}
	u, err := s.Store.FindUser(c.Ctx(), i.UserID)
	if err != nil {
		return err
	}
	return c.passPassword(u, pending{WorkspaceID: i.WorkspaceID})
}
