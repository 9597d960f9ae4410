package pages

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/views"
)

// accountStore finds people who sign in, and counts the failures to.
type accountStore interface {
	FindUser(ctx context.Context, id string) (*flow.User, error)
	FindUserByEmail(ctx context.Context, email string) (*flow.User, error)
	SetPassword(ctx context.Context, userID, passwordHash, exceptSession string) error
	TakeTry(ctx context.Context, tries ...flow.Try) (wait time.Duration, err error)
	ForgiveTry(ctx context.Context, account, address string) error
}

func (s *Server) signInRoutes() []route {
	return []route{
		{"GET", "/", accessPerson, s.home},
		{"GET", "/sign-in", accessOpen, s.showSignIn},
		{"POST", "/sign-in", accessOpen, s.signIn},
		{"POST", "/sign-out", accessOpen, s.signOut},
		{"POST", "/theme", accessOpen, s.setTheme},
	}
}

func (s *Server) home(c *call) error { return c.see("/flows") }

func (s *Server) showSignIn(c *call) error {
	if s.sessions.GetString(c.ctx(), sessionUser) != "" {
		return c.see(localPath(c.QueryParam("next")))
	}
	return c.renderSignIn(http.StatusOK, views.SignInForm{Next: c.QueryParam("next")})
}

func (c *call) renderSignIn(status int, f views.SignInForm) error {
	f.SignUp = c.s.SignUp
	return c.render(status, views.SignIn(c.page("Sign in", ""), f))
}

// signIn lets a person in. Whether the e-mail or the password is wrong, the
// answer and the time it takes are the same.
func (s *Server) signIn(c *call) error {
	if err := c.form(); err != nil {
		return err
	}
	began := time.Now()
	f := views.SignInForm{Next: c.FormValue("next"), Email: c.FormValue("email")}
	u, wait, err := c.authenticate(f.Email, c.FormValue("password"))
	if err != nil {
		return err
	}
	switch {
	case wait > 0:
		c.retryAfter(wait)
		f.Errors = views.Errors{"": "Too many tries. The next one is possible in " + inWords(wait) + "."}
		return c.renderSignIn(http.StatusTooManyRequests, f)
	case u == nil:
		c.holdUntil(began.Add(refusalTime))
		f.Errors = views.Errors{"": "E-mail and password do not fit together."}
		return c.renderSignIn(http.StatusUnprocessableEntity, f)
	}
	if err := c.welcome(u.ID, c.keptWorkspace()); err != nil {
		return err
	}
	c.knowBrowser(u)
	return c.see(localPath(f.Next))
}

// refusalTime is how long it takes to refuse somebody: more than hashing the
// password and, of a known person only, writing it into logs.
const refusalTime = 250 * time.Millisecond

func (c *call) holdUntil(t time.Time) {
	left := time.NewTimer(time.Until(t))
	defer left.Stop()
	select {
	case <-left.C:
	case <-c.ctx().Done():
	}
}

// welcome signs a person in, to a workspace if it is one of theirs, or else the
// first of those.
func (c *call) welcome(userID, ws string) error {
	if err := c.begin(userID, ws); err != nil {
		return err
	}
	return c.audit("session.begin", "", deviceOf(c.Request().UserAgent()))
}

// Failures that cost no waiting. Behind one address may be a whole office.
const (
	freeByAccount = 5
	freeByAddress = 30
)

// authenticate finds whose e-mail and password these are: nobody's, or with a
// wait, not to be asked yet.
func (c *call) authenticate(email, password string) (*flow.User, time.Duration, error) {
	u, err := c.maybeUser(c.s.Store.FindUserByEmail(c.ctx(), email))
	if err != nil {
		return nil, 0, fmt.Errorf("find who signs in: %w", err)
	}
	account, address := c.tries(email, u)
	wait, err := c.s.Store.TakeTry(c.ctx(), account, address)
	if wait > 0 || err != nil {
		return nil, wait, err
	}
	hash := nobodysHash
	if u != nil {
		hash = u.PasswordHash
	}
	fits, err := c.s.hasher.fits(c.ctx(), password, hash)
	if err != nil {
		return nil, 0, err
	}
	if u == nil || !fits {
		return nil, 0, c.auditRefused(u)
	}
	return u, 0, c.s.Store.ForgiveTry(c.ctx(), account.Name, address.Name)
}

// tries are what an attempt counts under. A browser in which the person has
// signed in before has counts of its own, or anybody could lock them out for
// ever by guessing all the time.
func (c *call) tries(email string, u *flow.User) (account, address flow.Try) {
	email = strings.ToLower(strings.TrimSpace(email))
	who, from := "account", "address"
	where := network(c.ip())
	if u != nil && c.knowsBrowser(u) {
		who, from, where = "known account", "known address", where+" "+email
	}
	return flow.Try{Name: tryName(who, email), Free: freeByAccount}, flow.Try{Name: tryName(from, where), Free: freeByAddress}
}

// tryName hides what was tried: people type passwords into the wrong field.
func tryName(what, value string) string { return what + ":" + flow.Hash([]byte(value)) }

// auditRefused tells every workspace of a person that somebody failed to sign
// in as them. Of an unknown e-mail there is nobody to tell.
func (c *call) auditRefused(u *flow.User) error {
	if u == nil {
		return nil
	}
	list, err := c.s.Store.ListMemberships(c.ctx(), u.ID)
	if err != nil {
		return err
	}
	for _, m := range list {
		e := flow.AuditEntry{WorkspaceID: m.WorkspaceID, Action: "session.refuse", Target: u.Email, Detail: deviceOf(c.Request().UserAgent()), IP: c.ip()}
		if err := c.s.Store.AddAudit(c.ctx(), e); err != nil {
			return err
		}
	}
	return nil
}

// retryAfter tells programs what the page tells people.
func (c *call) retryAfter(wait time.Duration) {
	c.Response().Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

func inWords(wait time.Duration) string {
	switch seconds := int(math.Ceil(wait.Seconds())); {
	case seconds == 1:
		return "1 second"
	case seconds < 60:
		return strconv.Itoa(seconds) + " seconds"
	case seconds <= 60:
		return "1 minute"
	default:
		return strconv.Itoa((seconds+59)/60) + " minutes"
	}
}

// localPath is a path of ours or, for whatever else a link may carry, home.
func localPath(next string) string {
	u, err := url.Parse(next)
	ours := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//")
	if !ours || strings.ContainsFunc(next, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return "/flows"
	}
	return next
}

func (s *Server) signOut(c *call) error {
	if err := c.identify(); err == nil {
		if err := c.audit("session.end", "", ""); err != nil {
			return err
		}
	}
	if err := s.sessions.Destroy(c.ctx()); err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	return c.see("/sign-in")
}

// setTheme is for browsers without scripts; with them the page does it itself.
func (s *Server) setTheme(c *call) error {
	if err := c.form(); err != nil {
		return err
	}
	cookie := &http.Cookie{Name: "theme", Value: string(views.ParseTheme(c.FormValue("theme"))), Path: "/", MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode, Secure: s.sessions.Cookie.Secure}
	c.SetCookie(cookie)
	return c.see(localPath(referrer(c.Request())))
}

// referrer is the path of the page that a form was on.
func referrer(r *http.Request) string {
	_, after, _ := strings.Cut(r.Referer(), "//")
	_, path, _ := strings.Cut(after, "/")
	return "/" + path
}
