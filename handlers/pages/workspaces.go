package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"sluice/flow"
	"sluice/views"
)

// workspaceStore keeps workspaces.
type workspaceStore interface {
	FindWorkspace(ctx context.Context, id string) (*flow.Workspace, error)
	FoundWorkspace(ctx context.Context, w *flow.Workspace, ownerID string) error
	RenameWorkspace(ctx context.Context, ws, name string) error
	SignUp(ctx context.Context, u *flow.User, w *flow.Workspace) error
}

func (s *Server) workspaceRoutes() []route {
	return []route{
		{"GET", "/workspaces/new", accessPerson, s.newWorkspace},
		{"POST", "/workspaces", accessPerson, s.createWorkspace},
		{"POST", "/workspaces/switch", accessPerson, s.switchWorkspace},
	}
}

// mayFound tells whether who asks may make a workspace. Its maker owns it, and
// owners let flows call out and spend: where strangers may not sign up, that is
// for those who own a workspace already.
func (c *call) mayFound() (bool, error) {
	if c.s.SignUp || c.member.Role == flow.MemberOwner {
		return true, nil
	}
	list, err := c.s.Store.ListMemberships(c.ctx(), c.member.UserID)
	return slices.ContainsFunc(list, func(m flow.Member) bool { return m.Role == flow.MemberOwner }), err
}

// choices are the workspaces that the person may work in.
func (c *call) choices() (list []views.WorkspaceChoice, mayFound bool) {
	all, err := c.s.Store.ListMemberships(c.ctx(), c.member.UserID)
	if err != nil {
		if c.ctx().Err() == nil { // otherwise no client is left to read the page
			c.s.Log.Warn("the list of workspaces is left out of a page", "error", err)
		}
		return nil, false
	}
	mayFound = c.s.SignUp
	for _, m := range all {
		mayFound = mayFound || m.Role == flow.MemberOwner
		list = append(list, views.WorkspaceChoice{ID: m.WorkspaceID, Name: m.Workspace, Role: string(m.Role), Current: m.WorkspaceID == c.ws()})
	}
	return list, mayFound
}

func (s *Server) newWorkspace(c *call) error {
	if err := c.needFounder(); err != nil {
		return err
	}
	return c.render(http.StatusOK, views.NewWorkspace(c.page("New workspace", ""), views.WorkspaceForm{}))
}

func (c *call) needFounder() error {
	may, err := c.mayFound()
	if err != nil {
		return err
	}
	if !may {
		return &pageError{http.StatusForbidden, "Only an owner of a workspace can make another one here."}
	}
	return nil
}

func (s *Server) createWorkspace(c *call) error {
	if err := c.form(); err != nil {
		return err
	}
	if err := c.needFounder(); err != nil {
		return err
	}
	name := c.trimmed("name")
	if e := wrong(map[string]string{"name": checkName(name, "the workspace")}); len(e) > 0 {
		return c.render(http.StatusUnprocessableEntity, views.NewWorkspace(c.page("New workspace", ""), views.WorkspaceForm{Name: name, Errors: e}))
	}
	w := &flow.Workspace{Name: name}
	if err := s.Store.FoundWorkspace(c.ctx(), w, c.member.UserID); err != nil {
		return fmt.Errorf("make a workspace: %w", err)
	}
	if err := c.enter(w.ID); err != nil {
		return err
	}
	if err := c.audit("workspace.create", name, ""); err != nil {
		return err
	}
	return c.seeFirstFlow(w.ID)
}

// enter goes on in another workspace, under a fresh token: the rights there are
// others.
func (c *call) enter(ws string) error {
	m := c.s.sessions
	if err := c.renew(); err != nil {
		return err
	}
	m.Put(c.ctx(), sessionWorkspace, ws)
	m.Remove(c.ctx(), sessionRole)
	if err := c.identify(); err != nil {
		return err
	}
	m.Put(c.ctx(), sessionRole, string(c.member.Role))
	c.keepWorkspace()
	return nil
}

func (s *Server) switchWorkspace(c *call) error {
	if err := c.form(); err != nil {
		return err
	}
	m, err := s.Store.FindMember(c.ctx(), c.FormValue("workspace"), c.member.UserID)
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		return errNotFound
	}
	if err != nil {
		return err
	}
	if err := c.enter(m.WorkspaceID); err != nil {
		return err
	}
	return c.see("/flows")
}
