package account

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/fairness"
	"sluice/handlers/passwords"
	"sluice/handlers/web"
	accountview "sluice/views/account"
	"sluice/views/components"
	"sluice/views/layout"
)

// signInRoutes returns the routes of signing in and out. Signing out and the theme also work
// after the session has ended.
func (s *Server) signInRoutes() []route {
	return []route{
		{"GET", "/", web.SignedIn, s.home},
		{"GET", "/sign-in", web.Open, s.showSignIn},
		{"POST", "/sign-in", web.Open, web.Posted(s.signIn)},
		{"POST", "/sign-out", web.Open, s.signOut},
		{"POST", "/theme", web.Open, web.Posted(s.setTheme)},
	}
}

// home is GET /.
func (s *Server) home(c *call) error { return c.Redirect("/flows") }

// showSignIn is GET /sign-in. It redirects if the user is already signed in.
func (s *Server) showSignIn(c *call) error {
	switch err := c.Identify(); {
	case err == nil || errors.Is(err, web.ErrNoWorkspace):
		return c.Redirect(web.LocalPath(c.QueryParam("next")))
	case !errors.Is(err, web.ErrSignedOut):
		return err
	}
	return c.renderSignIn(http.StatusOK, accountview.SignInForm{Next: c.QueryParam("next")})
}

// renderSignIn renders the sign-in form.
func (c *call) renderSignIn(status int, f accountview.SignInForm) error {
	f.SignUp, f.Mail, f.PasswordsOff = c.s.SignUp, c.s.Mail != nil, c.s.PasswordsOff
	f.Providers = c.providerLinks(f.Next)
	return c.Render(status, accountview.SignIn(c.Page("Sign in", ""), f))
}

// signIn is POST /sign-in. The response and its timing do not disclose whether
// the e-mail address or the password was wrong.
func (s *Server) signIn(c *call) error {
	began := time.Now()
	f := accountview.SignInForm{Next: c.FormValue("next"), Email: c.FormValue("email")}
	u, wait, err := c.authenticate(f.Email, c.FormValue("password"))
	if err != nil {
		return err
	}
	switch {
	case wait > 0:
		c.RetryAfter(wait)
		f.Errors = components.Errors{"": "Too many attempts. Try again in " + web.WaitText(wait) + "."}
		return c.renderSignIn(http.StatusTooManyRequests, f)
	case u == nil:
		c.waitUntil(began.Add(refusalTime))
		f.Errors = components.Errors{"": "Wrong email or password."}
		if s.PasswordsOff {
			f.Errors[""] = "Wrong email or password, or this account has to sign in with a provider."
		}
		return c.renderSignIn(http.StatusUnprocessableEntity, f)
	}
	return c.passPassword(u, pending{Next: f.Next, WorkspaceID: flow.WorkspaceID(c.lastWorkspace())})
}

// refusalTime is the minimum duration of a refused sign-in. It is longer than comparing two
// passwords and writing the audit log, so it hides the latter, which happens for existing
// users only.
const refusalTime = 400 * time.Millisecond

// waitUntil waits until t or the end of the request.
func (c *call) waitUntil(t time.Time) {
	left := time.NewTimer(time.Until(t))
	defer left.Stop()
	select {
	case <-left.C:
	case <-c.Ctx().Done():
	}
}

// signInUser starts a session in the workspace if the user is a member of it,
// else in the user's first workspace. method says how the user signed in.
func (c *call) signInUser(userID string, ws flow.WorkspaceID, method string) error {
	if err := c.StartSession(userID, ws, method); err != nil {
		return err
	}
	err := c.s.sessions.Begin(c.Ctx(), c.Actor(), c.WorkspaceID(), web.DeviceName(c.Request().UserAgent()))
	if err == nil {
		return nil
	}
	return errors.Join(err, c.s.Sessions.Destroy(c.Ctx()))
}

// authenticate returns the user with this e-mail address and password. It
// returns nil if they are wrong, and a wait if there were too many attempts.
func (c *call) authenticate(email, password string) (*flow.User, time.Duration, error) {
	u, err := c.userOrNil(c.s.Store.FindUserByEmail(c.Ctx(), email))
	if err != nil {
		return nil, 0, fmt.Errorf("find user: %w", err)
	}
	unverified, err := c.userOrNil(c.s.Store.FindUnverifiedUser(c.Ctx(), email))
	if err != nil {
		return nil, 0, fmt.Errorf("find unverified user: %w", err)
	}
	if unverified == nil && !c.s.SignUp { // otherwise, the time must not show which of them exists
		return c.checkPassword(email, password, u)
	}
	return c.checkPassword(email, password, u, unverified)
}

