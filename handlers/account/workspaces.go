package account

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"sluice/flow"
	"sluice/handlers/web"
	accountview "sluice/views/account"
)

func (s *Server) workspaceRoutes() []route {
	return []route{
		{"GET", "/workspaces/new", web.SignedIn, s.newWorkspace},
		{"POST", "/workspaces", web.SignedIn, web.Posted(s.createWorkspace)},
		{"POST", "/workspaces/switch", web.SignedIn, web.Posted(s.switchWorkspace)},
	}
}

// mayFound tells whether who asks may make a workspace. Its maker owns it, and
// owners let flows call out and spend: where strangers may not sign up, that is
// for those who own a workspace already.
func (c *call) mayFound() (bool, error) {
	if c.s.SignUp || c.Member.Role == flow.MemberOwner {
		return true, nil
	}
	list, err := c.s.Store.ListMemberships(c.Ctx(), c.Member.UserID)
	return slices.ContainsFunc(list, func(m flow.Member) bool { return m.Role == flow.MemberOwner }), err
}

func (s *Server) newWorkspace(c *call) error {
	if err := c.needFounder(); err != nil {
		return err
	}
	return c.Render(http.StatusOK, accountview.NewWorkspace(c.Page("New workspace", ""), accountview.WorkspaceForm{}))
}

func (c *call) needFounder() error {
	may, err := c.mayFound()
	if err != nil {
		return err
	}
	if !may {
		return web.NewError(http.StatusForbidden, "Only an owner of a workspace can make another one here.")
	}
	return nil
}

func (s *Server) createWorkspace(c *call) error {
	if err := c.needFounder(); err != nil {
		return err
	}
	name := c.Trimmed("name")
	if e := web.FieldErrors(map[string]string{"name": web.CheckName(name, "the workspace")}); len(e) > 0 {
		return c.Render(http.StatusUnprocessableEntity, accountview.NewWorkspace(c.Page("New workspace", ""), accountview.WorkspaceForm{Name: name, Errors: e}))
	}
	w := &flow.Workspace{Name: name}
	if err := s.Store.FoundWorkspace(c.Ctx(), w, c.Member.UserID); err != nil {
		return fmt.Errorf("make a workspace: %w", err)
	}
	if err := c.enter(w.ID); err != nil {
		return err
	}
	if err := c.Audit("workspace.create", name, ""); err != nil {
		return err
	}
	return c.seeFirstFlow(w.ID)
}

// enter goes on in another workspace, under a fresh token: the rights there are
// others.
func (c *call) enter(ws string) error {
	m := c.s.Sessions
	if err := c.RenewToken(); err != nil {
		return err
	}
	m.Put(c.Ctx(), web.SessionWorkspace, ws)
	m.Remove(c.Ctx(), web.SessionRole)
	if err := c.Identify(); err != nil {
		return err
	}
	m.Put(c.Ctx(), web.SessionRole, string(c.Member.Role))
	c.RememberWorkspace()
	return nil
}

func (s *Server) switchWorkspace(c *call) error {
	m, err := s.Store.FindMember(c.Ctx(), c.FormValue("workspace"), c.Member.UserID)
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		return web.ErrNotFound
	}
	if err != nil {
		return err
	}
	if err := c.enter(m.WorkspaceID); err != nil {
		return err
	}
	return c.Redirect("/flows")
}
