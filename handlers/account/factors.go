package account

import (
	"fmt"
	"net/http"
	"net/url"

	"sluice/flow"
	"sluice/handlers/factor"
	"sluice/handlers/web"
	accountview "sluice/views/account"
	"sluice/views/components"
	"sluice/views/layout"
)

// factorRoutes returns the routes of the user's two-step sign-in.
func (s *Server) factorRoutes() []route {
	return []route{
		{"GET", web.FactorPath, web.SignedIn, s.showFactor},
		{"POST", web.FactorPath + "/begin", web.SignedIn, web.Posted(s.beginFactor)},
		{"POST", web.FactorPath + "/confirm", web.SignedIn, web.Posted(s.confirmFactor)},
		{"POST", web.FactorPath + "/codes", web.SignedIn, web.Posted(s.newCodes)},
		{"POST", web.FactorPath + "/off", web.SignedIn, web.Posted(s.turnFactorOff)},
	}
}

// showFactor is GET /settings/two-step.
func (s *Server) showFactor(c *call) error {
	return c.renderFactor(http.StatusOK, accountview.FactorPage{})
}

// renderFactor renders the page. p has what the response shows in addition, such as an error or new codes.
func (c *call) renderFactor(status int, p accountview.FactorPage) error {
	f, err := c.s.Store.FindSecondFactor(c.Ctx(), c.Member.UserID)
	if err != nil {
		return fmt.Errorf("find the second factor of %s: %w", c.Member.UserID, err)
	}
	u, err := c.s.Store.FindUser(c.Ctx(), c.Member.UserID)
	if err != nil {
		return err
	}
	p.Email, p.HasPassword, p.Required = c.Member.Email, u.PasswordHash != "", c.s.RequireFactor != "" && c.Member.Role.AtLeast(c.s.RequireFactor)
	if p.On = f.Confirmed(); p.On {
		p.Left, p.Since, p.Now = len(f.Recovery), f.ConfirmedAt, c.s.Now()
	} else if f != nil {
		p.Secret = f.Secret
		if p.QR, p.Side, err = factor.QR(factor.URI(f.Secret, c.issuer(), c.Member.Email)); err != nil {
			return err
		}
	}
	return c.Render(status, accountview.TwoStep(c.Page("Two-step sign-in", layout.SectionSettings), p))
}

// issuer returns the name of this server in authenticator apps.
func (c *call) issuer() string {
	u, err := url.Parse(c.s.PublicURL)
	if err != nil || u.Host == "" {
		return "Sluice"
	}
	return "Sluice " + u.Host
}

// withPassword reports whether the form has the password of the user; otherwise it has responded. A stolen session
// must not be able to change how the user signs in.
func (c *call) withPassword() (bool, error) {
	u, wait, err := c.authenticate(c.Member.Email, c.FormValue("password"))
	switch {
	case err != nil:
		return false, err
	case wait > 0:
		c.RetryAfter(wait)
		return false, c.renderFactor(http.StatusTooManyRequests, accountview.FactorPage{Errors: components.Errors{"": "Too many attempts. Try again in " + web.WaitText(wait) + "."}})
	case u == nil || u.ID != c.Member.UserID:
		return false, c.renderFactor(http.StatusUnprocessableEntity, accountview.FactorPage{Errors: components.Errors{"password": "Wrong password. Enter your current password."}})
	}
	return true, nil
}

// beginFactor is POST /settings/two-step/begin: it makes a secret, which the page shows until a first code confirms it.
func (s *Server) beginFactor(c *call) error {
	if ok, err := c.withPassword(); !ok {
		return err
	}
	if err := s.Store.OfferSecondFactor(c.Ctx(), c.Member.UserID, factor.NewSecret()); err != nil && !flow.IsNotFound(err) {
		return fmt.Errorf("offer a second factor: %w", err)
	}
	return c.Redirect(web.FactorPath)
}

// confirmFactor is POST /settings/two-step/confirm: the first code turns two-step sign-in on. The recovery codes are
// shown in this response only.
func (s *Server) confirmFactor(c *call) error {
	f, err := s.Store.FindSecondFactor(c.Ctx(), c.Member.UserID)
	if err != nil {
		return err
	}
	if f == nil || f.Confirmed() {
		return c.Redirect(web.FactorPath)
	}
	step, ok, err := factor.Match(f.Secret, c.FormValue("code"), s.Now())
	if err != nil {
		return err
	}
	if !ok {
		return c.renderFactor(http.StatusUnprocessableEntity, accountview.FactorPage{Errors: components.Errors{"code": "This code is wrong or has expired. Enter the current one. If it still fails, check the clock of the phone."}})
	}
	codes, hashes := newRecovery()
	if err := s.factors.Confirm(c.Ctx(), c.Actor(), step, hashes, c.SessionID()); err != nil {
		if flow.IsNotFound(err) { // a concurrent request confirmed it
			return c.Redirect(web.FactorPath)
		}
		return fmt.Errorf("turn on two-step sign-in: %w", err)
	}
	s.Sessions.Put(c.Ctx(), web.SessionMethod, web.MethodCode)
	if err := c.RenewToken(); err != nil {
		return err
	}
	return c.renderFactor(http.StatusOK, accountview.FactorPage{Codes: codes})
}

// newRecovery returns new recovery codes, and their hashes.
func newRecovery() (codes, hashes []string) {
	codes = factor.NewRecovery()
	for _, one := range codes {
		hashes = append(hashes, flow.Hash([]byte(one)))
	}
	return codes, hashes
}

// newCodes is POST /settings/two-step/codes: it replaces the recovery codes.
func (s *Server) newCodes(c *call) error {
	if ok, err := c.withPassword(); !ok {
		return err
	}
	f, err := s.Store.FindSecondFactor(c.Ctx(), c.Member.UserID)
	if err != nil {
		return err
	}
	if !f.Confirmed() {
		return c.Redirect(web.FactorPath)
	}
	codes, hashes := newRecovery()
	if err := s.factors.NewCodes(c.Ctx(), c.Actor(), f, hashes); err != nil {
		return fmt.Errorf("make recovery codes: %w", err)
	}
	return c.renderFactor(http.StatusOK, accountview.FactorPage{Codes: codes})
}

// turnFactorOff is POST /settings/two-step/off.
func (s *Server) turnFactorOff(c *call) error {
	if ok, err := c.withPassword(); !ok {
		return err
	}
	if err := s.factors.Off(c.Ctx(), c.Actor()); err != nil && !flow.IsNotFound(err) {
		return fmt.Errorf("turn off two-step sign-in: %w", err)
	}
	s.Sessions.Put(c.Ctx(), web.SessionMethod, web.MethodPassword)
	c.Toast(components.ToneOK, "Two-step sign-in is off.")
	return c.Redirect(web.FactorPath)
}
