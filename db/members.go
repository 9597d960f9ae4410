package db

import (
	"context"

	"sluice/db/gen"
	"sluice/flow"
)

// FindMember returns a person with the role that they have in a workspace.
func (s *Store) FindMember(ctx context.Context, ws, userID string) (*flow.Member, error) {
	r, err := s.read.FindUser(ctx, gen.FindUserParams{WorkspaceID: ws, ID: userID})
	if err != nil {
		return nil, missing(err, "member")
	}
	return &flow.Member{UserID: r.ID, Name: r.Email, Email: r.Email, WorkspaceID: ws, Workspace: ws, Role: flow.MemberRole(r.Role)}, nil
}

// FindAccount returns who signs in with an e-mail address: the person's ID,
// password hash, and the workspace that they work in first.
func (s *Store) FindAccount(ctx context.Context, email string) (userID, passwordHash, ws string, err error) {
	u, err := s.FindUserByEmail(ctx, email)
	if err != nil {
		return "", "", "", err
	}
	return u.ID, u.PasswordHash, flow.DefaultWorkspace, nil
}
