package db

import (
	"context"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// CreateInvite adds a link that works once. ID and times are filled in.
func (s Invites) CreateInvite(ctx context.Context, tokenHash string, i *flow.Invite) error {
	i.ID, i.Email, i.CreatedAt = s.IDs().New(flow.PrefixInvite), address(i.Email), dbconn.TimeOf(s.NowMicros())
	i.ExpiresAt = i.CreatedAt.Add(i.Life())
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if i.UserID != "" { // an older link to the same password is void
			if err := tx.DeletePasswordLinks(tx.Ctx, i.UserID); err != nil {
				return err
			}
		}
		return tx.InsertInvite(tx.Ctx, gen.InsertInviteParams{
			ID: i.ID, TokenHash: tokenHash, WorkspaceID: i.WorkspaceID, Email: i.Email, Role: string(i.Role), UserID: i.UserID,
			CreatedBy: i.CreatedBy, CreatedAt: dbconn.Micros(i.CreatedAt), ExpiresAt: dbconn.Micros(i.ExpiresAt),
		})
	})
}

// FindInvite returns what a link is for, while it works.
func (s Invites) FindInvite(ctx context.Context, tokenHash string) (*flow.Invite, error) {
	return inviteOf(s.Reads.FindInvite(ctx, gen.FindInviteParams{TokenHash: tokenHash, Now: s.NowMicros()}))
}

func inviteOf(r gen.FindInviteRow, err error) (*flow.Invite, error) {
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "link")
	}
	return &flow.Invite{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Workspace: r.Workspace, Email: r.Email, Role: flow.MemberRole(r.Role), UserID: r.UserID,
		CreatedBy: r.CreatedBy, InvitedBy: r.InvitedBy, CreatedAt: dbconn.TimeOf(r.CreatedAt), ExpiresAt: dbconn.TimeOf(r.ExpiresAt),
	}, nil
}

// ListInvites returns the open invitations of a workspace, newest first. Links
// to passwords are not among them.
func (s Invites) ListInvites(ctx context.Context, ws string) ([]flow.Invite, error) {
	rows, err := s.Reads.ListInvites(ctx, gen.ListInvitesParams{WorkspaceID: ws, Now: s.NowMicros()})
	return dbconn.MapRows(rows, func(r gen.ListInvitesRow) flow.Invite {
		return flow.Invite{
			ID: r.ID, WorkspaceID: r.WorkspaceID, Email: r.Email, Role: flow.MemberRole(r.Role),
			CreatedBy: r.CreatedBy, InvitedBy: r.InvitedBy, CreatedAt: dbconn.TimeOf(r.CreatedAt), ExpiresAt: dbconn.TimeOf(r.ExpiresAt),
		}
	}), err
}

// RevokeInvite makes an invitation's link worthless.
func (s Invites) RevokeInvite(ctx context.Context, ws, id string) error {
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.DeleteInvite(tx.Ctx, gen.DeleteInviteParams{WorkspaceID: ws, ID: id})
		return dbconn.MustAffect(n, err, "invitation")
	})
}

// AcceptInvite makes the person a member as the invitation says: somebody new
// when u has no ID. The link works once.
func (s Invites) AcceptInvite(ctx context.Context, tokenHash string, u *flow.User) (i *flow.Invite, err error) {
	made := *u
	if u.ID == "" {
		Users(s).newUser(&made)
	}
	err = s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if i, err = takeInvite(tx, tokenHash); err != nil {
			return err
		}
		if i.UserID != "" || i.Email != made.Email {
			return flow.Errorf(flow.CodeNotFound, "There is no such link.")
		}
		if u.ID == "" {
			return insertMember(tx, &made, i.WorkspaceID, i.Role)
		}
		return addMember(tx, i.WorkspaceID, u.ID, i.Role)
	})
	if err == nil {
		*u = made
	}
	return i, err
}

// ResetPassword sets the password of whom a link is for, and ends their
// sessions. The link works once.
func (s Invites) ResetPassword(ctx context.Context, tokenHash, passwordHash string) (i *flow.Invite, err error) {
	err = s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if i, err = takeInvite(tx, tokenHash); err != nil {
			return err
		}
		if i.UserID == "" {
			return flow.Errorf(flow.CodeNotFound, "There is no such link.")
		}
		return setPassword(tx, i.UserID, passwordHash, "")
	})
	return i, err
}

// takeInvite uses a link up. Of two who come at once, one finds its row.
func takeInvite(tx *core.Tx, tokenHash string) (*flow.Invite, error) {
	i, err := inviteOf(tx.FindInvite(tx.Ctx, gen.FindInviteParams{TokenHash: tokenHash, Now: tx.Store.NowMicros()}))
	if err != nil {
		return nil, err
	}
	n, err := tx.TakeInvite(tx.Ctx, i.ID)
	return i, dbconn.MustAffect(n, err, "link")
}
