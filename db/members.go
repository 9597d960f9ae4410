package db

import (
	"context"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// FindMember returns a member of a workspace with their role.
func (s *Members) FindMember(ctx context.Context, ws flow.WorkspaceID, userID string) (*flow.Member, error) {
	r, err := s.DB.Reads.FindMember(ctx, gen.FindMemberParams{WorkspaceID: ws, UserID: userID})
	return dbconn.ConvertRow(r, err, "member", func(r gen.FindMemberRow) flow.Member {
		email, _ := shownEmail(r.Email)
		return flow.Member{UserID: r.ID, Name: r.Name, Email: email, WorkspaceID: ws, Workspace: r.Workspace, Role: flow.MemberRole(r.Role)}
	})
}

// ListMembers returns the members of a workspace, ordered by when their accounts
// were created.
func (s *Members) ListMembers(ctx context.Context, ws flow.WorkspaceID) ([]flow.Member, error) {
	rows, err := s.DB.Reads.ListMembers(ctx, ws)
	return dbconn.MapRows(rows, func(r gen.ListMembersRow) flow.Member {
		email, _ := shownEmail(r.Email)
		return flow.Member{UserID: r.ID, Name: r.Name, Email: email, WorkspaceID: ws, Role: flow.MemberRole(r.Role), JoinedAt: dbconn.TimeOf(r.CreatedAt)}
	}), err
}

// ListMemberships returns the workspaces of a user, with the roles in them.
func (s *Members) ListMemberships(ctx context.Context, userID string) ([]flow.Member, error) {
	rows, err := s.DB.Reads.ListMemberships(ctx, userID)
	return dbconn.MapRows(rows, func(r gen.ListMembershipsRow) flow.Member {
		return flow.Member{UserID: userID, WorkspaceID: r.WorkspaceID, Workspace: r.Workspace, Role: flow.MemberRole(r.Role)}
	}), err
}

// AddMember adds a user to a workspace. It returns CodeInputInvalid for a user who
// is already a member.
func (s *Members) AddMember(ctx context.Context, ws flow.WorkspaceID, userID string, role flow.MemberRole) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := tx.Queries.FindWorkspace(tx.Ctx, ws); err != nil {
			return dbconn.NotFoundErr(err, "workspace")
		}
		return addMember(tx, ws, userID, role)
	})
}

// addMember also deletes password reset links for the user, because their creator
// may not be an owner of this workspace.
func addMember(tx *core.Tx, ws flow.WorkspaceID, userID string, role flow.MemberRole) error {
	n, err := tx.Queries.InsertMember(tx.Ctx, gen.InsertMemberParams{WorkspaceID: ws, UserID: userID, Role: string(role), CreatedAt: tx.Store.NowMicros()})
	if err != nil {
		return fmt.Errorf("add %s to %s: %w", userID, ws, err)
	}
	if n == 0 {
		return flow.ErrAlreadyMember
	}
	return tx.Queries.DeletePasswordLinks(tx.Ctx, userID)
}

// SetRole changes the role of a member. The last owner cannot lose the role. Links
// that a former owner created become invalid. A viewer has no keys, so the keys of
// a member who becomes one are revoked or handed over.
func (s *Members) SetRole(ctx context.Context, ws flow.WorkspaceID, userID string, role flow.MemberRole, keys flow.KeyHandover) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if err := checkLastOwner(tx, ws, userID, role == flow.MemberOwner); err != nil {
			return err
		}
		n, err := tx.Queries.SetRole(tx.Ctx, gen.SetRoleParams{WorkspaceID: ws, UserID: userID, Role: string(role)})
		if err := dbconn.MustAffect(n, err, "member"); err != nil || role == flow.MemberOwner {
			return err
		}
		if role == flow.MemberViewer {
			if err := settleKeys(tx, ws, userID, keys); err != nil {
				return err
			}
		}
		return voidLinks(tx, ws, userID)
	})
}

// RemoveMember removes a member from a workspace and revokes their keys or hands
// them over. The last owner cannot be removed.
func (s *Members) RemoveMember(ctx context.Context, ws flow.WorkspaceID, userID string, keys flow.KeyHandover) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if err := checkLastOwner(tx, ws, userID, false); err != nil {
			return err
		}
		n, err := tx.Queries.DeleteMember(tx.Ctx, gen.DeleteMemberParams{WorkspaceID: ws, UserID: userID})
		if err := dbconn.MustAffect(n, err, "member"); err != nil {
			return err
		}
		if err := tx.Queries.DeletePasswordLinks(tx.Ctx, userID); err != nil {
			return err
		}
		if err := settleKeys(tx, ws, userID, keys); err != nil {
			return err
		}
		return voidLinks(tx, ws, userID)
	})
}

