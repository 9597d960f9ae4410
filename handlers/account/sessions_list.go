package account

import (
	"fmt"
	"net/http"

	"sluice/handlers/web"
	accountview "sluice/views/account"
	"sluice/views/components"
	"sluice/views/layout"
)

// sessionRoutes returns the routes of the user's sessions.
func (s *Server) sessionRoutes() []route {
	return []route{
		{"GET", "/settings/sessions", web.SignedIn, s.showSessions},
		{"POST", "/settings/sessions/end", web.SignedIn, s.endSessions},
		{"POST", "/settings/sessions/:session/end", web.SignedIn, s.endSession},
	}
}

// showSessions is GET /settings/sessions.
func (s *Server) showSessions(c *call) error {
	list, err := s.Store.ListSessions(c.Ctx(), c.Member.UserID)
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	rows := make([]accountview.SessionRow, 0, len(list))
	for _, one := range list {
		rows = append(rows, accountview.SessionRow{
			ID: one.ID, Device: one.Agent, IP: one.IP, SignedInAt: one.SignedInAt, SeenAt: one.SeenAt, This: one.ID == c.SessionID(),
		})
	}
	return c.Render(http.StatusOK, accountview.Sessions(c.Page("Sessions", layout.SectionSettings), accountview.SessionsPage{Rows: rows, Idle: s.SessionIdle, Max: s.SessionMax, Now: s.Now()}))
}

// endSession is POST /settings/sessions/{session}/end.
func (s *Server) endSession(c *call) error {
	if err := s.sessions.End(c.Ctx(), c.Actor(), c.WorkspaceID(), c.Param("session"), "in another browser"); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "The browser was signed out.")
	return c.Redirect("/settings/sessions")
}

// endSessions is POST /settings/sessions/end: it signs the user out everywhere,
// including this browser.
func (s *Server) endSessions(c *call) error {
	if err := s.sessions.EndAll(c.Ctx(), c.Actor(), c.WorkspaceID()); err != nil {
		return fmt.Errorf("end the sessions of %s: %w", c.Member.UserID, err)
	}
	if err := s.Sessions.Destroy(c.Ctx()); err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	return c.Redirect("/sign-in")
}
