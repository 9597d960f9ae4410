package db

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/db/gen"
	"sluice/flow"
)

// User is a person who can log in.
type User struct {
	ID, Email, PasswordHash string
	Role                    string // owner, editor or viewer of the default workspace
	CreatedAt               time.Time
}

// CreateUser adds a person with a role in the default workspace. A second one
// with the same e-mail address is refused as input_invalid.
func (s *Store) CreateUser(ctx context.Context, email, passwordHash, role string) (*User, error) {
	u := &User{
		ID: s.ids.New(flow.PrefixUser), Email: address(email), PasswordHash: passwordHash, Role: role,
		CreatedAt: timeOf(s.now()),
	}
	err := s.write(ctx, durable, func(tx *Tx) error {
		if _, err := tx.FindUserByEmail(tx.ctx, gen.FindUserByEmailParams{WorkspaceID: flow.DefaultWorkspace, Email: u.Email}); err == nil {
			return flow.Errorf(flow.CodeInputInvalid, "There is already a person with this e-mail address.")
		}
		row := gen.InsertUserParams{ID: u.ID, Email: u.Email, PasswordHash: passwordHash, CreatedAt: micros(u.CreatedAt)}
		if err := tx.InsertUser(tx.ctx, row); err != nil {
			return fmt.Errorf("insert user: %w", err)
		}
		return tx.InsertMember(tx.ctx, gen.InsertMemberParams{
			WorkspaceID: flow.DefaultWorkspace, UserID: u.ID, Role: role, CreatedAt: row.CreatedAt,
		})
	})
	if err != nil {
		return nil, err
	}
	return u, nil
}

// FindUserByEmail returns a person by e-mail address, whatever its case.
func (s *Store) FindUserByEmail(ctx context.Context, email string) (*User, error) {
	r, err := s.read.FindUserByEmail(ctx, gen.FindUserByEmailParams{WorkspaceID: flow.DefaultWorkspace, Email: address(email)})
	if err != nil {
		return nil, missing(err, "person")
	}
	return userOf(gen.ListUsersRow(r)), nil
}

// FindUser returns a person.
func (s *Store) FindUser(ctx context.Context, id string) (*User, error) {
	r, err := s.read.FindUser(ctx, gen.FindUserParams{WorkspaceID: flow.DefaultWorkspace, ID: id})
	if err != nil {
		return nil, missing(err, "person")
	}
	return userOf(gen.ListUsersRow(r)), nil
}

// ListUsers returns everybody, by ID.
func (s *Store) ListUsers(ctx context.Context) ([]*User, error) {
	rows, err := s.read.ListUsers(ctx, flow.DefaultWorkspace)
	return mapRows(rows, userOf), err
}

// CountUsers tells whether the first person is still to come.
func (s *Store) CountUsers(ctx context.Context) (int64, error) { return s.read.CountUsers(ctx) }

// SetPassword replaces a person's password hash.
func (s *Store) SetPassword(ctx context.Context, userID, passwordHash string) error {
	return s.write(ctx, durable, func(tx *Tx) error {
		n, err := tx.SetPassword(tx.ctx, gen.SetPasswordParams{ID: userID, PasswordHash: passwordHash})
		return touched(n, err, "person")
	})
}

func userOf(r gen.ListUsersRow) *User {
	return &User{ID: r.ID, Email: r.Email, PasswordHash: r.PasswordHash, Role: r.Role, CreatedAt: timeOf(r.CreatedAt)}
}

// address is how an e-mail address is stored and looked for.
func address(email string) string { return clean(strings.ToLower(strings.TrimSpace(email))) }
