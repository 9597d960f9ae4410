package people

import (
	"context"
	"errors"

	"sluice/flow"
	"sluice/flow/audit"
)

// PeopleStore stores users, members, invitations, workspaces and sessions. It returns CodeNotFound
// for a missing one.
type PeopleStore interface {
	audit.Recorder
	CreateUser(ctx context.Context, ws flow.WorkspaceID, u *flow.User, role flow.MemberRole) error
	AddMember(ctx context.Context, ws flow.WorkspaceID, userID string, role flow.MemberRole) error
	RemoveMember(ctx context.Context, ws flow.WorkspaceID, userID string, keys flow.KeyHandover) error
	SetRole(ctx context.Context, ws flow.WorkspaceID, userID string, role flow.MemberRole, keys flow.KeyHandover) error
	ListMemberships(ctx context.Context, userID string) ([]flow.Member, error)
	CreateInvite(ctx context.Context, tokenHash string, i *flow.Invite) error
	RevokeInvite(ctx context.Context, ws flow.WorkspaceID, id string) error
	// AcceptInvite makes a user a member, and sets the ID of a new user.
	AcceptInvite(ctx context.Context, tokenHash string, u *flow.User) (*flow.Invite, error)
	// SetPassword ends all sessions of the user except one.
	SetPassword(ctx context.Context, userID, passwordHash, exceptSession string) error
	ResetPassword(ctx context.Context, tokenHash, passwordHash string) (*flow.Invite, error)
	SetUp(ctx context.Context, tokenHash string, u *flow.User, workspace string) error
	CreateOwnedWorkspace(ctx context.Context, w *flow.Workspace, ownerID string) error
	RenameWorkspace(ctx context.Context, ws flow.WorkspaceID, name string) error
	EndSession(ctx context.Context, userID, id string) error
	EndSessions(ctx context.Context, userID, exceptID string) (n int64, err error)
}

// Members changes who belongs to a workspace.
type Members struct {
	Store       PeopleStore
	Connections *Connections // of members who leave; may be nil
}

// Add makes a user a member. It creates a user without an ID.
func (s *Members) Add(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, u *flow.User, role flow.MemberRole) error {
	made := *u
	err := audit.Record(ctx, s.Store, by, audit.Entry(ws, "member.add", u.Email, string(role)), func(ctx context.Context) error {
		if u.ID != "" {
			return s.Store.AddMember(ctx, ws, u.ID, role)
		}
		return s.Store.CreateUser(ctx, ws, &made, role)
	})
	if u.ID != "" && errors.Is(err, &flow.Error{Code: flow.CodeInputInvalid}) {
		return flow.Errorf(flow.CodeInputInvalid, "There is already a person with the email address %s in this workspace.", u.Email)
	}
	*u = made
	return err
}

// SetRole changes the role of a member. keys says what happens to the keys of a member who loses the
// right to create them.
func (s *Members) SetRole(ctx context.Context, by flow.Actor, m *flow.Member, role flow.MemberRole, keys flow.KeyHandover) error {
	end := audit.Nothing
	if !role.AtLeast(flow.MemberEditor) {
		var err error
		if end, err = s.Connections.leaving(ctx, m.WorkspaceID, m.UserID, endedByRole, keys); err != nil {
			return err
		}
	}
	return audit.Record(ctx, s.Store, by, audit.Entry(m.WorkspaceID, "member.role", m.Email, string(m.Role)+" to "+string(role)), func(ctx context.Context) error {
		if err := s.Store.SetRole(ctx, m.WorkspaceID, m.UserID, role, keys); err != nil {
			return err
		}
		return end(ctx)
	})
}

// Remove ends a membership. The account stays, for other workspaces. keys says what happens to the keys of the member, and to the
// connections to MCP servers.
func (s *Members) Remove(ctx context.Context, by flow.Actor, m *flow.Member, keys flow.KeyHandover) error {
	action := "member.remove"
	if by.ID == m.UserID {
		action = "member.leave"
	}
	end, err := s.Connections.leaving(ctx, m.WorkspaceID, m.UserID, endedByLeave, keys)
	if err != nil {
		return err
	}
	return audit.Record(ctx, s.Store, by, audit.Entry(m.WorkspaceID, action, m.Email, ""), func(ctx context.Context) error {
		if err := s.Store.RemoveMember(ctx, m.WorkspaceID, m.UserID, keys); err != nil {
			return err
		}
		return end(ctx)
	})
}

// Invite creates the link of an invitation or, if the invitation names a user, of a password reset. It
// returns the token of the link. Only the hash of the token is stored.
func (s *Members) Invite(ctx context.Context, by flow.Actor, i *flow.Invite) (token string, err error) {
	token, i.CreatedBy = flow.NewLinkToken(), by.ID
	e := audit.Entry(i.WorkspaceID, "member.invite", i.Email, string(i.Role))
	if i.UserID != "" {
		e.Action = "password.offer"
	}
	return token, audit.Record(ctx, s.Store, by, e, func(ctx context.Context) error {
		return s.Store.CreateInvite(ctx, flow.Hash([]byte(token)), i)
	})
}

// RevokeInvite revokes an invitation. Its link no longer works.
func (s *Members) RevokeInvite(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, id string) error {
	return audit.Record(ctx, s.Store, by, audit.Entry(ws, "member.revoke", id, ""), func(ctx context.Context) error {
		return s.Store.RevokeInvite(ctx, ws, id)
	})
}

