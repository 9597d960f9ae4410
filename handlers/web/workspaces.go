package web

import (
	"net/http"
	"time"

	"sluice/flow"
	"sluice/views/layout"
)

// workspaceChoices returns the workspaces of the user, and reports whether the user may
// create another.
func (c *Call) workspaceChoices() (list []layout.WorkspaceChoice, mayCreate bool) {
	all, err := c.s.Store.ListMemberships(c.Ctx(), c.Member.UserID)
	if err != nil {
		if c.Ctx().Err() == nil { // otherwise no client is left to read the page
			c.s.Log.Warn("list of workspaces left out of a page", "error", err)
		}
		return nil, false
	}
	mayCreate = c.s.SignUp
	for _, m := range all {
		mayCreate = mayCreate || m.Role == flow.MemberOwner
		list = append(list, layout.WorkspaceChoice{ID: string(m.WorkspaceID), Name: m.Workspace, Role: string(m.Role), Current: m.WorkspaceID == c.WorkspaceID()})
	}
	return list, mayCreate
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
