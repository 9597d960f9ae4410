package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/alexedwards/argon2id"

	"sluice/flow"
	"sluice/views"
)

// accountStore finds people who sign in.
type accountStore interface {
	// FindAccount returns a person's ID, password hash and the workspace that
	// they work in first.
	FindAccount(ctx context.Context, email string) (userID, passwordHash, ws string, err error)
}

func (s *Server) sessionRoutes() []route {
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
	return c.render(http.StatusOK, views.SignIn(c.page("Sign in", ""), views.SignInForm{Next: c.QueryParam("next")}))
}

// signIn lets a person in under a fresh token, so that one that was planted
// before is worth nothing.
func (s *Server) signIn(c *call) error {
	if err := c.form(); err != nil {
		return err
	}
	user, hash, ws, err := s.Store.FindAccount(c.ctx(), c.FormValue("email"))
	if err != nil && !errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		return fmt.Errorf("find who signs in: %w", err)
	}
	fits, _ := argon2id.ComparePasswordAndHash(c.FormValue("password"), hash)
	if err != nil || !fits {
		form := views.SignInForm{Next: c.FormValue("next"), Email: c.FormValue("email"), Errors: views.Errors{"": "E-mail and password do not fit together."}}
		return c.render(http.StatusUnprocessableEntity, views.SignIn(c.page("Sign in", ""), form))
	}
	if err := s.sessions.RenewToken(c.ctx()); err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	s.sessions.Put(c.ctx(), sessionUser, user)
	s.sessions.Put(c.ctx(), sessionWorkspace, ws)
	return c.see(localPath(c.FormValue("next")))
}

// localPath is a path of ours or, for whatever else a link may carry, home.
func localPath(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/flows"
	}
	return next
}

func (s *Server) signOut(c *call) error {
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