// checkPassword is authenticate for the users who may sign in with an address; nil for each that
// does not exist. It always compares as many passwords.
func (c *call) checkPassword(email, password string, users ...*flow.User) (*flow.User, time.Duration, error) {
	u, wait, err := c.checkOwnPassword(email, password, users...)
	if u == nil || wait > 0 || err != nil {
		return u, wait, err
	}
	if keeps, err := c.keepsPassword(u.ID); !keeps || err != nil {
		return nil, 0, errors.Join(err, c.auditRefused(u))
	}
	return u, 0, nil
}

// checkOwnPassword is checkPassword also for users who may not sign in with their password alone.
func (c *call) checkOwnPassword(email, password string, users ...*flow.User) (*flow.User, time.Duration, error) {
	u := users[0]
	for _, other := range users[1:] {
		if u == nil || other != nil && !c.isMarkedBrowser(u) && c.isMarkedBrowser(other) {
			u = other
		}
	}
	account, address := c.countersFor(email, u)
	wait, err := c.s.Store.TakeTry(c.Ctx(), account, address)
	if wait > 0 || err != nil {
		return nil, wait, err
	}
	var found *flow.User
	for _, user := range users {
		hash := passwords.UnknownUserHash
		if user != nil && user.PasswordHash != "" { // people of an identity provider have none
			hash = user.PasswordHash
		}
		matches, err := c.s.Hasher.Matches(c.Ctx(), password, hash)
		if err != nil {
			return nil, 0, err
		}
		if found == nil && user != nil && user.PasswordHash != "" && matches {
			found = user
		}
	}
	if found == nil {
		return nil, 0, c.auditRefused(u)
	}
	return found, 0, c.s.Store.ForgiveTry(c.Ctx(), account.Name, address.Name)
}

// keepsPassword reports whether a user may sign in with a password.
func (c *call) keepsPassword(userID string) (bool, error) {
	if !c.s.PasswordsOff {
		return true, nil
	}
	owner, err := c.userOrNil(c.s.Store.FirstPasswordOwner(c.Ctx()))
	return owner != nil && owner.ID == userID, err
}

// countersFor returns the counters for an attempt to sign in. A browser in
// which the user has signed in before has counters of its own; otherwise,
// anyone could lock the user out by guessing all the time.
func (c *call) countersFor(email string, u *flow.User) (account, address fairness.Try) {
	email = strings.ToLower(strings.TrimSpace(email))
	who, from := "account", "address"
	where := web.RateLimitKey(c.IP())
	if u != nil && c.isMarkedBrowser(u) {
		who, from, where = "known account", "known address", where+" "+email
	}
	return fairness.Try{Name: web.AttemptKey(who, email), Free: web.FreeTriesPerAccount}, fairness.Try{Name: web.AttemptKey(from, where), Free: web.FreeTriesPerAddress}
}

// auditRefused writes a failed sign-in to the audit log of every workspace of
// the user. Attempts with an unknown address are not logged.
func (c *call) auditRefused(u *flow.User) error {
	if u == nil {
		return nil
	}
	return c.s.sessions.Refuse(c.Ctx(), c.IP(), web.DeviceName(c.Request().UserAgent()), u)
}

// signOut is POST /sign-out. It also succeeds without a session.
func (s *Server) signOut(c *call) error {
	if c.Identify() == nil {
		if err := s.sessions.End(c.Ctx(), c.Actor(), c.WorkspaceID(), c.SessionID(), ""); err != nil && !flow.IsNotFound(err) {
			return err
		}
	}
	provider, away := c.signOutURL()
	if err := s.Sessions.Destroy(c.Ctx()); err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	if away != "" {
		return c.renderSignedOut(provider, away)
	}
	return c.Redirect("/sign-in")
}

// setTheme is POST /theme, for browsers without scripts.
func (s *Server) setTheme(c *call) error {
	cookie := &http.Cookie{Name: "theme", Value: string(layout.ParseTheme(c.FormValue("theme"))), Path: "/", MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode, Secure: s.Sessions.Cookie.Secure}
	c.SetCookie(cookie)
	return c.Redirect(web.LocalPath(web.Referrer(c.Request())))
}
