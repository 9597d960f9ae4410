package account

import (
	"fmt"
	"net/http"

	"sluice/flow"
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
		{"GET", "/settings/members/:user/sessions", web.Owner, web.With((*call).findMember, s.showMemberSessions)},
		{"POST", "/settings/members/:user/sessions/end", web.Owner, web.With((*call).findMember, s.endMemberSessions)},
	}
}

// showSessions is GET /settings/sessions.
func (s *Server) showSessions(c *call) error {
	rows, err := c.sessionRows(c.Member.UserID)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, accountview.Sessions(c.Page("Sessions", layout.SectionSettings), accountview.SessionsPage{Rows: rows, Idle: s.SessionIdle, Max: s.SessionMax, Now: s.Now()}))
}

// sessionRows lists the sessions of a user.
func (c *call) sessionRows(userID string) ([]accountview.SessionRow, error) {
	list, err := c.s.Store.ListSessions(c.Ctx(), userID)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	rows := make([]accountview.SessionRow, 0, len(list))
	for _, one := range list {
		rows = append(rows, accountview.SessionRow{
			ID: one.ID, Device: one.Agent, IP: one.IP, SignedInAt: one.SignedInAt, SeenAt: one.SeenAt, This: one.ID == c.SessionID(),
		})
	}
	return rows, nil
}

// showMemberSessions is GET /settings/members/{user}/sessions. Sessions are those of all workspaces of the member, so only
// somebody who owns all of them sees where the member signs in.
func (s *Server) showMemberSessions(c *call, m *flow.Member) error {
	page, err := c.memberSessions(m)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, accountview.Sessions(c.Page("Sessions of "+m.Name, layout.SectionSettings), page))
}

func (c *call) memberSessions(m *flow.Member) (page accountview.SessionsPage, err error) {
	page = accountview.SessionsPage{Idle: c.s.SessionIdle, Max: c.s.SessionMax, Now: c.s.Now(), Of: &accountview.MemberRow{UserID: m.UserID, Name: m.Name, Email: m.Email}}
	if page.MayEnd, err = c.ownsAll(m.UserID); err != nil || !page.MayEnd {
		return page, err
	}
	page.Rows, err = c.sessionRows(m.UserID)
	return page, err
}

// endMemberSessions is POST /settings/members/{user}/sessions/end: it signs the member out everywhere.
func (s *Server) endMemberSessions(c *call, m *flow.Member) error {
	allowed, err := c.ownsAll(m.UserID)
	if err != nil {
		return err
	}
	if !allowed {
		return web.NewError(http.StatusForbidden, m.Name+" is also in workspaces that you do not own. Ask an owner of all of them.")
	}
	if err := s.sessions.EndOf(c.Ctx(), c.Actor(), m); err != nil {
		return fmt.Errorf("end the sessions of %s: %w", m.UserID, err)
	}
	c.Toast(components.ToneOK, m.Name+" was signed out everywhere.")
	return c.Redirect("/settings/members")
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
