package pages

import (
	"fmt"
	"net/http"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"sluice/views"
)

func (s *Server) settingsRoutes() []route {
	return []route{
		{"GET", "/settings", accessPerson, func(c *call) error { return c.see("/settings/workspace") }},
		{"GET", "/settings/workspace", accessViewer, s.showWorkspace},
		{"POST", "/settings/workspace", accessOwner, s.renameWorkspace},
	}
}

func (s *Server) showWorkspace(c *call) error {
	return c.renderWorkspace(http.StatusOK, c.member.Workspace, nil)
}

func (c *call) renderWorkspace(status int, name string, e views.Errors) error {
	w, err := c.s.Store.FindWorkspace(c.ctx(), c.ws())
	if err != nil {
		return err
	}
	may, err := c.mayFound()
	if err != nil {
		return err
	}
	page := views.WorkspaceSettings{
		ID: w.ID, Name: name, MaxRunning: limitInWords(w.MaxRunning), MaxQueued: limitInWords(w.MaxQueued), MayCreate: may, Errors: e,
	}
	return c.render(status, views.WorkspaceSettingsPage(c.page("Workspace", views.SectionSettings), page))
}

func limitInWords(n int64) string {
	if n == 0 {
		return "No limit"
	}
	return message.NewPrinter(language.English).Sprint(n)
}

func (s *Server) renameWorkspace(c *call) error {
	if err := c.form(); err != nil {
		return err
	}
	name := c.trimmed("name")
	if e := wrong(map[string]string{"name": checkName(name, "the workspace")}); len(e) > 0 {
		return c.renderWorkspace(http.StatusUnprocessableEntity, name, e)
	}
	if err := s.Store.RenameWorkspace(c.ctx(), c.ws(), name); err != nil {
		return fmt.Errorf("rename %s: %w", c.ws(), err)
	}
	c.toast(views.ToneOK, "The workspace is called "+name+" now.")
	return c.auditAndSee("/settings/workspace", "workspace.rename", name, "was "+c.member.Workspace)
}
