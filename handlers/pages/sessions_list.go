package pages

import (
	"fmt"
	"net/http"

	"sluice/views"
)

func (s *Server) sessionRoutes() []route {
	return []route{
		{"GET", "/settings/sessions", accessPerson, s.showSessions},
		{"POST", "/settings/sessions/end", accessPerson, s.endSessions},
		{"POST", "/settings/sessions/:session/end", accessPerson, s.endSession},
	}
}

func (s *Server) showSessions(c *call) error {
	list, err := s.Store.ListSessions(c.ctx(), c.member.UserID)
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	rows := make([]views.SessionRow, 0, len(list))
	for _, one := range list {
		rows = append(rows, views.SessionRow{
			ID: one.ID, Device: one.Agent, IP: one.IP, SignedInAt: one.SignedInAt, SeenAt: one.SeenAt, This: one.ID == c.sessionID(),
		})
	}
	return c.render(http.StatusOK, views.Sessions(c.page("Sessions", views.SectionSettings), views.SessionsPage{Rows: rows, Idle: s.SessionIdle, Max: s.SessionMax, Now: s.Now()}))
}

func (s *Server) endSession(c *call) error {
	id := c.Param("session")
	if err := s.Store.EndSession(c.ctx(), c.member.UserID, id); err != nil {
		return err
	}
	c.toast(views.ToneOK, "That browser is signed out.")
	return c.auditAndSee("/settings/sessions", "session.end", "", "in another browser")
}

// endSessions signs the person out everywhere, here too.
func (s *Server) endSessions(c *call) error {
	if _, err := s.Store.EndSessions(c.ctx(), c.member.UserID, ""); err != nil {
		return fmt.Errorf("end the sessions of %s: %w", c.member.UserID, err)
	}
	if err := c.audit("session.end", "", "everywhere"); err != nil {
		return err
	}
	if err := s.sessions.Destroy(c.ctx()); err != nil {
		return fmt.Errorf("end the session: %w", err)
	}
	return c.see("/sign-in")
}
