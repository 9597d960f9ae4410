package db

import (
	"context"
	"fmt"
	"strings"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// An open sign-up proves nothing about its email address, so it must neither take the address nor
// show whether another user has it. The account is therefore stored under the address with an
// addition, which no address contains because of its space:
//
//	ada@example.com                 proven by an invitation, the set-up or the operator
//	ada@example.com unverified      from an open sign-up; may sign in with the address
//	ada@example.com usr_01k…        the same, but another sign-up has taken its place
//
// So an address has at most one account of the first two forms, and a sign-in compares two
// passwords whatever exists. An account without content gives its place to a later sign-up.

// unverifiedMark is added to the address of an unverified account.
const unverifiedMark = " unverified"

// shownEmail returns the address of an account as people see it, and whether it is unverified.
func shownEmail(stored string) (email string, unverified bool) {
	email, _, unverified = strings.Cut(stored, " ")
	return email, unverified
}

// FindUnverifiedUser returns the user from an open sign-up who may sign in with an email address.
func (s *Users) FindUnverifiedUser(ctx context.Context, email string) (*flow.User, error) {
	r, err := s.DB.Reads.FindUserByEmail(ctx, normalizeEmail(email)+unverifiedMark)
	return dbconn.ConvertRow(r, err, "user", userOf)
}

// SignUp creates an unverified user and a workspace that the user owns. It succeeds for every
// address, and takes as long.
func (s *Users) SignUp(ctx context.Context, u *flow.User, w *flow.Workspace) error {
	s.newUser(u)
	u.Unverified = true
	(*Workspaces)(s).newWorkspace(w)
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if err := insertWorkspace(tx, w); err != nil {
			return err
		}
		stored := *u
		stored.Email += unverifiedMark
		free, err := freeUnverified(tx, stored.Email)
		if err != nil {
			return err
		}
		if !free {
			stored.Email = u.Email + " " + u.ID
		}
		return insertMember(tx, &stored, w.ID, flow.MemberOwner)
	})
}

// freeUnverified takes the place of an unverified account for a new one, if it is free or its
// account has no content.
func freeUnverified(tx *core.Tx, stored string) (free bool, err error) {
	r, err := tx.Queries.FindUserByEmail(tx.Ctx, stored)
	if dbconn.IsNoRows(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("find the unverified account: %w", err)
	}
	content, err := tx.Queries.HasContent(tx.Ctx, r.ID)
	if err != nil || content > 0 {
		return false, err
	}
	email, _ := shownEmail(stored)
	return true, setEmail(tx, r.ID, email+" "+r.ID)
}

// setEmail stores the address of a user, with its addition.
func setEmail(tx *core.Tx, userID, stored string) error {
	n, err := tx.Queries.SetEmail(tx.Ctx, gen.SetEmailParams{ID: userID, Email: stored})
	return dbconn.MustAffect(n, err, "user")
}

// verifyUser gives an account from an open sign-up its address: the user was sent an invitation
// there.
func verifyUser(tx *core.Tx, u *flow.User) error {
	if !u.Unverified {
		return nil
	}
	if _, err := tx.Queries.FindUserByEmail(tx.Ctx, u.Email); !dbconn.IsNoRows(err) {
		if err != nil {
			return err
		}
		return flow.ErrEmailTaken
	}
	return setEmail(tx, u.ID, u.Email)
}
