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

// inviteRoutes returns the routes of invitations. The page of an invitation needs no
// session, because its link identifies the guest.
func (s *Server) inviteRoutes() []route {
	return []route{
		{"GET", "/invite", web.Open, s.showInvite},
		{"POST", "/invite", web.Open, web.Posted(s.acceptInvite)},
		{"POST", "/settings/members/invites", web.Owner, web.Posted(s.createInvite)},
		{"POST", "/settings/members/invites/:invite/revoke", web.Owner, s.revokeInvite},
	}
}

// invitation is an invitation link and the user who opened it.
type invitation struct {
	*flow.Invite
	token       string
	account     *flow.User // with the invited address; nil if not yet created
	currentUser *flow.User // nil without a session
}

// findInvitation returns the invitation for a token, or nil if the link is not
// valid. Tokens are stored as hashes, and links for password resets are kept in
// the same table.
func (c *call) findInvitation(token string) (*invitation, error) {
	i, err := c.s.Store.FindInvite(c.Ctx(), flow.Hash([]byte(token)))
	if flow.IsNotFound(err) || err == nil && i.UserID != "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := &invitation{Invite: i, token: token}
	if v.account, err = c.userOrNil(c.s.Store.FindUserByEmail(c.Ctx(), i.Email)); err != nil {
		return nil, err
	}
	if id := c.UserOfSession(); id != "" {
		v.currentUser, err = c.userOrNil(c.s.Store.FindUser(c.Ctx(), id))
	}
	if u := v.currentUser; v.account == nil && u != nil && u.Unverified && u.Email == i.Email {
		v.account = u // an unverified user who is not signed in does not own the address
	}
	return v, err
}

// userOrNil returns nil instead of an error for a user who does not exist.
func (c *call) userOrNil(u *flow.User, err error) (*flow.User, error) {
	if flow.IsNotFound(err) {
		return nil, nil
	}
	return u, err
}

// isInvited reports whether the signed-in user is the invited one.
func (v *invitation) isInvited() bool {
	return v.account != nil && v.currentUser != nil && v.account.ID == v.currentUser.ID
}

// renderInvite renders the page of an invitation: a form for a new account, or
// a button for a user who has one.
func (c *call) renderInvite(status int, v *invitation, name string, e components.Errors) error {
	f := accountview.InviteForm{
		Token: v.token, Workspace: v.Workspace, Role: string(v.Role), InvitedBy: v.InvitedBy, Name: name, Email: v.Email,
		Account: v.account != nil, Providers: c.providerLinks("/invite?token=" + v.token), PasswordsOff: c.s.PasswordsOff, SignedIn: v.isInvited(), Errors: e,
	}
	if f.InvitedBy == "" {
		f.InvitedBy = "An owner"
	}
	if v.currentUser != nil && !v.isInvited() {
		f.Other = v.currentUser.Email
	}
	return c.Render(status, accountview.AcceptInvite(c.Page("Join "+v.Workspace, ""), f))
}

// showInvite is GET /invite.
func (s *Server) showInvite(c *call) error {
	token := c.QueryParam("token")
	v, err := c.findInvitation(token)
	if err != nil {
		return fmt.Errorf("find invitation: %w", err)
	}
	if v == nil {
		return c.respondInvalidLink(token)
	}
	return c.renderInvite(http.StatusOK, v, "", nil)
}

// acceptInvite is POST /invite. A user with an account must be signed in to
// accept: the link proves the invitation, not who uses it.
func (s *Server) acceptInvite(c *call) error {
	token := c.FormValue("token")
	v, err := c.findInvitation(token)
	if err != nil {
		return fmt.Errorf("find invitation: %w", err)
	}
	if v == nil {
		return c.respondInvalidLink(token)
	}
	u := v.account
	if u == nil && s.PasswordsOff {
		return c.renderInvite(http.StatusForbidden, v, "", nil)
	}
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
	} else if !v.isInvited() {
		return c.renderInvite(http.StatusForbidden, v, "", nil)
	}
	return c.acceptInvitation(v, u)
}

// acceptInvitation accepts the invitation and signs the user in.
func (c *call) acceptInvitation(v *invitation, u *flow.User) error {
	err := c.s.members.Join(c.Ctx(), c.IP(), v.token, v.Invite, u)
	if e, ok := errors.AsType[*flow.Error](err); ok {
		if e.Code == flow.CodeNotFound {
			return c.renderInvalidLink() // a concurrent request used it
		}
		return c.renderInvite(http.StatusUnprocessableEntity, v, u.Name, components.Errors{"": e.Message})
	}
	if err != nil {
		return fmt.Errorf("accept an invitation: %w", err)
	}
	method := web.MethodPassword
	if v.isInvited() { // the same person continues
		method = c.s.Sessions.GetString(c.Ctx(), web.SessionMethod)
	}
	if err := c.signInUser(u.ID, v.WorkspaceID, method); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "You are now a member of "+v.Workspace+".")
	return c.Redirect("/flows")
}

// createInvite is POST /settings/members/invites. The link is shown in this
// response only.
func (s *Server) createInvite(c *call) error {
	f := accountview.InviteMember{Email: c.Trimmed("email"), Role: c.FormValue("role")}
	f.Errors = web.FieldErrors(map[string]string{"email": checkEmail(f.Email), "role": checkRole(f.Role)})
	if len(f.Errors) == 0 {
		member, err := c.isMember(f.Email)
		if err != nil {
			return err
		}
		if member {
			f.Errors["email"] = "This user is already a member of the workspace."
		}
	}
	if len(f.Errors) > 0 {
		return c.renderMembers(http.StatusUnprocessableEntity, accountview.MembersPage{Form: f})
	}
	token, err := s.members.Invite(c.Ctx(), c.Actor(), &flow.Invite{WorkspaceID: c.WorkspaceID(), Email: f.Email, Role: flow.MemberRole(f.Role)})
	if err != nil {
		return fmt.Errorf("invite: %w", err)
	}
	link := &accountview.Link{For: f.Email, URL: s.PublicURL + "/invite?token=" + token}
	if err := c.mailInvite(link); err != nil {
		return err
	}
	return c.renderMembers(http.StatusOK, accountview.MembersPage{Link: link})
}

// isMember reports whether a user with this address is a member of the
// workspace.
func (c *call) isMember(email string) (bool, error) {
	u, err := c.userOrNil(c.s.Store.FindUserByEmail(c.Ctx(), email))
	if u == nil || err != nil {
		return false, err
	}
	_, err = c.s.Store.FindMember(c.Ctx(), c.WorkspaceID(), u.ID)
	if flow.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// revokeInvite is POST /settings/members/invites/{invite}/revoke.
func (s *Server) revokeInvite(c *call) error {
	if err := s.members.RevokeInvite(c.Ctx(), c.Actor(), c.WorkspaceID(), c.Param("invite")); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "The invitation was revoked. Its link no longer works.")
	return c.Redirect("/settings/members")
}
