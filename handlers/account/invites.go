package account

import (
	"errors"
	"fmt"
	"net/http"

	"sluice/flow"
	"sluice/handlers/passwords"
	"sluice/handlers/web"
	accountview "sluice/views/account"
	"sluice/views/components"
)

func (s *Server) inviteRoutes() []route {
	return []route{
		{"GET", "/invite", web.Open, s.showInvite},
		{"POST", "/invite", web.Open, web.Posted(s.acceptInvite)},
		{"POST", "/settings/members/invites", web.Owner, web.Posted(s.createInvite)},
		{"POST", "/settings/members/invites/:invite/revoke", web.Owner, s.revokeInvite},
	}
}

// invitation is a link with what is known of whoever opened it.
type invitation struct {
	*flow.Invite
	token   string
	account *flow.User // of the invited address; nil when there is none yet
	looks   *flow.User // who is signed in; nil when nobody is
}

// findInvitation is nil where the link works no more.
func (c *call) findInvitation(token string) (*invitation, error) {
	i, err := c.s.Store.FindInvite(c.Ctx(), flow.Hash([]byte(token)))
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) || err == nil && i.UserID != "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := &invitation{Invite: i, token: token}
	if v.account, err = c.maybeUser(c.s.Store.FindUserByEmail(c.Ctx(), i.Email)); err != nil {
		return nil, err
	}
	if id := c.s.Sessions.GetString(c.Ctx(), web.SessionUser); id != "" {
		v.looks, err = c.maybeUser(c.s.Store.FindUser(c.Ctx(), id))
	}
	return v, err
}

// maybeUser is nil for somebody who is not there.
func (c *call) maybeUser(u *flow.User, err error) (*flow.User, error) {
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		return nil, nil
	}
	return u, err
}

// accepts tells that who is signed in is who was invited.
func (v *invitation) accepts() bool {
	return v.account != nil && v.looks != nil && v.account.ID == v.looks.ID
}

func (c *call) renderInvite(status int, v *invitation, name string, e components.Errors) error {
	f := accountview.InviteForm{
		Token: v.token, Workspace: v.Workspace, Role: string(v.Role), InvitedBy: v.InvitedBy, Name: name, Email: v.Email,
		Account: v.account != nil, SignedIn: v.accepts(), Errors: e,
	}
	if f.InvitedBy == "" {
		f.InvitedBy = "An owner"
	}
	if v.looks != nil && !v.accepts() {
		f.Other = v.looks.Email
	}
	return c.Render(status, accountview.AcceptInvite(c.Page("Join "+v.Workspace, ""), f))
}

func (s *Server) showInvite(c *call) error {
	token := c.QueryParam("token")
	v, err := c.findInvitation(token)
	if err != nil {
		return fmt.Errorf("look at an invitation: %w", err)
	}
	if v == nil {
		return c.refuseLink(token)
	}
	return c.renderInvite(http.StatusOK, v, "", nil)
}

// acceptInvite makes whoever the link is for a member. Who has an account must
// be signed in with it: the link alone is no password.
func (s *Server) acceptInvite(c *call) error {
	token := c.FormValue("token")
	v, err := c.findInvitation(token)
	if err != nil {
		return fmt.Errorf("look at an invitation: %w", err)
	}
	if v == nil {
		return c.refuseLink(token)
	}
	u := v.account
	if u == nil {
		name, password := c.Trimmed("name"), c.FormValue("password")
		if e := web.FieldErrors(map[string]string{"name": web.CheckName(name, "yourself"), "password": passwords.Check(password, v.Email)}); len(e) > 0 {
			return c.renderInvite(http.StatusUnprocessableEntity, v, name, e)
		}
		hash, err := s.Hasher.Hash(c.Ctx(), password)
		if err != nil {
			return err
		}
		u = &flow.User{Email: v.Email, Name: name, PasswordHash: hash}
	} else if !v.accepts() {
		return c.renderInvite(http.StatusForbidden, v, "", nil)
	}
	return c.join(v, u)
}

func (c *call) join(v *invitation, u *flow.User) error {
	_, err := c.s.Store.AcceptInvite(c.Ctx(), flow.Hash([]byte(v.token)), u)
	if e, ok := errors.AsType[*flow.Error](err); ok {
		if e.Code == flow.CodeNotFound {
			return c.renderLinkOver() // it was used meanwhile
		}
		return c.renderInvite(http.StatusUnprocessableEntity, v, u.Name, components.Errors{"": e.Message})
	}
	if err != nil {
		return fmt.Errorf("accept an invitation: %w", err)
	}
	if err := c.welcome(u.ID, v.WorkspaceID); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "You are now a member of "+v.Workspace+".")
	return c.AuditAndRedirect("/flows", "member.join", u.Email, string(v.Role))
}

// createInvite makes a link and shows it, this once.
func (s *Server) createInvite(c *call) error {
	f := accountview.InviteMember{Email: c.Trimmed("email"), Role: c.FormValue("role")}
	f.Errors = web.FieldErrors(map[string]string{"email": checkEmail(f.Email), "role": checkRole(f.Role)})
	if len(f.Errors) == 0 {
		member, err := c.isMember(f.Email)
		if err != nil {
			return err
		}
		if member {
			f.Errors["email"] = "This person is a member of the workspace already."
		}
	}
	if len(f.Errors) > 0 {
		return c.renderMembers(http.StatusUnprocessableEntity, accountview.MembersPage{Form: f})
	}
	token := flow.NewLinkToken()
	i := &flow.Invite{WorkspaceID: c.WorkspaceID(), Email: f.Email, Role: flow.MemberRole(f.Role), CreatedBy: c.Member.UserID}
	if err := s.Store.CreateInvite(c.Ctx(), flow.Hash([]byte(token)), i); err != nil {
		return fmt.Errorf("invite: %w", err)
	}
	if err := c.Audit("member.invite", f.Email, f.Role); err != nil {
		return err
	}
	return c.renderMembers(http.StatusOK, accountview.MembersPage{Link: &accountview.Link{For: f.Email, URL: s.PublicURL + "/invite?token=" + token}})
}

func (c *call) isMember(email string) (bool, error) {
	u, err := c.maybeUser(c.s.Store.FindUserByEmail(c.Ctx(), email))
	if u == nil || err != nil {
		return false, err
	}
	_, err = c.s.Store.FindMember(c.Ctx(), c.WorkspaceID(), u.ID)
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		return false, nil
	}
	return err == nil, err
}

func (s *Server) revokeInvite(c *call) error {
	id := c.Param("invite")
	if err := s.Store.RevokeInvite(c.Ctx(), c.WorkspaceID(), id); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "The invitation is revoked: its link no longer works.")
	return c.AuditAndRedirect("/settings/members", "member.revoke", id, "")
}
