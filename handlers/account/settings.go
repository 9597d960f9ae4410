package account

import (
	"fmt"
	"net/http"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// settingsRoutes returns the routes of the workspace settings.
func (s *Server) settingsRoutes() []route {
	return []route{
		{"GET", "/settings", web.SignedIn, func(c *call) error { return c.Redirect("/settings/workspace") }},
		{"GET", "/settings/workspace", web.Viewer, s.showWorkspace},
		{"POST", "/settings/workspace", web.Owner, web.Posted(s.renameWorkspace)},
	}
}

// showWorkspace is GET /settings/workspace.
func (s *Server) showWorkspace(c *call) error {
	return c.renderWorkspace(http.StatusOK, c.Member.Workspace, nil)
}

// renderWorkspace renders the settings with the submitted name. The limits are
// read-only, because the operator sets them.
func (c *call) renderWorkspace(status int, name string, e components.Errors) error {
	w, err := c.s.Store.FindWorkspace(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	mayCreate, err := c.mayCreateWorkspace()
	if err != nil {
		return err
	}
	page := consoleview.WorkspaceSettings{
		ID: string(w.ID), Name: name, MaxRunning: limitText(w.MaxRunning), MaxQueued: limitText(w.MaxQueued), MayCreate: mayCreate, Errors: e,
	}
	return c.Render(status, consoleview.WorkspaceSettingsPage(c.Page("Workspace", layout.SectionSettings), page))
}

// limitText formats a limit; 0 means unlimited.
func limitText(n int64) string {
	if n == 0 {
		return "No limit"
	}
	return message.NewPrinter(language.English).Sprint(n)
}

// renameWorkspace is POST /settings/workspace.
func (s *Server) renameWorkspace(c *call) error {
	name := c.Trimmed("name")
	if e := web.FieldErrors(map[string]string{"name": web.CheckName(name, "the workspace")}); len(e) > 0 {
		return c.renderWorkspace(http.StatusUnprocessableEntity, name, e)
	}
	if err := s.workspaces.Rename(c.Ctx(), c.Actor(), c.WorkspaceID(), c.Member.Workspace, name); err != nil {
		return fmt.Errorf("rename %s: %w", c.WorkspaceID(), err)
	}
	c.Toast(components.ToneOK, "The workspace was renamed to "+name+".")
	return c.Redirect("/settings/workspace")
}
