package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"sluice/flow"
	"sluice/flow/fairness"
	"sluice/flow/people"
	"sluice/handlers/factor"
	"sluice/handlers/web"
	accountview "sluice/views/account"
	"sluice/views/components"
)

// A sign-in may take more than one step: an owner confirms a new account of a provider with the password, and a user
// with a second factor enters a code after the password. Between the steps, the session of the browser has no user
// but a pending sign-in, for ten minutes at most.

// stepRoutes returns the routes of the further steps of a sign-in.
func (s *Server) stepRoutes() []route {
	return []route{
		{"GET", "/sign-in/code", web.Open, s.showCode},
		{"POST", "/sign-in/code", web.Open, web.Posted(s.enterCode)},
		{"GET", "/sign-in/confirm", web.Open, s.showConfirm},
		{"POST", "/sign-in/confirm", web.Open, web.Posted(s.confirmOwner)},
	}
}

// pending is a sign-in between its steps.
type pending struct {
	UserID      string           `json:"user,omitempty"` // whose password was right; "" before
	WorkspaceID flow.WorkspaceID `json:"workspace,omitempty"`
	Next        string           `json:"next,omitempty"`
	Identity    *people.Identity `json:"identity,omitempty"` // who signed in at a provider
	Provider    string           `json:"provider,omitempty"` // ID of that provider
	IDToken     string           `json:"id_token,omitempty"`
}

// pendingKey is the session value with the pending sign-in.
const pendingKey = "pending"

// holdSignIn stores a sign-in for its next step, with a new token against session fixation.
func (c *call) holdSignIn(p pending) error {
	m := c.s.Sessions
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("store a pending sign-in: %w", err)
	}
	if err := errors.Join(m.Clear(c.Ctx()), m.RenewToken(c.Ctx())); err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	m.Put(c.Ctx(), pendingKey, string(text))
	return nil
}

// heldSignIn returns the pending sign-in of the browser.
func (c *call) heldSignIn() (p pending, ok bool) {
	text := c.s.Sessions.GetString(c.Ctx(), pendingKey)
	return p, text != "" && json.Unmarshal([]byte(text), &p) == nil
}

// passPassword continues a sign-in with the right password: with the second factor if the user has one.
func (c *call) passPassword(u *flow.User, p pending) error {
	f, err := c.s.Store.FindSecondFactor(c.Ctx(), u.ID)
	if err != nil {
		return fmt.Errorf("find the second factor of %s: %w", u.ID, err)
	}
	if !f.Confirmed() {
		return c.prove(u, p, web.MethodPassword)
	}
	p.UserID = u.ID
	if err := c.holdSignIn(p); err != nil {
		return err
	}
	return c.Redirect("/sign-in/code")
}

// prove ends a sign-in with a password. If it confirms an account of a provider, the account signs in from now on.
func (c *call) prove(u *flow.User, p pending, method string) error {
	if p.Identity != nil {
		if err := c.s.identities.Link(c.Ctx(), c.IP(), u, *p.Identity); err != nil {
			return err
		}
		return c.complete(u, p)
	}
	if err := c.signInUser(u.ID, p.WorkspaceID, method); err != nil {
		return err
	}
	c.markBrowser(u)
	return c.Redirect(web.LocalPath(p.Next))
}

// maxStoredToken is the maximum length of an ID token that a session keeps for signing out at the provider.
const maxStoredToken = 8 << 10

// complete signs in a user whom a provider vouches for.
func (c *call) complete(u *flow.User, p pending) error {
	ws := p.Identity.WorkspaceID
	if last := c.lastWorkspace(); last != "" {
		ws = flow.WorkspaceID(last)
	}
	if err := c.signInUser(u.ID, ws, web.MethodProvider+p.Provider); err != nil {
		return err
	}
	if len(p.IDToken) <= maxStoredToken {
		c.s.Sessions.Put(c.Ctx(), web.SessionIDToken, p.IDToken)
	}
	return c.Redirect(web.LocalPath(p.Next))
}

// showCode is GET /sign-in/code.
func (s *Server) showCode(c *call) error {
	if p, ok := c.heldSignIn(); !ok || p.UserID == "" {
		return c.Redirect("/sign-in")
	}
	return c.renderCode(http.StatusOK, nil)
}

func (c *call) renderCode(status int, e components.Errors) error {
	return c.Render(status, accountview.EnterCode(c.Page("Enter a code", ""), e))
}

