package account

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
	accountview "sluice/views/account"
)

// workspaceRoutes returns the routes for users with several workspaces.
func (s *Server) workspaceRoutes() []route {
	return []route{
		{"GET", "/workspaces", web.SignedIn, s.listWorkspaces},
		{"GET", "/workspaces/new", web.SignedIn, s.newWorkspace},
		{"POST", "/workspaces", web.SignedIn, web.Posted(s.createWorkspace)},
		{"POST", "/workspaces/switch", web.SignedIn, web.Posted(s.switchWorkspace)},
	}
}

// maxWorkspaces is how many workspaces the page lists. A search narrows it.
const maxWorkspaces = 100

// listWorkspaces is GET /workspaces.
func (s *Server) listWorkspaces(c *call) error {
	all, err := s.Store.ListMemberships(c.Ctx(), c.Member.UserID)
	if err != nil {
		return err
	}
	page := accountview.WorkspacesPage{Query: strings.TrimSpace(c.QueryParam("q"))}
	all = slices.DeleteFunc(all, func(m flow.Member) bool {
		return !strings.Contains(strings.ToLower(m.Workspace), strings.ToLower(page.Query))
	})
	page.More = max(len(all)-maxWorkspaces, 0)
	page.List = c.WorkspaceChoices(all[:len(all)-page.More])
	return c.Render(http.StatusOK, accountview.Workspaces(c.Page("Workspaces", ""), page))
}

// mayCreateWorkspace reports whether the user may create a workspace. Its owner
// can make outgoing requests and spend money, so without open sign-up only
// owners of another workspace may.
func (c *call) mayCreateWorkspace() (bool, error) {
	if c.s.SignUp || c.Member.Role == flow.MemberOwner {
		return true, nil
	}
	list, err := c.s.Store.ListMemberships(c.Ctx(), c.Member.UserID)
	return slices.ContainsFunc(list, func(m flow.Member) bool { return m.Role == flow.MemberOwner }), err
}

// newWorkspace is GET /workspaces/new.
func (s *Server) newWorkspace(c *call) error {
	if err := c.checkMayCreate(); err != nil {
		return err
	}
	return c.Render(http.StatusOK, accountview.NewWorkspace(c.Page("New workspace", ""), accountview.WorkspaceForm{}))
}

// checkMayCreate returns an error if the user may not create a workspace.
func (c *call) checkMayCreate() error {
	allowed, err := c.mayCreateWorkspace()
	if err != nil {
		return err
	}
	if !allowed {
		return web.NewError(http.StatusForbidden, "Only owners of a workspace can create another one. Ask an owner.")
	}
	return nil
}

// createWorkspace is POST /workspaces. The user is switched to the new
// workspace.
func (s *Server) createWorkspace(c *call) error {
	if err := c.checkMayCreate(); err != nil {
		return err
	}
	name := c.Trimmed("name")
	if e := web.FieldErrors(map[string]string{"name": web.CheckName(name, "the workspace")}); len(e) > 0 {
		return c.Render(http.StatusUnprocessableEntity, accountview.NewWorkspace(c.Page("New workspace", ""), accountview.WorkspaceForm{Name: name, Errors: e}))
	}
	w := &flow.Workspace{Name: name}
	if err := s.workspaces.Create(c.Ctx(), c.Actor(), w); err != nil {
		return fmt.Errorf("create workspace: %w", err)
	}
	if err := c.switchTo(w.ID); err != nil {
		return err
	}
	return c.redirectToFirstFlow(w.ID)
}

// switchTo changes the workspace of the session. The token is renewed, because
// the role may be a higher one.
func (c *call) switchTo(ws flow.WorkspaceID) error {
	m := c.s.Sessions
	if err := c.RenewToken(); err != nil {
		return err
	}
	m.Put(c.Ctx(), web.SessionWorkspace, string(ws))
	m.Remove(c.Ctx(), web.SessionRole)
	if err := c.Identify(); err != nil {
		return err
	}
	m.Put(c.Ctx(), web.SessionRole, string(c.Member.Role))
	c.RememberWorkspace()
	return nil
}

// switchWorkspace is POST /workspaces/switch.
func (s *Server) switchWorkspace(c *call) error {
	m, err := s.Store.FindMember(c.Ctx(), flow.WorkspaceID(c.FormValue("workspace")), c.Member.UserID)
	if flow.IsNotFound(err) {
		return web.ErrNotFound
	}
	if err != nil {
		return err
	}
	if err := c.switchTo(m.WorkspaceID); err != nil {
		return err
	}
	return c.Redirect("/flows")
}
