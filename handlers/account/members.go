package account

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"sluice/flow"
	"sluice/handlers/web"
	accountview "sluice/views/account"
	"sluice/views/components"
	"sluice/views/layout"
)

// memberRoutes returns the routes of members. Only owners change other members; every member
// may see the list and leave the workspace.
func (s *Server) memberRoutes() []route {
	return []route{
		{"GET", "/settings/members", web.Viewer, s.showMembers},
		{"POST", "/settings/members/leave", web.Viewer, web.Posted(s.leaveWorkspace)},
		{"POST", "/settings/members/:user/role", web.Owner, web.Posted(web.With((*call).findMember, s.setRole))},
		{"POST", "/settings/members/:user/remove", web.Owner, web.Posted(web.With((*call).findMember, s.removeMember))},
		{"POST", "/settings/members/:user/password", web.Owner, web.With((*call).findMember, s.offerPassword)},
	}
}

// showMembers is GET /settings/members.
func (s *Server) showMembers(c *call) error {
	return c.renderMembers(http.StatusOK, accountview.MembersPage{})
}

// renderMembers fills in the lists and renders the page. m has what the
// response shows in addition, such as an error or a link.
func (c *call) renderMembers(status int, m accountview.MembersPage) error {
	m.Form.Mail = c.s.Mail != nil
	m.Now, m.InviteLife, m.ResetLife = c.s.Now(), flow.InviteLife, flow.ResetLife
	members, err := c.s.Store.ListMembers(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return fmt.Errorf("list members: %w", err)
	}
	if m.Members, err = c.memberRows(members); err != nil {
		return err
	}
	if err := c.addKeys(m.Members); err != nil {
		return err
	}
	if c.Member.Role.AtLeast(flow.MemberOwner) {
		invites, err := c.s.Store.ListInvites(c.Ctx(), c.WorkspaceID())
		if err != nil {
			return fmt.Errorf("list invitations: %w", err)
		}
		for _, i := range invites {
			m.Invites = append(m.Invites, accountview.InviteRow{ID: i.ID, Email: i.Email, Role: string(i.Role), InvitedBy: i.InvitedBy, ExpiresAt: i.ExpiresAt})
		}
	}
	return c.Render(status, accountview.Members(c.Page("Members", layout.SectionSettings), m))
}

