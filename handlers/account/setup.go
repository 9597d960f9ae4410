package account

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"sluice/flow"
	"sluice/handlers/passwords"
	"sluice/handlers/web"
	accountview "sluice/views/account"
)

// setUpRoutes returns the routes of the first start.
func (s *Server) setUpRoutes() []route {
	return []route{
		{"GET", "/setup", web.Open, s.showSetUp},
		{"POST", "/setup", web.Open, web.Posted(s.setUp)},
	}
}

// AwaitsOwner reports whether no user exists yet. Users are never deleted
// completely, so the answer is cached once there is one.
func (s *Server) AwaitsOwner(ctx context.Context) (bool, error) {
	if s.hasOwner.Load() {
		return false, nil
	}
	exists, err := s.Store.HasUsers(ctx)
	if err != nil {
		return false, fmt.Errorf("check for users: %w", err)
	}
	if exists {
		s.hasOwner.Store(true)
	}
	return !exists, nil
}

// Guard blocks everything except set-up, links to questions and forms, and incoming webhooks while there
// is no owner: keys made on the command line can already start runs. On the local
// machine, other pages redirect to set-up and the documentation is available. From
// the network, the set-up page discloses nothing without the token.
func (s *Server) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isLink(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		awaits, err := s.AwaitsOwner(r.Context())
		ec := s.NewContext(r, w)
		c := s.newCall(s.Site.NewCall(ec))
		switch {
		case err != nil:
			s.Fail(err, ec)
		case !awaits || r.URL.Path == "/setup" || !s.Exposed && isDocs(r.URL.Path):
			next.ServeHTTP(w, r)
		case s.Exposed || r.Method != http.MethodGet && r.Method != http.MethodHead:
			s.finish(ec, c.renderSetUpRequired(http.StatusServiceUnavailable))
		default:
			s.finish(ec, c.Redirect("/setup"))
		}
	})
}

// isLink reports whether a path is a link that needs no session: to a question of a run, to a
// form, or the URL of an incoming webhook.
func isLink(path string) bool {
	return strings.HasPrefix(path, "/approval/") || strings.HasPrefix(path, "/f/") || strings.HasPrefix(path, "/h/")
}

// isDocs reports whether a path belongs to the documentation. The API works on
// the local machine before there is an owner, and its errors link to the
// documentation.
func isDocs(path string) bool {
	return path == "/docs" || path == "/llms.txt" || strings.HasPrefix(path, "/docs/")
}

// finish handles the error of a response that was sent without the router.
func (s *Server) finish(ec echo.Context, err error) {
	if err != nil {
		s.Fail(err, ec)
	}
}

// renderSetUpRequired renders the page that says where to find the set-up link.
func (c *call) renderSetUpRequired(status int) error {
	if status == http.StatusServiceUnavailable {
		c.Response().Header().Set("Retry-After", "60")
	}
	return c.Render(status, accountview.SetUpWaits(c.Page("Set-up required", "")))
}

// refuseSetUp responds to a link that cannot be used: the server is already set
// up, or the link is not the latest.
func (c *call) refuseSetUp(token string) error {
	if err := c.countInvalidLink(token); err != nil {
		return err
	}
	awaits, err := c.s.AwaitsOwner(c.Ctx())
	switch {
	case err != nil:
		return err
	case !awaits:
		return c.Render(http.StatusNotFound, accountview.SetUpDone(c.Page("Set up", "")))
	case c.s.Exposed:
		return c.renderSetUpRequired(http.StatusServiceUnavailable)
	}
	return c.renderSetUpRequired(http.StatusOK)
}

// showSetUp is GET /setup.
func (s *Server) showSetUp(c *call) error {
	token := c.QueryParam("token")
	valid, err := s.Store.IsSetUpToken(c.Ctx(), flow.Hash([]byte(token)))
	if err != nil {
		return fmt.Errorf("check set-up link: %w", err)
	}
	if !valid {
		return c.refuseSetUp(token)
	}
	return c.Render(http.StatusOK, accountview.SetUp(c.Page("Set up", ""), accountview.SetUpForm{Token: token}))
}

// setUp is POST /setup: it creates the owner and redirects to a flow that runs
// without any configuration.
func (s *Server) setUp(c *call) error {
	f := accountview.SetUpForm{Token: c.FormValue("token"), Name: c.Trimmed("name"), Email: c.Trimmed("email"), Workspace: c.Trimmed("workspace")}
	tokenHash := flow.Hash([]byte(f.Token))
	if valid, err := s.Store.IsSetUpToken(c.Ctx(), tokenHash); err != nil {
		return fmt.Errorf("check set-up link: %w", err)
	} else if !valid {
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
	err = s.workspaces.SetUp(c.Ctx(), c.IP(), f.Token, u, f.Workspace)
	if flow.IsNotFound(err) {
		return c.refuseSetUp("") // a concurrent request set it up first
	}
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if err := c.signInUser(u.ID, flow.DefaultWorkspace, web.MethodPassword); err != nil {
		return err
	}
	return c.redirectToFirstFlow(flow.DefaultWorkspace)
}

// redirectToFirstFlow redirects to the flow that a new user sees first.
func (c *call) redirectToFirstFlow(ws flow.WorkspaceID) error {
	if c.s.Welcome == nil {
		return c.Redirect("/flows")
	}
	id, err := c.s.Welcome(c.Ctx(), ws)
	if err != nil {
		return fmt.Errorf("add first flows to %s: %w", ws, err)
	}
	if id == "" {
		return c.Redirect("/flows")
	}
	return c.Redirect("/flows/" + string(id))
}
