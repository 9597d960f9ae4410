package people

import (
	"context"

	"sluice/flow"
	"sluice/flow/audit"
)

// FactorStore stores the second factors of users.
type FactorStore interface {
	PeopleStore
	ConfirmSecondFactor(ctx context.Context, userID string, step int64, recovery []string) error
	SetRecovery(ctx context.Context, f *flow.SecondFactor, hashes []string) error
	UseRecovery(ctx context.Context, f *flow.SecondFactor, hash string) (used bool, err error)
	DeleteSecondFactor(ctx context.Context, userID string) error
}

// Factors changes the second factors of users. A user belongs to many workspaces, so each act is in the audit log of
// all of them.
type Factors struct{ Store FactorStore }

// Confirm turns on two-step sign-in, and ends all other sessions of the user. recovery has hashes.
func (s *Factors) Confirm(ctx context.Context, by flow.Actor, step int64, recovery []string, exceptSession string) error {
	return s.record(ctx, by, by.ID, "factor.on", "", func(ctx context.Context) error {
		if err := s.Store.ConfirmSecondFactor(ctx, by.ID, step, recovery); err != nil {
			return err
		}
		_, err := s.Store.EndSessions(ctx, by.ID, exceptSession)
		return err
	})
}

// NewCodes replaces the recovery codes of the actor by those with the hashes.
func (s *Factors) NewCodes(ctx context.Context, by flow.Actor, f *flow.SecondFactor, hashes []string) error {
	return s.record(ctx, by, by.ID, "factor.codes", "", func(ctx context.Context) error { return s.Store.SetRecovery(ctx, f, hashes) })
}

// Recover uses a recovery code by its hash, and reports whether it was left.
func (s *Factors) Recover(ctx context.Context, ip string, f *flow.SecondFactor, hash string) (used bool, err error) {
	err = s.record(ctx, flow.Actor{ID: f.UserID, IP: ip}, f.UserID, "factor.recover", "", func(ctx context.Context) error {
		if used, err = s.Store.UseRecovery(ctx, f, hash); err == nil && !used {
			return errUnused
		}
		return err
	})
	if err == errUnused {
		return false, nil
	}
	return used, err
}

// errUnused ends the transaction of a code that does not work.
var errUnused = flow.Errorf(flow.CodeInputInvalid, "This recovery code does not work.")

// Off turns off the actor's own two-step sign-in.
func (s *Factors) Off(ctx context.Context, by flow.Actor) error {
	return s.record(ctx, by, by.ID, "factor.off", "", func(ctx context.Context) error { return s.Store.DeleteSecondFactor(ctx, by.ID) })
}

// Reset turns off the two-step sign-in of a member for the operator, and ends the sessions of the member.
func (s *Factors) Reset(ctx context.Context, by flow.Actor, m *flow.Member) error {
	return s.record(ctx, by, m.UserID, "factor.reset", m.Email, func(ctx context.Context) error {
		if err := s.Store.DeleteSecondFactor(ctx, m.UserID); err != nil {
			return err
		}
		_, err := s.Store.EndSessions(ctx, m.UserID, "")
		return err
	})
}

// record performs an act on a user with an entry in the log of every workspace of the user.
func (s *Factors) record(ctx context.Context, by flow.Actor, userID, action, target string, act func(ctx context.Context) error) error {
	of, err := s.Store.ListMemberships(ctx, userID)
	if err != nil {
		return err
	}
	return s.Store.InTransaction(ctx, func(ctx context.Context) error {
		if err := act(ctx); err != nil {
			return err
		}
		for _, m := range of {
			if err := audit.Record(ctx, s.Store, by, audit.Entry(m.WorkspaceID, action, target, ""), audit.Nothing); err != nil {
				return err
			}
		}
		return nil
	})
}
