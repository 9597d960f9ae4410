package web

import (
	"net/http"
	"sluice/flow"
	"sluice/views/layout"
	"time"
)

// choices are the workspaces that the person may work in.
func (c *Call) workspaceChoices() (list []layout.WorkspaceChoice, mayFound bool) {
	all, err := c.s.Store.ListMemberships(c.Ctx(), c.Member.UserID)
	if err != nil {
		if c.Ctx().Err() == nil { // otherwise no client is left to read the page
			c.s.Log.Warn("the list of workspaces is left out of a page", "error", err)
		}
		return nil, false
	}
	mayFound = c.s.SignUp
	for _, m := range all {
		mayFound = mayFound || m.Role == flow.MemberOwner
		list = append(list, layout.WorkspaceChoice{ID: m.WorkspaceID, Name: m.Workspace, Role: string(m.Role), Current: m.WorkspaceID == c.WorkspaceID()})
	}
	return list, mayFound
}

// KnownLife is how long a browser stays known after its last sign-in.
const BrowserMemory = 180 * 24 * time.Hour

// WorkspaceCookie keeps the workspace that this browser was in last, for the
// next sign-in. It opens nothing: only a member gets in.
func (s *Site) WorkspaceCookie() string {
	if s.Encrypted() {
		return "__Host-workspace"
	}
	return "sluice_workspace"
}

// KeepWorkspace remembers where the person works now.
func (c *Call) RememberWorkspace() {
	if c.WorkspaceID() == "" {
		return
	}
	c.SetCookie(&http.Cookie{
		Name: c.s.WorkspaceCookie(), Value: c.WorkspaceID(), Path: "/", MaxAge: int(BrowserMemory.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.s.Sessions.Cookie.Secure,
	})
}
