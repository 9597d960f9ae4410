package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"sluice/flow"
	"sluice/views"
)

func (s *Server) signUpRoutes() []route {
	return []route{
		{"GET", "/sign-up", accessOpen, s.showSignUp},
		{"POST", "/sign-up", accessOpen, s.signUp},
	}
}

func (s *Server) showSignUp(c *call) error {
	if !s.SignUp {
		return errNotFound
	}
	return c.render(http.StatusOK, views.SignUp(c.page("Sign up", ""), views.SignUpForm{}))
}

// freeSignUps from one address cost no waiting.
const freeSignUps = 10

// signUp makes a person with a workspace of their own, where that is open to
// strangers.
func (s *Server) signUp(c *call) error {
	if !s.SignUp {
		return errNotFound
	}
	if err := c.form(); err != nil {
		return err
	}
	f := views.SignUpForm{Name: c.trimmed("name"), Email: c.trimmed("email"), Workspace: c.trimmed("workspace")}
	f.Errors = wrong(map[string]string{
		"name": checkName(f.Name, "yourself"), "email": checkEmail(f.Email), "workspace": checkName(f.Workspace, "the workspace"),
		"password": CheckPassword(c.FormValue("password"), f.Email),
	})
	status := http.StatusUnprocessableEntity
	if len(f.Errors) == 0 {
		wait, err := s.Store.TakeTry(c.ctx(), flow.Try{Name: tryName("sign-up", network(c.ip())), Free: freeSignUps})
		if err != nil {
			return err
		}
		if wait > 0 {
			c.retryAfter(wait)
			status, f.Errors[""] = http.StatusTooManyRequests, "Too many accounts were made from your address. The next one is possible in "+inWords(wait)+"."
		}
	}
	if len(f.Errors) > 0 {
		return c.render(status, views.SignUp(c.page("Sign up", ""), f))
	}
	ws, err := s.addAccount(c.ctx(), f, c.FormValue("password"))
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeInputInvalid {
		f.Errors["email"] = e.Message
		return c.render(http.StatusUnprocessableEntity, views.SignUp(c.page("Sign up", ""), f))
	}
	if err != nil {
		return err
	}
	if err := c.welcome(ws.owner, ws.id); err != nil {
		return err
	}
	return c.seeFirstFlow(ws.id)
}

// ownWorkspace is a workspace that was just made for somebody.
type ownWorkspace struct{ id, owner string }

func (s *Server) addAccount(ctx context.Context, f views.SignUpForm, password string) (ownWorkspace, error) {
	hash, err := s.hasher.hash(ctx, password)
	if err != nil {
		return ownWorkspace{}, err
	}
	u, w := &flow.User{Email: f.Email, Name: f.Name, PasswordHash: hash}, &flow.Workspace{Name: f.Workspace}
	if err := s.Store.SignUp(ctx, u, w); err != nil {
		return ownWorkspace{}, fmt.Errorf("sign up: %w", err)
	}
	return ownWorkspace{w.ID, u.ID}, nil
}
