package account

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"sluice/flow"
	"sluice/handlers/passwords"
	"sluice/handlers/web"
	accountview "sluice/views/account"
	"sluice/views/components"
	"sluice/views/layout"
)

func (s *Server) signInRoutes() []route {
	return []route{
		{"GET", "/", web.SignedIn, s.home},
		{"GET", "/sign-in", web.Open, s.showSignIn},
		{"POST", "/sign-in", web.Open, web.Posted(s.signIn)},
		{"POST", "/sign-out", web.Open, s.signOut},
		{"POST", "/theme", web.Open, web.Posted(s.setTheme)},
	}
}

func (s *Server) home(c *call) error { return c.Redirect("/flows") }

func (s *Server) showSignIn(c *call) error {
	if s.Sessions.GetString(c.Ctx(), web.SessionUser) != "" {
		return c.Redirect(web.LocalPath(c.QueryParam("next")))
	}
	return c.renderSignIn(http.StatusOK, accountview.SignInForm{Next: c.QueryParam("next")})
}

func (c *call) renderSignIn(status int, f accountview.SignInForm) error {
	f.SignUp = c.s.SignUp
	return c.Render(status, accountview.SignIn(c.Page("Sign in", ""), f))
}

// signIn lets a person in. Whether the e-mail or the password is wrong, the
// answer and the time it takes are the same.
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
		f.Errors = components.Errors{"": "Too many tries. The next one is possible in " + web.WaitText(wait) + "."}
		return c.renderSignIn(http.StatusTooManyRequests, f)
	case u == nil:
		c.holdUntil(began.Add(refusalTime))
		f.Errors = components.Errors{"": "E-mail and password do not fit together."}
		return c.renderSignIn(http.StatusUnprocessableEntity, f)
	}
	if err := c.welcome(u.ID, c.keptWorkspace()); err != nil {
		return err
	}
	c.knowBrowser(u)
	return c.Redirect(web.LocalPath(f.Next))
}

// refusalTime is how long it takes to refuse somebody: more than hashing the
// password and, of a known person only, writing it into logs.
const refusalTime = 250 * time.Millisecond

func (c *call) holdUntil(t time.Time) {
	left := time.NewTimer(time.Until(t))
	defer left.Stop()
	select {
	case <-left.C:
	case <-c.Ctx().Done():
	}
}

// welcome signs a person in, to a workspace if it is one of theirs, or else the
// first of those.
func (c *call) welcome(userID, ws string) error {
	if err := c.StartSession(userID, ws); err != nil {
		return err
	}
	return c.Audit("session.begin", "", web.DeviceName(c.Request().UserAgent()))
}

// authenticate finds whose e-mail and password these are: nobody's, or with a
// wait, not to be asked yet.
func (c *call) authenticate(email, password string) (*flow.User, time.Duration, error) {
	u, err := c.maybeUser(c.s.Store.FindUserByEmail(c.Ctx(), email))
	if err != nil {
		return nil, 0, fmt.Errorf("find who signs in: %w", err)
	}
	account, address := c.tries(email, u)
	wait, err := c.s.Store.TakeTry(c.Ctx(), account, address)
	if wait > 0 || err != nil {
		return nil, wait, err
	}
	hash := passwords.UnknownUserHash
	if u != nil {
		hash = u.PasswordHash
	}
	fits, err := c.s.Hasher.Matches(c.Ctx(), password, hash)
	if err != nil {
		return nil, 0, err
	}
	if u == nil || !fits {
		return nil, 0, c.auditRefused(u)
	}
	return u, 0, c.s.Store.ForgiveTry(c.Ctx(), account.Name, address.Name)
}

// tries are what an attempt counts under. A browser in which the person has
// signed in before has counts of its own, or anybody could lock them out for
// ever by guessing all the time.
func (c *call) tries(email string, u *flow.User) (account, address flow.Try) {
	email = strings.ToLower(strings.TrimSpace(email))
	who, from := "account", "address"
	where := web.RateLimitKey(c.IP())
	if u != nil && c.knowsBrowser(u) {
		who, from, where = "known account", "known address", where+" "+email
	}
	return flow.Try{Name: web.AttemptKey(who, email), Free: web.FreeTriesPerAccount}, flow.Try{Name: web.AttemptKey(from, where), Free: web.FreeTriesPerAddress}
}

// auditRefused tells every workspace of a person that somebody failed to sign
// in as them. Of an unknown e-mail there is nobody to tell.
func (c *call) auditRefused(u *flow.User) error {
	if u == nil {
		return nil
	}
	list, err := c.s.Store.ListMemberships(c.Ctx(), u.ID)
	if err != nil {
		return err
	}
	for _, m := range list {
		e := flow.AuditEntry{WorkspaceID: m.WorkspaceID, Action: "session.refuse", Target: u.Email, Detail: web.DeviceName(c.Request().UserAgent()), IP: c.IP()}
		if err := c.s.Store.AddAudit(c.Ctx(), e); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) signOut(c *call) error {
	if err := c.Identify(); err == nil {
		if err := c.Audit("session.end", "", ""); err != nil {
			return err
		}
	}
	if err := s.Sessions.Destroy(c.Ctx()); err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	return c.Redirect("/sign-in")
}

// setTheme is for browsers without scripts; with them the page does it itself.
func (s *Server) setTheme(c *call) error {
	cookie := &http.Cookie{Name: "theme", Value: string(layout.ParseTheme(c.FormValue("theme"))), Path: "/", MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode, Secure: s.Sessions.Cookie.Secure}
	c.SetCookie(cookie)
	return c.Redirect(web.LocalPath(web.Referrer(c.Request())))
}
