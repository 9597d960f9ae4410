package account

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"sluice/flow"
	"sluice/handlers/passwords"
	"sluice/handlers/web"
	accountview "sluice/views/account"
)

func (s *Server) signUpRoutes() []route {
	return []route{
		{"GET", "/sign-up", web.Open, s.showSignUp},
		{"POST", "/sign-up", web.Open, s.signUp},
	}
}

func (s *Server) showSignUp(c *call) error {
	if !s.SignUp {
		return web.ErrNotFound
	}
	return c.Render(http.StatusOK, accountview.SignUp(c.Page("Sign up", ""), accountview.SignUpForm{}))
}

// freeSignUps from one address cost no waiting.
const freeSignUps = 10

// signUp makes a person with a workspace of their own, where that is open to
// strangers.
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
		wait, err := s.Store.TakeTry(c.Ctx(), flow.Try{Name: web.AttemptKey("sign-up", web.RateLimitKey(c.IP())), Free: freeSignUps})
		if err != nil {
			return err
		}
		if wait > 0 {
			c.RetryAfter(wait)
			status, f.Errors[""] = http.StatusTooManyRequests, "Too many accounts were made from your address. The next one is possible in "+web.WaitText(wait)+"."
		}
	}
	if len(f.Errors) > 0 {
		return c.Render(status, accountview.SignUp(c.Page("Sign up", ""), f))
	}
	ws, err := s.addAccount(c.Ctx(), f, c.FormValue("password"))
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeInputInvalid {
		f.Errors["email"] = e.Message
		return c.Render(http.StatusUnprocessableEntity, accountview.SignUp(c.Page("Sign up", ""), f))
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

func (s *Server) addAccount(ctx context.Context, f accountview.SignUpForm, password string) (ownWorkspace, error) {
	hash, err := s.Hasher.Hash(ctx, password)
	if err != nil {
		return ownWorkspace{}, err
	}
	u, w := &flow.User{Email: f.Email, Name: f.Name, PasswordHash: hash}, &flow.Workspace{Name: f.Workspace}
	if err := s.Store.SignUp(ctx, u, w); err != nil {
		return ownWorkspace{}, fmt.Errorf("sign up: %w", err)
	}
	return ownWorkspace{w.ID, u.ID}, nil
}
