package db

import (
	"context"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// FindIdentity returns the user whom a person of an identity provider is.
func (s *Users) FindIdentity(ctx context.Context, issuer, subject string) (*flow.User, error) {
	r, err := s.DB.Reads.FindIdentity(ctx, gen.FindIdentityParams{Issuer: issuer, Subject: dbconn.ValidText(subject)})
	return dbconn.ConvertRow(r, err, "user", userOf)
}

// SaveIdentity records that a person of an identity provider is a user. It returns CodeInputInvalid if the
// person is another one already.
func (s *Users) SaveIdentity(ctx context.Context, issuer, subject, userID string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.SaveIdentity(tx.Ctx, gen.SaveIdentityParams{Issuer: issuer, Subject: dbconn.ValidText(subject), UserID: userID, Now: s.DB.NowMicros()})
		if err == nil && n == 0 {
			err = flow.Errorf(flow.CodeInputInvalid, "Somebody else signs in with this account of the provider.")
		}
		return err
	})
}

// TouchIdentity records a sign-in. It is not synced to disk.
func (s *Users) TouchIdentity(ctx context.Context, issuer, subject string) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		return tx.Queries.TouchIdentity(tx.Ctx, gen.TouchIdentityParams{Issuer: issuer, Subject: dbconn.ValidText(subject), Now: s.DB.NowMicros()})
	})
}

// FirstPasswordOwner returns the oldest owner of the first workspace who has a password. That user can always
// sign in with it.
func (s *Users) FirstPasswordOwner(ctx context.Context) (*flow.User, error) {
	r, err := s.DB.Reads.FirstPasswordOwner(ctx, flow.DefaultWorkspace)
	return dbconn.ConvertRow(r, err, "user", userOf)
}
