package db

import (
	"context"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// CreateInvite adds a link that works once. It sets ID and times.
func (s *Invites) CreateInvite(ctx context.Context, tokenHash string, i *flow.Invite) error {
	i.ID, i.Email, i.CreatedAt = s.DB.IDs().New(flow.PrefixInvite), normalizeEmail(i.Email), dbconn.TimeOf(s.DB.NowMicros())
	i.ExpiresAt = i.CreatedAt.Add(i.Life())
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if i.UserID != "" { // older links to reset this password become invalid
			if err := tx.Queries.DeletePasswordLinks(tx.Ctx, i.UserID); err != nil {
				return err
			}
		}
		return tx.Queries.InsertInvite(tx.Ctx, gen.InsertInviteParams{
			ID: i.ID, TokenHash: tokenHash, WorkspaceID: i.WorkspaceID, Email: i.Email, Role: string(i.Role), UserID: i.UserID,
			CreatedBy: i.CreatedBy, CreatedAt: dbconn.Micros(i.CreatedAt), ExpiresAt: dbconn.Micros(i.ExpiresAt),
		})
	})
}

// FindInvite returns the invitation of a link that is still valid.
func (s *Invites) FindInvite(ctx context.Context, tokenHash string) (*flow.Invite, error) {
	r, err := s.DB.Reads.FindInvite(ctx, gen.FindInviteParams{TokenHash: tokenHash, Now: s.DB.NowMicros()})
	return dbconn.ConvertRow(r, err, "link", inviteOf)
}

func inviteOf(r gen.FindInviteRow) flow.Invite {
	return flow.Invite{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Workspace: r.Workspace, Email: r.Email, Role: flow.MemberRole(r.Role), UserID: r.UserID,
		CreatedBy: r.CreatedBy, InvitedBy: r.InvitedBy, CreatedAt: dbconn.TimeOf(r.CreatedAt), ExpiresAt: dbconn.TimeOf(r.ExpiresAt),
	}
}

// ListInvites returns the open invitations of a workspace, newest first, without
// password reset links.
func (s *Invites) ListInvites(ctx context.Context, ws flow.WorkspaceID) ([]flow.Invite, error) {
	rows, err := s.DB.Reads.ListInvites(ctx, gen.ListInvitesParams{WorkspaceID: ws, Now: s.DB.NowMicros()})
	return dbconn.MapRows(rows, func(r gen.ListInvitesRow) flow.Invite { return inviteOf(gen.FindInviteRow(r)) }), err
}

// RevokeInvite deletes an invitation.
func (s *Invites) RevokeInvite(ctx context.Context, ws flow.WorkspaceID, id string) error {
	return s.DB.Update(ctx, "invitation", func(tx *core.Tx) (int64, error) {
		return tx.Queries.DeleteInvite(tx.Ctx, gen.DeleteInviteParams{WorkspaceID: ws, ID: id})
	})
}

// AcceptInvite makes a user a member with the role of the invitation. It creates
// the user if u has no ID. The link works once.
func (s *Invites) AcceptInvite(ctx context.Context, tokenHash string, u *flow.User) (i *flow.Invite, err error) {
	made := *u
	if u.ID == "" {
		(*Users)(s).newUser(&made)
	}
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if i, err = takeInvite(tx, tokenHash); err != nil {
			return err
		}
		if i.UserID != "" || i.Email != made.Email {
			return flow.Errorf(flow.CodeNotFound, "There is no such link.")
		}
		if u.ID == "" {
			return insertMember(tx, &made, i.WorkspaceID, i.Role)
		}
		if err := verifyUser(tx, u); err != nil {
			return err
		}
		return addMember(tx, i.WorkspaceID, u.ID, i.Role)
	})
	if err == nil {
		*u = made
	}
	return i, err
}

// ResetPassword sets the password of the user of a link and ends the user's
// sessions. The link works once.
func (s *Invites) ResetPassword(ctx context.Context, tokenHash, passwordHash string) (i *flow.Invite, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
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

// takeInvite deletes a link. Of two concurrent calls, only one succeeds.
func takeInvite(tx *core.Tx, tokenHash string) (*flow.Invite, error) {
	r, err := tx.Queries.FindInvite(tx.Ctx, gen.FindInviteParams{TokenHash: tokenHash, Now: tx.Store.NowMicros()})
	i, err := dbconn.ConvertRow(r, err, "link", inviteOf)
	if err != nil {
		return nil, err
	}
	n, err := tx.Queries.TakeInvite(tx.Ctx, i.ID)
	return i, dbconn.MustAffect(n, err, "link")
}
