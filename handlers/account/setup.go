package account

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/handlers/passwords"
	"sluice/handlers/web"
	accountview "sluice/views/account"
)

func (s *Server) setUpRoutes() []route {
	return []route{
		{"GET", "/setup", web.Open, s.showSetUp},
		{"POST", "/setup", web.Open, web.Posted(s.setUp)},
	}
}

// AwaitsOwner tells that nobody has an account yet. Once somebody has, that
// stays so, and is not asked again.
func (s *Server) AwaitsOwner(ctx context.Context) (bool, error) {
	if s.owned.Load() {
		return false, nil
	}
	had, err := s.Store.HasUsers(ctx)
	if err != nil {
		return false, fmt.Errorf("look for an owner: %w", err)
	}
	if had {
		s.owned.Store(true)
	}
	return !had, nil
}

// Guard answers for everything but set-up while there is no owner. On this
// machine a person is led to what to do; the network is told nothing more.
func (s *Server) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		awaits, err := s.AwaitsOwner(r.Context())
		c := s.newCall(s.Site.NewCall(s.NewContext(r, w)))
		switch {
		case err != nil:
			s.Fail(err, c.Context)
		case !awaits || r.URL.Path == "/setup" || !s.Exposed && isDocs(r.URL.Path):
			next.ServeHTTP(w, r)
		case s.Exposed || r.Method != http.MethodGet && r.Method != http.MethodHead:
			s.answer(c, c.renderWaits(http.StatusServiceUnavailable))
		default:
			s.answer(c, c.Redirect("/setup"))
		}
	})
}

// isDocs tells that a path is documentation: the API works on this machine
// before there is an owner, and its problems lead there.
func isDocs(path string) bool { return path == "/docs" || strings.HasPrefix(path, "/docs/") }

// answer is for what is answered before the router.
func (s *Server) answer(c *call, err error) {
	if err != nil {
		s.Fail(err, c.Context)
	}
}

func (c *call) renderWaits(status int) error {
	if status == http.StatusServiceUnavailable {
		c.Response().Header().Set("Retry-After", "60")
	}
	return c.Render(status, accountview.SetUpWaits(c.Page("Set-up required", "")))
}

// refuseSetUp says why a link does not set up: the work is done, or the link is
// not the newest.
func (c *call) refuseSetUp(token string) error {
	if err := c.countLink(token); err != nil {
		return err
	}
	awaits, err := c.s.AwaitsOwner(c.Ctx())
	switch {
	case err != nil:
		return err
	case !awaits:
		return c.Render(http.StatusNotFound, accountview.SetUpDone(c.Page("Set up", "")))
	case c.s.Exposed:
		return c.renderWaits(http.StatusServiceUnavailable)
	}
	return c.renderWaits(http.StatusOK)
}

func (s *Server) showSetUp(c *call) error {
	token := c.QueryParam("token")
	works, err := s.Store.IsSetUpToken(c.Ctx(), flow.Hash([]byte(token)))
	if err != nil {
		return fmt.Errorf("look at a set-up link: %w", err)
	}
	if !works {
		return c.refuseSetUp(token)
	}
	return c.Render(http.StatusOK, accountview.SetUp(c.Page("Set up", ""), accountview.SetUpForm{Token: token}))
}

// setUp makes the owner and leads straight to a flow that runs.
func (s *Server) setUp(c *call) error {
	f := accountview.SetUpForm{Token: c.FormValue("token"), Name: c.Trimmed("name"), Email: c.Trimmed("email"), Workspace: c.Trimmed("workspace")}
	tokenHash := flow.Hash([]byte(f.Token))
	if works, err := s.Store.IsSetUpToken(c.Ctx(), tokenHash); err != nil {
		return fmt.Errorf("look at a set-up link: %w", err)
	} else if !works {
		return c.refuseSetUp(f.Token)
	}
	f.Errors = web.FieldErrors(map[string]string{
		"name": web.CheckName(f.Name, "yourself"), "email": checkEmail(f.Email), "workspace": web.CheckName(f.Workspace, "the workspace"),
		"password": passwords.Check(c.FormValue("password"), f.Email),
	})
	if len(f.Errors) > 0 {
		return c.Render(http.StatusUnprocessableEntity, accountview.SetUp(c.Page("Set up", ""), f))
	}
	hash, err := s.Hasher.Hash(c.Ctx(), c.FormValue("password"))
	if err != nil {
		return err
	}
	u := &flow.User{Email: f.Email, Name: f.Name, PasswordHash: hash}
	err = s.Store.SetUp(c.Ctx(), tokenHash, u, f.Workspace)
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		return c.refuseSetUp("") // a concurrent request set it up first
	}
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if err := c.welcome(u.ID, flow.DefaultWorkspace); err != nil {
		return err
	}
	if err := c.Audit("workspace.setup", f.Workspace, ""); err != nil {
		return err
	}
	return c.seeFirstFlow(flow.DefaultWorkspace)
}

// seeFirstFlow leads to the flow that a newcomer should see first.
func (c *call) seeFirstFlow(ws string) error {
	if c.s.Welcome == nil {
		return c.Redirect("/flows")
	}
	id, err := c.s.Welcome(c.Ctx(), ws)
	if err != nil {
		return fmt.Errorf("give %s its first flows: %w", ws, err)
	}
	if id == "" {
		return c.Redirect("/flows")
	}
	return c.Redirect("/flows/" + id)
}
