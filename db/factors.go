package db

import (
	"context"
	"slices"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// factorField is the place of the secret of a second factor; see core.Associated.
const factorField = "factor"

// FindSecondFactor returns the second factor of a user, or nil.
func (s *Users) FindSecondFactor(ctx context.Context, userID string) (*flow.SecondFactor, error) {
	r, err := s.DB.Reads.FindSecondFactor(ctx, userID)
	if dbconn.IsNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	secret, err := s.DB.Unseal(r.Secret, "", r.ID, factorField)
	if err != nil {
		return nil, err
	}
	f := &flow.SecondFactor{UserID: r.ID, Secret: string(secret), LastStep: r.LastStep, ConfirmedAt: dbconn.TimeOf(r.ConfirmedAt)}
	f.Recovery = dbconn.DecodeList[string](r.Recovery)
	return f, nil
}

// OfferSecondFactor stores a secret that the user has not confirmed. It returns CodeNotFound if there is a confirmed
// one.
func (s *Users) OfferSecondFactor(ctx context.Context, userID, secret string) error {
	sealed, err := s.DB.Seal([]byte(secret), "", userID, factorField)
	if err != nil {
		return err
	}
	return s.DB.Update(ctx, "second factor", func(tx *core.Tx) (int64, error) {
		return tx.Queries.OfferSecondFactor(tx.Ctx, gen.OfferSecondFactorParams{ID: userID, Secret: sealed, Now: s.DB.NowMicros()})
	})
}

// ConfirmSecondFactor turns on a second factor with the time step of its first code, and the hashes of its recovery
// codes.
func (s *Users) ConfirmSecondFactor(ctx context.Context, userID string, step int64, recovery []string) error {
	return s.DB.Update(ctx, "second factor", func(tx *core.Tx) (int64, error) {
		return tx.Queries.ConfirmSecondFactor(tx.Ctx, gen.ConfirmSecondFactorParams{ID: userID, LastStep: step, Recovery: dbconn.EncodeList(recovery), Now: s.DB.NowMicros()})
	})
}

// UseSecondFactor records that the code of a time step was used, and reports whether that is allowed: no code works
// twice.
func (s *Users) UseSecondFactor(ctx context.Context, userID string, step int64) (used bool, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.UseSecondFactor(tx.Ctx, gen.UseSecondFactorParams{ID: userID, LastStep: step})
		used = n == 1
		return err
	})
	return used && err == nil, err
}

// SetRecovery replaces the hashes of the recovery codes of f. It returns CodeNotFound if they have changed since f
// was read.
func (s *Users) SetRecovery(ctx context.Context, f *flow.SecondFactor, hashes []string) error {
	return s.DB.Update(ctx, "second factor", func(tx *core.Tx) (int64, error) {
		return tx.Queries.SetRecovery(tx.Ctx, gen.SetRecoveryParams{ID: f.UserID, Recovery: dbconn.EncodeList(hashes), Was: dbconn.EncodeList(f.Recovery)})
	})
}

// UseRecovery removes a recovery code of f by its hash, and reports whether it was left.
func (s *Users) UseRecovery(ctx context.Context, f *flow.SecondFactor, hash string) (used bool, err error) {
	if !slices.Contains(f.Recovery, hash) {
		return false, nil
	}
	left := slices.DeleteFunc(slices.Clone(f.Recovery), func(h string) bool { return h == hash })
	err = s.SetRecovery(ctx, f, left)
	if flow.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// DeleteSecondFactor removes the second factor of a user. It returns CodeNotFound if the user has no second factor.
func (s *Users) DeleteSecondFactor(ctx context.Context, userID string) error {
	return s.DB.Update(ctx, "second factor", func(tx *core.Tx) (int64, error) { return tx.Queries.DeleteSecondFactor(tx.Ctx, userID) })
}