// enterCode is POST /sign-in/code. Attempts are counted for the user, since anyone who gets here knows the password.
func (s *Server) enterCode(c *call) error {
	p, ok := c.heldSignIn()
	if !ok || p.UserID == "" {
		return c.Redirect("/sign-in")
	}
	u, err := s.Store.FindUser(c.Ctx(), p.UserID)
	if err != nil {
		return err
	}
	f, err := s.Store.FindSecondFactor(c.Ctx(), u.ID)
	if err != nil {
		return err
	}
	if !f.Confirmed() { // it was turned off meanwhile: begin again, with the password
		if err := s.Sessions.Destroy(c.Ctx()); err != nil {
			return err
		}
		return c.Redirect("/sign-in")
	}
	right, wait, err := c.checkCode(f, c.FormValue("code"))
	switch {
	case err != nil:
		return err
	case wait != "":
		return c.renderCode(http.StatusTooManyRequests, components.Errors{"": "Too many attempts. Try again in " + wait + "."})
	case !right:
		return c.renderCode(http.StatusUnprocessableEntity, components.Errors{"code": "This code does not work. Each code works once: wait for the next one, or enter a recovery code."})
	}
	return c.prove(u, p, web.MethodCode)
}

// checkCode reports whether a code of the second factor or a recovery code is right, and uses it up. wait is how long to
// wait after too many attempts, or "".
func (c *call) checkCode(f *flow.SecondFactor, entered string) (right bool, wait string, err error) {
	try := fairness.Try{Name: web.AttemptKey("second factor", f.UserID), Free: web.FreeTriesPerAccount}
	from := fairness.Try{Name: web.AttemptKey("second factor from", web.RateLimitKey(c.IP())), Free: web.FreeTriesPerAddress}
	left, err := c.s.Store.TakeTry(c.Ctx(), try, from)
	if err != nil {
		return false, "", err
	}
	if left > 0 {
		c.RetryAfter(left)
		return false, web.WaitText(left), nil
	}
	if right, err = c.useCode(f, entered); err != nil {
		return false, "", err
	}
	if !right {
		u, err := c.s.Store.FindUser(c.Ctx(), f.UserID)
		if err != nil {
			return false, "", err
		}
		return false, "", c.auditRefused(u)
	}
	return true, "", c.s.Store.ForgiveTry(c.Ctx(), try.Name, from.Name)
}

// useCode uses up a code of the second factor, or a recovery code.
func (c *call) useCode(f *flow.SecondFactor, entered string) (bool, error) {
	if factor.IsCode(entered) {
		step, ok, err := factor.Match(f.Secret, entered, c.s.Now())
		if !ok || err != nil {
			return false, err
		}
		return c.s.Store.UseSecondFactor(c.Ctx(), f.UserID, step)
	}
	code := factor.Normalize(entered)
	if code == "" {
		return false, nil
	}
	return c.s.factors.Recover(c.Ctx(), c.IP(), f, flow.Hash([]byte(code)))
}

// showConfirm is GET /sign-in/confirm.
func (s *Server) showConfirm(c *call) error {
	p, ok := c.heldSignIn()
	if !ok || p.Identity == nil || p.UserID != "" {
		return c.Redirect("/sign-in")
	}
	return c.renderConfirm(http.StatusOK, p, nil)
}

func (c *call) renderConfirm(status int, p pending, e components.Errors) error {
	f := accountview.ConfirmForm{Provider: p.Identity.Provider, Email: p.Identity.Email, Errors: e}
	return c.Render(status, accountview.ConfirmOwner(c.Page("Confirm it is you", ""), f))
}

// confirmOwner is POST /sign-in/confirm: an owner confirms with the password that an account of a provider is theirs.
func (s *Server) confirmOwner(c *call) error {
	p, ok := c.heldSignIn()
	if !ok || p.Identity == nil || p.UserID != "" {
		return c.Redirect("/sign-in")
	}
	owner, err := c.userOrNil(s.Store.FindUserByEmail(c.Ctx(), p.Identity.Email))
	if err != nil {
		return err
	}
	u, wait, err := c.checkOwnPassword(p.Identity.Email, c.FormValue("password"), owner)
	switch {
	case err != nil:
		return err
	case wait > 0:
		c.RetryAfter(wait)
		return c.renderConfirm(http.StatusTooManyRequests, p, components.Errors{"": "Too many attempts. Try again in " + web.WaitText(wait) + "."})
	case u == nil:
		return c.renderConfirm(http.StatusUnprocessableEntity, p, components.Errors{"password": "Wrong password. Enter the password of your account here."})
	}
	return c.passPassword(u, p)
}