// memberRows converts the members. The last owner cannot be removed or change
// role.
func (c *call) memberRows(members []flow.Member) (rows []accountview.MemberRow, err error) {
	owners := 0
	for _, m := range members {
		if m.Role == flow.MemberOwner {
			owners++
		}
	}
	for _, m := range members {
		row := accountview.MemberRow{
			UserID: m.UserID, Name: m.Name, Email: m.Email, Role: string(m.Role), JoinedAt: m.JoinedAt,
			You: m.UserID == c.Member.UserID, Last: m.Role == flow.MemberOwner && owners == 1,
		}
		if row.MayReset, err = c.mayReset(m.UserID); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// memberShown is how many keys and triggers of a member are listed. The list is part of each dialog.
const memberShown = 20

// addKeys fills in the active keys and the triggers that members created, directly or through keys. Owners see
// the keys of all members, others only their own.
func (c *call) addKeys(rows []accountview.MemberRow) error {
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return fmt.Errorf("list keys: %w", err)
	}
	triggers, err := c.s.Store.ListTriggers(c.Ctx(), c.WorkspaceID(), "")
	if err != nil {
		return err
	}
	connections, err := c.s.connections.Of(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	for i := range rows {
		row := &rows[i]
		if !row.You && c.Member.Role != flow.MemberOwner {
			continue
		}
		for _, n := range connections[row.UserID] {
			row.Connections = append(row.Connections, accountview.MemberConnection{Name: n.Credential, Href: "/credentials/" + url.PathEscape(n.Credential), Issuer: n.Issuer})
		}
		made := map[string]bool{row.UserID: true} // by these IDs
		for _, k := range flow.KeysMadeBy(row.UserID, keys) {
			made[k.ID] = true
			switch {
			case !k.RevokedAt.IsZero():
			case len(row.Keys) < memberShown:
				row.Keys = append(row.Keys, accountview.MemberKey{Name: k.Name, Prefix: k.Prefix, LastUsedAt: k.LastUsedAt})
			default:
				row.MoreKeys++
			}
		}
		for j := range triggers {
			t := &triggers[j]
			switch {
			case !made[t.MadeBy]:
			case len(row.Triggers) < memberShown:
				row.Triggers = append(row.Triggers, accountview.MemberTrigger{Name: t.Name, Href: "/flows/" + string(t.FlowID) + "/triggers/" + t.ID})
			default:
				row.MoreTriggers++
			}
		}
	}
	return nil
}

// readKeyHandover reads from the form what happens to the keys of a member who
// loses the right to create them. The default is to revoke them.
func (c *call) readKeyHandover() flow.KeyHandover {
	handover := flow.KeyHandover{By: c.Actor(), KeepConnections: c.FormValue("connections") == "keep"}
	if c.FormValue("keys") == "handover" {
		handover.HeirID = cmp.Or(c.FormValue("heir"), "none") // no user has this ID, so the choice is rejected
	}
	return handover
}

// mustAskAboutKeys reports whether the form must still ask what happens to a
// member's keys.
func (c *call) mustAskAboutKeys(userID string, role flow.MemberRole) (bool, error) {
	if role != flow.MemberViewer || c.FormValue("keys") != "" || c.FormValue("connections") != "" {
		return false, nil
	}
	connections, err := c.s.connections.Of(c.Ctx(), c.WorkspaceID())
	if err != nil || len(connections[userID]) > 0 {
		return true, err
	}
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	return slices.ContainsFunc(flow.KeysMadeBy(userID, keys), func(k flow.Key) bool { return k.RevokedAt.IsZero() }), err
}

// mayReset reports whether the current user may create a password reset link
// for another user. A password opens all workspaces of that user, so the
// current user must own all of them.
func (c *call) mayReset(userID string) (bool, error) {
	if c.Member.Role != flow.MemberOwner || userID == c.Member.UserID {
		return false, nil
	}
	if keeps, err := c.keepsPassword(userID); !keeps {
		return false, err
	}
	return c.ownsAll(userID)
}

// ownsAll reports whether the current user owns all workspaces of another user.
func (c *call) ownsAll(userID string) (bool, error) {
	own, err := c.s.Store.ListMemberships(c.Ctx(), c.Member.UserID)
	if err != nil {
		return false, err
	}
	theirs, err := c.s.Store.ListMemberships(c.Ctx(), userID)
	return flow.MayResetPassword(own, theirs), err
}

// findMember finds the member in the path.
func (c *call) findMember() (*flow.Member, error) {
	return c.s.Store.FindMember(c.Ctx(), c.WorkspaceID(), c.Param("user"))
}

// checkRole returns an error message if the role does not exist.
func checkRole(role string) string {
	switch flow.MemberRole(role) {
	case flow.MemberViewer, flow.MemberEditor, flow.MemberOwner:
		return ""
	}
	return "Choose viewer, editor or owner."
}

// setRole is POST /settings/members/{user}/role.
func (s *Server) setRole(c *call, m *flow.Member) error {
	role := c.FormValue("role")
	if sentence := checkRole(role); sentence != "" {
		return c.renderMembers(http.StatusUnprocessableEntity, accountview.MembersPage{Error: sentence})
	}
	ask, err := c.mustAskAboutKeys(m.UserID, flow.MemberRole(role))
	if err != nil {
		return fmt.Errorf("list keys: %w", err)
	}
	if ask {
		return c.renderMembers(http.StatusUnprocessableEntity, accountview.MembersPage{Ask: m.UserID})
	}
	if err := s.members.SetRole(c.Ctx(), c.Actor(), m, flow.MemberRole(role), c.readKeyHandover()); err != nil {
		return c.renderMemberError(err)
	}
	c.Toast(components.ToneOK, m.Name+" is now "+role+".")
	return c.Redirect("/settings/members")
}

// renderMemberError renders the page with a validation error. Other errors are
// returned.
func (c *call) renderMemberError(err error) error {
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeInputInvalid {
		return c.renderMembers(http.StatusUnprocessableEntity, accountview.MembersPage{Error: e.Message})
	}
	return err
}

// removeMember is POST /settings/members/{user}/remove.
func (s *Server) removeMember(c *call, m *flow.Member) error {
	if err := s.members.Remove(c.Ctx(), c.Actor(), m, c.readKeyHandover()); err != nil {
		return c.renderMemberError(err)
	}
	c.Toast(components.ToneOK, m.Name+" is no longer a member.")
	return c.Redirect("/settings/members")
}

// leaveWorkspace is POST /settings/members/leave.
func (s *Server) leaveWorkspace(c *call) error {
	if err := s.members.Remove(c.Ctx(), c.Actor(), c.Member, c.readKeyHandover()); err != nil {
		return c.renderMemberError(err)
	}
	c.Toast(components.ToneOK, "You have left "+c.Member.Workspace+".")
	return c.Redirect("/flows")
}

// offerPassword is POST /settings/members/{user}/password: it creates a link with
// which the member can set a new password. Without a mail server the owner passes
// the link on.
func (s *Server) offerPassword(c *call, m *flow.Member) error {
	allowed, err := c.mayReset(m.UserID)
	if err != nil {
		return err
	}
	if !allowed {
		return c.renderMembers(http.StatusUnprocessableEntity, accountview.MembersPage{
			Error: m.Name + " is also in workspaces that you do not own, so you cannot reset their password. Ask an owner of all of them.",
		})
	}
	token, err := s.members.Invite(c.Ctx(), c.Actor(), &flow.Invite{WorkspaceID: c.WorkspaceID(), Email: m.Email, UserID: m.UserID})
	if err != nil {
		return fmt.Errorf("create password reset link: %w", err)
	}
	link := &accountview.Link{For: m.Email, Password: true, URL: s.PublicURL + "/password/reset?token=" + token}
	if err := c.mailLink(link, resetSubject, resetText(c.Member.Name+" ("+c.Member.Email+")")); err != nil {
		return err
	}
	return c.renderMembers(http.StatusOK, accountview.MembersPage{Link: link})
}
