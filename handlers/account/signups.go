package account

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"sluice/flow"
	"sluice/flow/fairness"
	"sluice/handlers/passwords"
	"sluice/handlers/web"
	accountview "sluice/views/account"
)

// signUpRoutes returns the routes for new users. They respond 404 unless sign-up is
// open.
func (s *Server) signUpRoutes() []route {
	return []route{
		{"GET", "/sign-up", web.Open, s.showSignUp},
		{"POST", "/sign-up", web.Open, s.signUp},
	}
}

// showSignUp is GET /sign-up.
func (s *Server) showSignUp(c *call) error {
	if !s.SignUp {
		return web.ErrNotFound
	}
	return c.Render(http.StatusOK, accountview.SignUp(c.Page("Sign up", ""), accountview.SignUpForm{}))
}

// freeSignUps is the number of accounts that an address may create before it has to
// wait.
const freeSignUps = 10

// signUp is POST /sign-up: it creates a user with a workspace.
func (s *Server) signUp(c *call) error {
	if !s.SignUp {
		return web.ErrNotFound
	}
	if err := c.ParseForm(); err != nil {
		return err
	}
	f := accountview.SignUpForm{Name: c.Trimmed("name"), Email: c.Trimmed("email"), Workspace: c.Trimmed("workspace")}
	f.Errors = web.FieldErrors(map[string]string{
		"name": web.CheckName(f.Name, "yourself"), "email": checkEmail(f.Email), "workspace": web.CheckName(f.Workspace, "the workspace"),
		"password": passwords.Check(c.FormValue("password"), f.Email),
	})
	status := http.StatusUnprocessableEntity
	if len(f.Errors) == 0 {
		wait, err := s.Store.TakeTry(c.Ctx(), fairness.Try{Name: web.AttemptKey("sign-up", web.RateLimitKey(c.IP())), Free: freeSignUps})
		if err != nil {
			return err
		}
		if wait > 0 {
			c.RetryAfter(wait)
			status, f.Errors[""] = http.StatusTooManyRequests, "Too many accounts were created from your address. Try again in "+web.WaitText(wait)+"."
		}
	}
	if len(f.Errors) > 0 {
		return c.Render(status, accountview.SignUp(c.Page("Sign up", ""), f))
	}
	userID, ws, err := s.addAccount(c.Ctx(), f, c.FormValue("password"))
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeInputInvalid {
		f.Errors["email"] = e.Message
		return c.Render(http.StatusUnprocessableEntity, accountview.SignUp(c.Page("Sign up", ""), f))
	}
	if err != nil {
		return err
	}
	if err := c.signInUser(userID, ws, web.MethodPassword); err != nil {
		return err
	}
	return c.redirectToFirstFlow(ws)
}

// addAccount creates a user and their workspace in one transaction.
func (s *Server) addAccount(ctx context.Context, f accountview.SignUpForm, password string) (userID string, ws flow.WorkspaceID, err error) {
	hash, err := s.Hasher.Hash(ctx, password)
	if err != nil {
		return "", "", err
	}
	u, w := &flow.User{Email: f.Email, Name: f.Name, PasswordHash: hash}, &flow.Workspace{Name: f.Workspace}
	if err := s.Store.SignUp(ctx, u, w); err != nil {
		return "", "", fmt.Errorf("sign up: %w", err)
	}
	return u.ID, w.ID, nil
}
