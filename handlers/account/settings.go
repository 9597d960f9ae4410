package account

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/schedule"
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
		{"POST", "/settings/timezone", web.Owner, web.Posted(s.setTimezone)},
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
		ID: string(w.ID), Name: name, MaxRunning: limitText(w.MaxRunning), MaxQueued: limitText(w.MaxQueued), MayCreate: mayCreate, Errors: e, Timezone: cmp.Or(w.Timezone, "UTC"),
	}
	for _, zone := range schedule.Zones() {
		page.Timezones = append(page.Timezones, components.Option{Value: zone, Label: zone})
	}
	return c.Render(status, consoleview.WorkspaceSettingsPage(c.Page("Workspace", layout.SectionSettings), page))
}

// setTimezone is POST /settings/timezone.
func (s *Server) setTimezone(c *call) error {
	zone := c.Trimmed("timezone")
	rules := library.Triggers{Store: c.s.Store, Now: c.s.Now}
	err := rules.SetTimezone(c.Ctx(), c.Actor(), nil, c.WorkspaceID(), zone)
	if errors.Is(err, &flow.Error{Code: flow.CodeInputInvalid}) {
		return c.renderWorkspace(http.StatusUnprocessableEntity, c.Member.Workspace, components.Errors{"timezone": "Choose a time zone."})
	}
	if err != nil {
		return err
	}
	c.Toast(components.ToneOK, "Schedules without a time zone now follow "+zone+".")
	return c.Redirect("/settings/workspace")
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