// Join accepts an invitation for a user, whom it creates if there is no ID.
func (s *Members) Join(ctx context.Context, ip, token string, i *flow.Invite, u *flow.User) error {
	made, e := *u, audit.Entry(i.WorkspaceID, "member.join", u.Email, string(i.Role))
	err := s.Store.InTransaction(ctx, func(ctx context.Context) error {
		made = *u
		if _, err := s.Store.AcceptInvite(ctx, flow.Hash([]byte(token)), &made); err != nil {
			return err
		}
		return audit.Record(ctx, s.Store, flow.Actor{ID: made.ID, IP: ip}, e, audit.Nothing)
	})
	*u = made
	return err
}

// SetPassword changes the password of a member for the operator, or the user's own. All sessions end
// except one.
func (s *Members) SetPassword(ctx context.Context, by flow.Actor, m *flow.Member, hash, exceptSession string) error {
	e := audit.Entry(m.WorkspaceID, "password.set", m.Email, "")
	if by.ID == m.UserID {
		e = audit.Entry(m.WorkspaceID, "password.change", "", "")
	}
	return audit.Record(ctx, s.Store, by, e, func(ctx context.Context) error {
		return s.Store.SetPassword(ctx, m.UserID, hash, exceptSession)
	})
}

// ResetPassword sets the password of the user of a link, and ends the user's sessions.
func (s *Members) ResetPassword(ctx context.Context, ip, token string, i *flow.Invite, hash string) error {
	return audit.Record(ctx, s.Store, flow.Actor{ID: i.UserID, IP: ip}, audit.Entry(i.WorkspaceID, "password.reset", "", ""), func(ctx context.Context) error {
		_, err := s.Store.ResetPassword(ctx, flow.Hash([]byte(token)), hash)
		return err
	})
}

// Workspaces creates and renames workspaces.
type Workspaces struct{ Store PeopleStore }

// SetUp creates the owner of the server with the token of the set-up link.
func (s *Workspaces) SetUp(ctx context.Context, ip, token string, u *flow.User, name string) error {
	made, e := *u, audit.Entry(flow.DefaultWorkspace, "workspace.setup", name, "")
	err := s.Store.InTransaction(ctx, func(ctx context.Context) error {
		made = *u
		if err := s.Store.SetUp(ctx, flow.Hash([]byte(token)), &made, name); err != nil {
			return err
		}
		return audit.Record(ctx, s.Store, flow.Actor{ID: made.ID, IP: ip}, e, audit.Nothing)
	})
	*u = made
	return err
}

// Create creates a workspace that the actor owns, and sets its ID.
func (s *Workspaces) Create(ctx context.Context, by flow.Actor, w *flow.Workspace) error {
	e := audit.Entry("", "workspace.create", w.Name, "")
	return audit.Record(ctx, s.Store, by, e, func(ctx context.Context) error {
		err := s.Store.CreateOwnedWorkspace(ctx, w, by.ID)
		e.WorkspaceID = w.ID
		return err
	})
}

// Rename changes the name of a workspace.
func (s *Workspaces) Rename(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, was, name string) error {
	return audit.Record(ctx, s.Store, by, audit.Entry(ws, "workspace.rename", name, "was "+was), func(ctx context.Context) error {
		return s.Store.RenameWorkspace(ctx, ws, name)
	})
}

// Sessions records and ends the sessions of users.
type Sessions struct{ Store PeopleStore }

// Begin records that a user signed in. The session itself is stored with the response, so the caller
// drops it if Begin fails.
func (s *Sessions) Begin(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, device string) error {
	return audit.Record(ctx, s.Store, by, audit.Entry(ws, "session.begin", "", device), audit.Nothing)
}

// Refuse records a failed attempt to sign in, in the log of every workspace of the user.
func (s *Sessions) Refuse(ctx context.Context, ip, device string, u *flow.User) error {
	list, err := s.Store.ListMemberships(ctx, u.ID)
	if err != nil {
		return err
	}
	return s.Store.InTransaction(ctx, func(ctx context.Context) error {
		for _, m := range list {
			if err := audit.Record(ctx, s.Store, flow.Actor{IP: ip}, audit.Entry(m.WorkspaceID, "session.refuse", u.Email, device), audit.Nothing); err != nil {
				return err
			}
		}
		return nil
	})
}

// End signs a user out in one browser. where is empty for the browser of the request.
func (s *Sessions) End(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, id, where string) error {
	return audit.Record(ctx, s.Store, by, audit.Entry(ws, "session.end", "", where), func(ctx context.Context) error {
		return s.Store.EndSession(ctx, by.ID, id)
	})
}

// EndAll signs a user out everywhere.
func (s *Sessions) EndAll(ctx context.Context, by flow.Actor, ws flow.WorkspaceID) error {
	return audit.Record(ctx, s.Store, by, audit.Entry(ws, "session.end", "", "everywhere"), func(ctx context.Context) error {
		_, err := s.Store.EndSessions(ctx, by.ID, "")
		return err
	})
}

// EndOf signs a member out everywhere.
func (s *Sessions) EndOf(ctx context.Context, by flow.Actor, m *flow.Member) error {
	return audit.Record(ctx, s.Store, by, audit.Entry(m.WorkspaceID, "session.end", m.Email, "everywhere"), func(ctx context.Context) error {
		_, err := s.Store.EndSessions(ctx, m.UserID, "")
		return err
	})
}
