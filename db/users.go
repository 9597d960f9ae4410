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

// setUpToken is the name under which the hash of the set-up link's token is.
const setUpToken = "setup"

// HasUsers tells whether the first person has come.
func (s Users) HasUsers(ctx context.Context) (bool, error) {
	_, err := s.Reads.FirstUser(ctx)
	if dbconn.IsNoRows(err) {
		return false, nil
	}
	return err == nil, err
}

// OfferSetUp makes the token of this hash the one that sets up, while there is
// nobody. It tells whether that is so.
func (s Users) OfferSetUp(ctx context.Context, tokenHash string) (offered bool, err error) {
	if had, err := s.HasUsers(ctx); had || err != nil {
		return false, err
	}
	err = s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.SaveMeta(tx.Ctx, gen.SaveMetaParams{Name: setUpToken, Value: []byte(tokenHash)})
	})
	return err == nil, err
}

// IsSetUpToken tells whether the token of this hash still sets up.
func (s Users) IsSetUpToken(ctx context.Context, tokenHash string) (bool, error) {
	if had, err := s.HasUsers(ctx); had || err != nil {
		return false, err
	}
	stored, err := s.Reads.FindMeta(ctx, setUpToken)
	if dbconn.IsNoRows(err) {
		return false, nil
	}
	return subtle.ConstantTimeCompare(stored, []byte(tokenHash)) == 1, err
}

// SetUp makes the first person the owner of the default workspace and gives
// that a name. The token works once; not_found tells that it does not.
func (s Users) SetUp(ctx context.Context, tokenHash string, u *flow.User, workspace string) error {
	s.newUser(u)
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		// Taking the token holds its row: of two who come at once one finds it.
		n, err := tx.TakeMeta(tx.Ctx, gen.TakeMetaParams{Name: setUpToken, Value: []byte(tokenHash)})
		if err := dbconn.MustAffect(n, err, "set-up link"); err != nil {
			return err
		}
		if _, err := tx.FirstUser(tx.Ctx); !dbconn.IsNoRows(err) {
			return errors.Join(flow.Errorf(flow.CodeNotFound, "There is no such set-up link."), err)
		}
		if _, err := tx.RenameWorkspace(tx.Ctx, gen.RenameWorkspaceParams{ID: flow.DefaultWorkspace, Name: dbconn.ValidText(workspace)}); err != nil {
			return err
		}
		return insertMember(tx, u, flow.DefaultWorkspace, flow.MemberOwner)
	})
}

// SignUp adds a person who owns a workspace of their own.
func (s Users) SignUp(ctx context.Context, u *flow.User, w *flow.Workspace) error {
	s.newUser(u)
	Workspaces(s).newWorkspace(w)
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if err := insertWorkspace(tx, w); err != nil {
			return err
		}
		return insertMember(tx, u, w.ID, flow.MemberOwner)
	})
}

// CreateUser adds a person with a role in a workspace. A second one with the
// same e-mail address is refused as input_invalid.
func (s Users) CreateUser(ctx context.Context, ws string, u *flow.User, role flow.MemberRole) error {
	s.newUser(u)
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := tx.FindWorkspace(tx.Ctx, ws); err != nil {
			return dbconn.NotFoundErr(err, "workspace")
		}
		return insertMember(tx, u, ws, role)
	})
}

// newUser fills in what is not there yet.
func (s Users) newUser(u *flow.User) {
	u.ID, u.Email, u.Name, u.CreatedAt = s.IDs().New(flow.PrefixUser), address(u.Email), dbconn.ValidText(strings.TrimSpace(u.Name)), dbconn.TimeOf(s.NowMicros())
}

// insertMember adds a new person and their place in a workspace.
func insertMember(tx *core.Tx, u *flow.User, ws string, role flow.MemberRole) error {
	if _, err := tx.FindUserByEmail(tx.Ctx, u.Email); !dbconn.IsNoRows(err) {
		return errors.Join(flow.ErrEmailTaken, err)
	}
	row := gen.InsertUserParams{ID: u.ID, Email: u.Email, Name: u.Name, PasswordHash: u.PasswordHash, CreatedAt: dbconn.Micros(u.CreatedAt)}
	if err := tx.InsertUser(tx.Ctx, row); err != nil {
		return fmt.Errorf("insert user: %w", err)
	}
	_, err := tx.InsertMember(tx.Ctx, gen.InsertMemberParams{WorkspaceID: ws, UserID: u.ID, Role: string(role), CreatedAt: row.CreatedAt})
	return err
}

// FindUserByEmail returns a person by e-mail address, whatever its case.
func (s Users) FindUserByEmail(ctx context.Context, email string) (*flow.User, error) {
	return userOf(s.Reads.FindUserByEmail(ctx, address(email)))
}

// FindUser returns a person.
func (s Users) FindUser(ctx context.Context, id string) (*flow.User, error) {
	return userOf(s.Reads.FindUser(ctx, id))
}

func userOf(r gen.User, err error) (*flow.User, error) {
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "person")
	}
	return &flow.User{ID: r.ID, Email: r.Email, Name: r.Name, PasswordHash: r.PasswordHash, CreatedAt: dbconn.TimeOf(r.CreatedAt)}, nil
}

// SetPassword replaces a person's password hash. It ends their sessions but the
// one named, and the links that would set another password.
func (s Users) SetPassword(ctx context.Context, userID, passwordHash, exceptSession string) error {
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error { return setPassword(tx, userID, passwordHash, exceptSession) })
}

func setPassword(tx *core.Tx, userID, passwordHash, exceptSession string) error {
	n, err := tx.SetPassword(tx.Ctx, gen.SetPasswordParams{ID: userID, PasswordHash: passwordHash})
	if err := dbconn.MustAffect(n, err, "person"); err != nil {
		return err
	}
	if _, err := tx.EndSessions(tx.Ctx, gen.EndSessionsParams{UserID: userID, ExceptID: exceptSession}); err != nil {
		return err
	}
	return tx.DeletePasswordLinks(tx.Ctx, userID)
}

// address is how an e-mail address is stored and looked for.
func address(email string) string { return dbconn.ValidText(strings.ToLower(strings.TrimSpace(email))) }
