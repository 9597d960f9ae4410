package db

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// setUpToken is the row of meta with the hash of the set-up link's token.
const setUpToken = "setup"

// HasUsers reports whether there is a user.
func (s *Users) HasUsers(ctx context.Context) (bool, error) {
	_, err := s.DB.Reads.FirstUser(ctx)
	if dbconn.IsNoRows(err) {
		return false, nil
	}
	return err == nil, err
}

// OfferSetUp stores the hash of the token for the first set-up, and reports whether
// it did. It does nothing once there is a user.
func (s *Users) OfferSetUp(ctx context.Context, tokenHash string) (offered bool, err error) {
	if had, err := s.HasUsers(ctx); had || err != nil {
		return false, err
	}
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.SaveMeta(tx.Ctx, gen.SaveMetaParams{Name: setUpToken, Value: []byte(tokenHash)})
	})
	return err == nil, err
}

// IsSetUpToken reports whether the token with this hash is valid for the set-up.
func (s *Users) IsSetUpToken(ctx context.Context, tokenHash string) (bool, error) {
	if had, err := s.HasUsers(ctx); had || err != nil {
		return false, err
	}
	stored, err := s.DB.Reads.FindMeta(ctx, setUpToken)
	if dbconn.IsNoRows(err) {
		return false, nil
	}
	return subtle.ConstantTimeCompare(stored, []byte(tokenHash)) == 1, err
}

// SetUp creates the first user as the owner of the default workspace and names the
// workspace. The token works once; CodeNotFound means that it is not valid.
func (s *Users) SetUp(ctx context.Context, tokenHash string, u *flow.User, workspace string) error {
	s.newUser(u)
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		// Taking the token locks its row: of two concurrent calls, one finds it.
		n, err := tx.Queries.TakeMeta(tx.Ctx, gen.TakeMetaParams{Name: setUpToken, Value: []byte(tokenHash)})
		if err := dbconn.MustAffect(n, err, "set-up link"); err != nil {
			return err
		}
		if _, err := tx.Queries.FirstUser(tx.Ctx); !dbconn.IsNoRows(err) {
			return errors.Join(flow.Errorf(flow.CodeNotFound, "There is no such set-up link."), err)
		}
		if _, err := tx.Queries.RenameWorkspace(tx.Ctx, gen.RenameWorkspaceParams{ID: flow.DefaultWorkspace, Name: dbconn.ValidText(workspace)}); err != nil {
			return err
		}
		return insertMember(tx, u, flow.DefaultWorkspace, flow.MemberOwner)
	})
}

// CreateUser creates a user with a role in a workspace. It returns CodeInputInvalid
// if the e-mail address is taken.
func (s *Users) CreateUser(ctx context.Context, ws flow.WorkspaceID, u *flow.User, role flow.MemberRole) error {
	s.newUser(u)
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := tx.Queries.FindWorkspace(tx.Ctx, ws); err != nil {
			return dbconn.NotFoundErr(err, "workspace")
		}
		return insertMember(tx, u, ws, role)
	})
}

// newUser sets the ID and the time, and normalizes the other fields.
func (s *Users) newUser(u *flow.User) {
	u.ID, u.Email, u.Name, u.CreatedAt = s.DB.IDs().New(flow.PrefixUser), normalizeEmail(u.Email), dbconn.ValidText(strings.TrimSpace(u.Name)), dbconn.TimeOf(s.DB.NowMicros())
}

// insertMember inserts a new user and their membership in a workspace.
func insertMember(tx *core.Tx, u *flow.User, ws flow.WorkspaceID, role flow.MemberRole) error {
	if _, err := tx.Queries.FindUserByEmail(tx.Ctx, u.Email); !dbconn.IsNoRows(err) {
		return errors.Join(flow.ErrEmailTaken, err)
	}
	row := gen.InsertUserParams{ID: u.ID, Email: u.Email, Name: u.Name, PasswordHash: u.PasswordHash, CreatedAt: dbconn.Micros(u.CreatedAt)}
	if err := tx.Queries.InsertUser(tx.Ctx, row); err != nil {
		return fmt.Errorf("insert user: %w", err)
	}
	_, err := tx.Queries.InsertMember(tx.Ctx, gen.InsertMemberParams{WorkspaceID: ws, UserID: u.ID, Role: string(role), CreatedAt: row.CreatedAt})
	return err
}

// FindUserByEmail returns a user by e-mail address, regardless of case. It does not find unverified
// users.
func (s *Users) FindUserByEmail(ctx context.Context, email string) (*flow.User, error) {
	r, err := s.DB.Reads.FindUserByEmail(ctx, normalizeEmail(email))
	return dbconn.ConvertRow(r, err, "user", userOf)
}

// FindUser returns a user.
func (s *Users) FindUser(ctx context.Context, id string) (*flow.User, error) {
	r, err := s.DB.Reads.FindUser(ctx, id)
	return dbconn.ConvertRow(r, err, "user", userOf)
}

func userOf(r gen.User) flow.User {
	email, unverified := shownEmail(r.Email)
	return flow.User{ID: r.ID, Email: email, Unverified: unverified, Name: r.Name, PasswordHash: r.PasswordHash, CreatedAt: dbconn.TimeOf(r.CreatedAt)}
}

// SetPassword replaces the password hash of a user. It ends all their sessions
// except one, and deletes their password reset links.
func (s *Users) SetPassword(ctx context.Context, userID, passwordHash, exceptSession string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error { return setPassword(tx, userID, passwordHash, exceptSession) })
}

// setPassword stores a password, ends all sessions of the user except one, and deletes
// password reset links: a stolen password or link must no longer grant access.
func setPassword(tx *core.Tx, userID, passwordHash, exceptSession string) error {
	n, err := tx.Queries.SetPassword(tx.Ctx, gen.SetPasswordParams{ID: userID, PasswordHash: passwordHash})
	if err := dbconn.MustAffect(n, err, "user"); err != nil {
		return err
	}
	if _, err := tx.Queries.EndSessions(tx.Ctx, gen.EndSessionsParams{UserID: userID, ExceptID: exceptSession}); err != nil {
		return err
	}
	return tx.Queries.DeletePasswordLinks(tx.Ctx, userID)
}

// normalizeEmail returns an e-mail address as it is stored and compared.
func normalizeEmail(email string) string {
	return dbconn.ValidText(strings.ToLower(strings.TrimSpace(email)))
}
