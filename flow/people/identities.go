package people

import (
	"context"
	"errors"

	"sluice/flow"
	"sluice/flow/audit"
)

// IdentityStore stores which users the people of identity providers are.
type IdentityStore interface {
	PeopleStore
	FindUserByEmail(ctx context.Context, email string) (*flow.User, error)
	FindMember(ctx context.Context, ws flow.WorkspaceID, userID string) (*flow.Member, error)
	FindIdentity(ctx context.Context, issuer, subject string) (*flow.User, error)
	SaveIdentity(ctx context.Context, issuer, subject, userID string) error
	TouchIdentity(ctx context.Context, issuer, subject string) error
}

// Identities signs in people whom an identity provider vouches for.
type Identities struct {
	Store       IdentityStore
	Connections *Connections // of people who lose their role; may be nil
}

// Identity is a person of an identity provider at one sign-in.
type Identity struct {
	Issuer, Subject string
	Provider        string           // name of the provider, for the audit log
	Email           string           // "" if the provider may not vouch for it
	Name            string           // may be empty
	WorkspaceID     flow.WorkspaceID // that the person joins
	Role            flow.MemberRole  // in the workspace; "" for no access
	Mapped          bool             // the provider decides the role at each sign-in
}

// Errors of signing in with an identity provider.
var (
	// ErrConfirmOwner means that the address belongs to an owner, who must confirm with the password first.
	ErrConfirmOwner = errors.New("the address belongs to an owner")
	// ErrNoAddress means that the person is new and the provider does not vouch for an address.
	ErrNoAddress = flow.Errorf(flow.CodeInputInvalid, "The provider does not vouch for an email address that may sign in here.")
	// ErrNoAccess means that no role is meant for the person.
	ErrNoAccess = flow.Errorf(flow.CodeInputInvalid, "Your account at the provider gives no access here. Ask the people who manage its groups.")
)

// SignIn returns the user whom a person is. It links a new person to the user with their address, or creates one,
// and applies the role. An owner is linked only by Link.
func (s *Identities) SignIn(ctx context.Context, ip string, p Identity) (*flow.User, error) {
	u, err := s.Store.FindIdentity(ctx, p.Issuer, p.Subject)
	switch {
	case flow.IsNotFound(err):
		u, err = s.admit(ctx, ip, p)
	case err == nil:
		err = s.Store.TouchIdentity(ctx, p.Issuer, p.Subject)
	}
	if err != nil {
		return nil, err
	}
	return u, s.applyRole(ctx, ip, u, p)
}