// settleKeys revokes the keys that a user created and the keys that those made, or hands
// the former over to another member who may have keys. It audits each key.
func settleKeys(tx *core.Tx, ws flow.WorkspaceID, userID string, handover flow.KeyHandover) error {
	list, action, words, err := revokeOrHandOver(tx, ws, userID, handover)
	if err != nil {
		return err
	}
	for i := range list {
		k := &list[i]
		err := appendAudit(tx, gen.Audit{
			ID: tx.Store.IDs().New(flow.PrefixAudit), WorkspaceID: ws, Actor: handover.By.ID, Action: action,
			Target: k.Name, Detail: k.ID + " · " + words, Ip: dbconn.ValidText(handover.By.IP), CreatedAt: tx.Store.NowMicros(),
		})
		if err != nil {
			return fmt.Errorf("settle the key %s: %w", k.ID, err)
		}
	}
	return nil
}

// revokeOrHandOver does what settleKeys records.
func revokeOrHandOver(tx *core.Tx, ws flow.WorkspaceID, userID string, handover flow.KeyHandover) (list []flow.Key, action, detail string, err error) {
	if handover.HeirID == "" {
		list, err = revokeMade(tx, ws, userID)
		return list, "key.revoke", "revoked with its creator's membership", err
	}
	rows, err := tx.Queries.ListKeysBy(tx.Ctx, gen.ListKeysByParams{WorkspaceID: ws, CreatedBy: userID})
	if err != nil || len(rows) == 0 {
		return nil, "", "", err
	}
	heir, err := findHeir(tx, ws, userID, handover)
	if err != nil {
		return nil, "", "", err
	}
	tx.Batch.KeysChanged = true
	for _, r := range rows {
		if err := tx.Queries.HandOverKey(tx.Ctx, gen.HandOverKeyParams{ID: r.ID, WorkspaceID: ws, CreatedBy: handover.HeirID}); err != nil {
			return nil, "", "", fmt.Errorf("hand over the key %s: %w", r.ID, err)
		}
	}
	return dbconn.MapRows(rows, core.KeyOf), "key.handover", "to " + heir.Email, nil
}

// findHeir returns the member who takes over the keys.
func findHeir(tx *core.Tx, ws flow.WorkspaceID, userID string, handover flow.KeyHandover) (*gen.FindMemberRow, error) {
	m, err := tx.Queries.FindMember(tx.Ctx, gen.FindMemberParams{WorkspaceID: ws, UserID: handover.HeirID})
	if err != nil && !dbconn.IsNoRows(err) {
		return nil, err
	}
	return &m, handover.CheckHeir(userID, flow.MemberRole(m.Role))
}

// voidLinks deletes the invitations and password reset links that a former owner
// created, because with an invitation to themselves they could become an owner
// again. The password reset links may be from another workspace.
func voidLinks(tx *core.Tx, ws flow.WorkspaceID, userID string) error {
	if err := tx.Queries.DeleteInvitesBy(tx.Ctx, gen.DeleteInvitesByParams{CreatedBy: userID, WorkspaceID: ws}); err != nil {
		return err
	}
	return tx.Queries.DeletePasswordLinksBy(tx.Ctx, gen.DeletePasswordLinksByParams{CreatedBy: userID, WorkspaceID: ws})
}

// checkLastOwner returns an error if the change would leave a workspace without
// an owner. It locks the workspace, so that two owners cannot remove each other
// concurrently.
func checkLastOwner(tx *core.Tx, ws flow.WorkspaceID, userID string, staysOwner bool) error {
	if _, err := tx.Queries.HoldWorkspace(tx.Ctx, ws); err != nil {
		return err
	}
	m, err := tx.Queries.FindMember(tx.Ctx, gen.FindMemberParams{WorkspaceID: ws, UserID: userID})
	if err != nil {
		return dbconn.NotFoundErr(err, "member")
	}
	if staysOwner || flow.MemberRole(m.Role) != flow.MemberOwner {
		return nil
	}
	owners, err := tx.Queries.CountOwners(tx.Ctx, ws)
	if err != nil {
		return err
	}
	return flow.CheckOwnerLeaves(m.Name, owners)
}
