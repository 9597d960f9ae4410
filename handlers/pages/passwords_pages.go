package pages

import (
	"errors"
	"fmt"
	"net/http"

	"sluice/flow"
	"sluice/views"
)

func (s *Server) passwordRoutes() []route {
	return []route{
		{"GET", "/password", accessPerson, s.showPassword},
		{"POST", "/password", accessPerson, s.changePassword},
		{"GET", "/password/reset", accessOpen, s.showReset},
		{"POST", "/password/reset", accessOpen, s.resetPassword},
	}
}

func (s *Server) showPassword(c *call) error { return c.renderPassword(http.StatusOK, nil) }

func (c *call) renderPassword(status int, e views.Errors) error {
	return c.render(status, views.ChangePassword(c.page("Change password", ""), views.PasswordForm{Email: c.member.Email, Errors: e}))
}

// changePassword signs the person's other browsers out. Who guesses at the
// present password from an open session waits as at sign-in.
func (s *Server) changePassword(c *call) error {
	if err := c.form(); err != nil {
		return err
	}
	if e := wrong(map[string]string{"new": CheckPassword(c.FormValue("new"), c.member.Email)}); len(e) > 0 {
		return c.renderPassword(http.StatusUnprocessableEntity, e)
	}
	u, wait, err := c.authenticate(c.member.Email, c.FormValue("current"))
	switch {
	case err != nil:
		return err
	case wait > 0:
		c.retryAfter(wait)
		return c.renderPassword(http.StatusTooManyRequests, views.Errors{"": "Too many tries. The next one is possible in " + inWords(wait) + "."})
	case u == nil:
		return c.renderPassword(http.StatusUnprocessableEntity, views.Errors{"current": "This is not your current password."})
	}
	hash, err := s.hasher.hash(c.ctx(), c.FormValue("new"))
	if err != nil {
		return err
	}
	if err := s.Store.SetPassword(c.ctx(), u.ID, hash, c.sessionID()); err != nil {
		return fmt.Errorf("change the password of %s: %w", u.ID, err)
	}
	if err := s.sessions.RenewToken(c.ctx()); err != nil {
		return fmt.Errorf("renew the session: %w", err)
	}
	u.PasswordHash = hash
	c.knowBrowser(u)
	c.toast(views.ToneOK, "Your password is changed. All other browsers are signed out.")
	return c.auditAndSee("/flows", "password.change", "", "")
}

// resetOf finds whose password a link sets; nil where it sets none.
func (c *call) resetOf(token string) (*flow.Invite, error) {
	i, err := c.s.Store.FindInvite(c.ctx(), flow.Hash([]byte(token)))
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) || err == nil && i.UserID == "" {
		return nil, nil
	}
	return i, err
}

func (c *call) renderLinkOver() error {
	return c.render(http.StatusNotFound, views.LinkOver(c.page("Link", "")))
}

// freeLinks is how many invalid links an address may open before it has to
// wait.
const freeLinks = 30

// countLink counts an invalid link for the client address, and refuses the
// address after too many. Links are looked up first, so valid ones are never
// refused.
func (c *call) countLink(token string) error {
	if token == "" {
		return nil
	}
	wait, err := c.s.Store.TakeTry(c.ctx(), flow.Try{Name: tryName("link", network(c.ip())), Free: freeLinks})
	if err != nil || wait == 0 {
		return err
	}
	c.retryAfter(wait)
	return &pageError{http.StatusTooManyRequests, "Too many links that do not work were opened from your network. Try again in " + inWords(wait) + "."}
}

// refuseLink responds to a link that is invalid or has expired.
func (c *call) refuseLink(token string) error {
	if err := c.countLink(token); err != nil {
		return err
	}
	return c.renderLinkOver()
}

func (s *Server) showReset(c *call) error {
	token := c.QueryParam("token")
	i, err := c.resetOf(token)
	if err != nil {
		return err
	}
	if i == nil {
		return c.refuseLink(token)
	}
	return c.render(http.StatusOK, views.NewPassword(c.page("New password", ""), views.NewPasswordForm{Token: token, Email: i.Email}))
}

// resetPassword sets the password that a link allows, and signs the person in
// here alone.
func (s *Server) resetPassword(c *call) error {
	if err := c.form(); err != nil {
		return err
	}
	token := c.FormValue("token")
	i, err := c.resetOf(token)
	if err != nil {
		return err
	}
	if i == nil {
		return c.refuseLink(token)
	}
	if e := wrong(map[string]string{"password": CheckPassword(c.FormValue("password"), i.Email)}); len(e) > 0 {
		f := views.NewPasswordForm{Token: token, Email: i.Email, Errors: e}
		return c.render(http.StatusUnprocessableEntity, views.NewPassword(c.page("New password", ""), f))
	}
	hash, err := s.hasher.hash(c.ctx(), c.FormValue("password"))
	if err != nil {
		return err
	}
	if _, err = s.Store.ResetPassword(c.ctx(), flow.Hash([]byte(token)), hash); err != nil {
		if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
			return c.renderLinkOver()
		}
		return fmt.Errorf("set the password of %s: %w", i.UserID, err)
	}
	if err := c.welcome(i.UserID, i.WorkspaceID); err != nil {
		return err
	}
	c.toast(views.ToneOK, "Your new password is set.")
	return c.auditAndSee("/flows", "password.reset", "", "")
}