// admit links a person who was never here.
func (s *Identities) admit(ctx context.Context, ip string, p Identity) (*flow.User, error) {
	if p.Email == "" {
		return nil, ErrNoAddress
	}
	u, err := s.Store.FindUserByEmail(ctx, p.Email)
	if flow.IsNotFound(err) {
		return s.create(ctx, ip, p)
	}
	if err != nil {
		return nil, err
	}
	of, err := s.Store.ListMemberships(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	for _, m := range of {
		if m.Role == flow.MemberOwner {
			return nil, ErrConfirmOwner
		}
	}
	return u, s.save(ctx, ip, u, p)
}

// create creates the user of a person, who has no password.
func (s *Identities) create(ctx context.Context, ip string, p Identity) (*flow.User, error) {
	if p.Role == "" {
		return nil, ErrNoAccess
	}
	name := p.Name
	if name == "" {
		name = p.Email
	}
	u := &flow.User{Email: p.Email, Name: name}
	made := *u
	err := s.Store.InTransaction(ctx, func(ctx context.Context) error {
		made = *u
		if err := s.Store.CreateUser(ctx, p.WorkspaceID, &made, p.Role); err != nil {
			return err
		}
		if err := audit.Record(ctx, s.Store, flow.Actor{ID: made.ID, IP: ip}, audit.Entry(p.WorkspaceID, "member.join", made.Email, string(p.Role)+" by "+p.Provider), audit.Nothing); err != nil {
			return err
		}
		return s.Store.SaveIdentity(ctx, p.Issuer, p.Subject, made.ID)
	})
	return &made, err
}

// Link makes a person a user who has confirmed it, and applies the role.
func (s *Identities) Link(ctx context.Context, ip string, u *flow.User, p Identity) error {
	if err := s.save(ctx, ip, u, p); err != nil {
		return err
	}
	return s.applyRole(ctx, ip, u, p)
}

// save records who a person is, in the log of every workspace of the user.
func (s *Identities) save(ctx context.Context, ip string, u *flow.User, p Identity) error {
	of, err := s.Store.ListMemberships(ctx, u.ID)
	if err != nil {
		return err
	}
	return s.Store.InTransaction(ctx, func(ctx context.Context) error {
		if err := s.Store.SaveIdentity(ctx, p.Issuer, p.Subject, u.ID); err != nil {
			return err
		}
		for _, m := range of {
			if err := audit.Record(ctx, s.Store, flow.Actor{ID: u.ID, IP: ip}, audit.Entry(m.WorkspaceID, "identity.link", p.Provider, p.Subject), audit.Nothing); err != nil {
				return err
			}
		}
		return nil
	})
}

// applyRole gives a user the role that the provider decides. A user with fewer rights than before loses all
// sessions. The last owner of a workspace keeps the role.
func (s *Identities) applyRole(ctx context.Context, ip string, u *flow.User, p Identity) error {
	if !p.Mapped {
		return nil
	}
	by := flow.Actor{ID: "sluice", IP: ip}
	m, err := s.Store.FindMember(ctx, p.WorkspaceID, u.ID)
	if flow.IsNotFound(err) {
		if p.Role == "" {
			return s.requireMembership(ctx, u)
		}
		return audit.Record(ctx, s.Store, by, audit.Entry(p.WorkspaceID, "member.add", u.Email, string(p.Role)+" by "+p.Provider), func(ctx context.Context) error {
			return s.Store.AddMember(ctx, p.WorkspaceID, u.ID, p.Role)
		})
	}
	if err != nil || m.Role == p.Role {
		return err
	}
	handover := flow.KeyHandover{By: by}
	e := audit.Entry(p.WorkspaceID, "member.role", u.Email, string(m.Role)+" to "+string(p.Role)+" by "+p.Provider)
	if p.Role == "" {
		e = audit.Entry(p.WorkspaceID, "member.remove", u.Email, "by "+p.Provider)
	}
	end := audit.Nothing
	if !p.Role.AtLeast(flow.MemberEditor) {
		why := endedByRole
		if p.Role == "" {
			why = endedByLeave
		}
		if end, err = s.Connections.leaving(ctx, p.WorkspaceID, u.ID, why, handover); err != nil {
			return err
		}
	}
	err = audit.Record(ctx, s.Store, by, e, func(ctx context.Context) error {
		if err := end(ctx); err != nil {
			return err
		}
		if !p.Role.AtLeast(m.Role) {
			if _, err := s.Store.EndSessions(ctx, u.ID, ""); err != nil {
				return err
			}
		}
		if p.Role == "" {
			return s.Store.RemoveMember(ctx, p.WorkspaceID, u.ID, handover)
		}
		return s.Store.SetRole(ctx, p.WorkspaceID, u.ID, p.Role, handover)
	})
	if errors.Is(err, &flow.Error{Code: flow.CodeInputInvalid}) { // the last owner
		return nil
	}
	if err == nil && p.Role == "" {
		err = s.requireMembership(ctx, u)
	}
	return err
}

// requireMembership returns ErrNoAccess for a user without workspaces.
func (s *Identities) requireMembership(ctx context.Context, u *flow.User) error {
	of, err := s.Store.ListMemberships(ctx, u.ID)
	if err == nil && len(of) == 0 {
		err = ErrNoAccess
	}
	return err
}
