package web

import (
	"net/http"
	"slices"
	"time"

	"sluice/flow"
	"sluice/views/layout"
)

// menuChoices is how many workspaces the menu of every page has at most.
const menuChoices = 15

// workspaceMenu sets the workspaces in the menu of a page: the current one and the first others.
func (c *Call) workspaceMenu(p *layout.Page) {
	all, err := c.s.Store.ListMemberships(c.Ctx(), c.Member.UserID)
	if err != nil {
		if c.Ctx().Err() == nil { // otherwise no client is left to read the page
			c.s.Log.Warn("list of workspaces left out of a page", "error", err)
		}
		return
	}
	p.NewWorkspace = c.s.SignUp
	for i := range all {
		p.NewWorkspace = p.NewWorkspace || all[i].Role == flow.MemberOwner
	}
	list := c.WorkspaceChoices(all)
	current := slices.IndexFunc(list, func(w layout.WorkspaceChoice) bool { return w.Current })
	if len(list) > menuChoices {
		if p.MoreWorkspaces = true; current >= menuChoices {
			list[menuChoices-1] = list[current]
		}
		list = list[:menuChoices]
	}
	p.Workspaces = list
}

// WorkspaceChoices converts memberships of the user to choices of a workspace.
func (c *Call) WorkspaceChoices(all []flow.Member) (list []layout.WorkspaceChoice) {
	for i := range all {
		m := &all[i]
		list = append(list, layout.WorkspaceChoice{ID: string(m.WorkspaceID), Name: m.Workspace, Role: string(m.Role), Current: m.WorkspaceID == c.WorkspaceID()})
	}
	return list
}

// BrowserMemory is how long a browser is remembered after its last sign-in.
const BrowserMemory = 180 * 24 * time.Hour

// WorkspaceCookie returns the name of the cookie with the last workspace of this
// browser, for the next sign-in. It grants no access.
func (s *Site) WorkspaceCookie() string {
	if s.Encrypted() {
		return "__Host-workspace"
	}
	return "sluice_workspace"
}

// RememberWorkspace stores the current workspace in its cookie.
func (c *Call) RememberWorkspace() {
	if c.WorkspaceID() == "" {
		return
	}
	c.SetCookie(&http.Cookie{
		Name: c.s.WorkspaceCookie(), Value: string(c.WorkspaceID()), Path: "/", MaxAge: int(BrowserMemory.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.s.Sessions.Cookie.Secure,
	})
}
