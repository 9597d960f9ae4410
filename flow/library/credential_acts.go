package library

import (
	"context"
	"errors"
	"strings"

	"sluice/flow"
	"sluice/flow/credentialuse"
)

// CredentialStore stores credentials. It returns CodeNotFound for a missing one.
type CredentialStore interface {
	Recorder
	credentialuse.DocumentStore
	FindCredential(ctx context.Context, ws flow.WorkspaceID, name string) (flow.Credential, error)
	SaveCredential(ctx context.Context, c flow.Credential, secret string) error
	// UpdateSecret changes a secret by what is stored, in one synced write.
	UpdateSecret(ctx context.Context, ws flow.WorkspaceID, name string, change func(secret string) (string, error)) error
	SetCredentialHosts(ctx context.Context, ws flow.WorkspaceID, name string, hosts []string) error
	SetCredentialLimits(ctx context.Context, ws flow.WorkspaceID, name string, l flow.CallLimits) error
	RemoveCredential(ctx context.Context, ws flow.WorkspaceID, name string) error
}

// Providers knows the providers that credentials are for.
type Providers interface {
	// Credential validates a new credential and returns it with the hosts that its secret may be
	// sent to. Validation errors are a flow.Error whose Fields name the fields: name, provider,
	// base_url, hosts or secret.
	Credential(c flow.Credential, secret string) (flow.Credential, error)
	// OperatorCredential is Credential with the rights of the operator of the server.
	OperatorCredential(c flow.Credential, secret string) (flow.Credential, error)
	// Test asks the provider, at the address to which the credential is bound, whether it accepts
	// the secret. It returns a message for the user, or a flow.Error if the provider rejects it.
	Test(ctx context.Context, ws flow.WorkspaceID, name string) (string, error)
	// TestSecret is Test for a credential that is not stored yet.
	TestSecret(ctx context.Context, c flow.Credential, secret string) (string, error)
	// ListTools returns the name and the tools of the MCP server of a credential.
	ListTools(ctx context.Context, ws flow.WorkspaceID, name string) (title string, tools []flow.ServerTool, err error)
	// Environment returns the credentials in the environment of the server that a workspace may use.
	Environment(ws flow.WorkspaceID) []flow.Credential
	// ProposeHosts returns the fixed hosts that flows send credentials to, by credential.
	ProposeHosts(ctx context.Context, ws flow.WorkspaceID) (map[string][]string, error)
	// CredentialUses returns the nodes that use credentials, by credential.
	CredentialUses(ctx context.Context, ws flow.WorkspaceID) (map[string][]credentialuse.Use, error)
}

// Credentials changes and tests credentials.
type Credentials struct {
	Store     CredentialStore
	Kinds     *flow.Registry
	Providers Providers
}

// ErrCredentialExists means that a new credential has the name of another one.
var ErrCredentialExists = errors.New("a credential with this name exists")

// CheckNew returns ErrCredentialExists if a credential has the name: flows that use it would suddenly
// run on another account.
func (s *Credentials) CheckNew(ctx context.Context, ws flow.WorkspaceID, name string) error {
	_, err := s.Store.FindCredential(ctx, ws, name)
	switch {
	case err == nil:
		return ErrCredentialExists
	case flow.IsNotFound(err):
		return nil
	}
	return err
}

// CheckHosts returns an error for a credential without hosts if a published flow sends it to a host
// that the caller chooses: any caller could then read the secret.
func (s *Credentials) CheckHosts(ctx context.Context, c *flow.Credential) error {
	if !c.Unbound() {
		return nil
	}
	return CheckAnyHost(ctx, s.Store, c.WorkspaceID, c.Name, s.Kinds)
}

// Create saves a credential that Providers has validated, unless its name is taken.
func (s *Credentials) Create(ctx context.Context, by flow.Actor, c flow.Credential, secret string) error {
	return s.save(ctx, by, c, secret, s.CheckNew)
}

// ReplaceSecret changes only the secret. The old one still signs for the overlap.
func (s *Credentials) ReplaceSecret(ctx context.Context, by flow.Actor, c flow.Credential, secret string) error {
	if why := CheckSecret(secret); why != "" {
		return flow.Errorf(flow.CodeInputInvalid, "%s", why)
	}
	return record(ctx, s.Store, by, entry(c.WorkspaceID, "credential.save", c.Name, c.Provider), func(ctx context.Context) error {
		return s.Store.SaveCredential(ctx, c, secret)
	})
}

// Save creates a credential that Providers has validated, or replaces it with its secret and limits.
// The old secret still signs for the overlap.
func (s *Credentials) Save(ctx context.Context, by flow.Actor, c flow.Credential, secret string) error {
	return s.save(ctx, by, c, secret, nil)
}

// save saves a credential after a check of its name.
func (s *Credentials) save(ctx context.Context, by flow.Actor, c flow.Credential, secret string, check func(context.Context, flow.WorkspaceID, string) error) error {
	if err := s.CheckHosts(ctx, &c); err != nil {
		return err
	}
	return record(ctx, s.Store, by, entry(c.WorkspaceID, "credential.save", c.Name, c.Provider), func(ctx context.Context) error {
		if check != nil {
			if err := check(ctx, c.WorkspaceID, c.Name); err != nil {
				return err
			}
		}
		if err := s.Store.SaveCredential(ctx, c, secret); err != nil {
			return err
		}
		return s.Store.SetCredentialLimits(ctx, c.WorkspaceID, c.Name, c.Limits)
	})
}

// SetHosts changes the hosts that a plain secret may be sent to. A provider has hosts of its own.
func (s *Credentials) SetHosts(ctx context.Context, by flow.Actor, c flow.Credential, hosts []string) error {
	if !c.Plain() {
		return flow.Errorf(flow.CodeInputInvalid, "%s is bound to the address of %s; to change the address, add the credential again.", c.Name, c.Provider)
	}
	c.Hosts = hosts
	if err := s.CheckHosts(ctx, &c); err != nil {
		return err
	}
	return record(ctx, s.Store, by, entry(c.WorkspaceID, "credential.hosts", c.Name, strings.Join(hosts, ", ")), func(ctx context.Context) error {
		return s.Store.SetCredentialHosts(ctx, c.WorkspaceID, c.Name, hosts)
	})
}

// SetLimits limits the calls with a credential. caller is the key in the request, or nil: a key with
// limits may lower the limits of a credential but not raise them, because they protect the account
// at the provider.
func (s *Credentials) SetLimits(ctx context.Context, by flow.Actor, caller *flow.Key, c flow.Credential, l flow.CallLimits) error {
	if caller != nil && Limited(caller) && (loosens(c.Limits.AtOnce, l.AtOnce) || loosens(c.Limits.PerMinute, l.PerMinute)) {
		return errLoosens("a credential")
	}
	return record(ctx, s.Store, by, entry(c.WorkspaceID, "credential.limits", c.Name, l.String()), func(ctx context.Context) error {
		return s.Store.SetCredentialLimits(ctx, c.WorkspaceID, c.Name, l)
	})
}

// Remove removes a credential. Flows that use it fail.
func (s *Credentials) Remove(ctx context.Context, by flow.Actor, c flow.Credential) error {
	return record(ctx, s.Store, by, entry(c.WorkspaceID, "credential.remove", c.Name, c.Provider), func(ctx context.Context) error {
		return s.Store.RemoveCredential(ctx, c.WorkspaceID, c.Name)
	})
}

// Test asks the provider of a stored credential, or of one in the environment, whether it accepts the
// secret. The entry is written first: the request to the provider cannot be undone.
func (s *Credentials) Test(ctx context.Context, by flow.Actor, c flow.Credential) (string, error) {
	if err := record(ctx, s.Store, by, entry(c.WorkspaceID, "credential.test", c.Name, c.Provider), nothing); err != nil {
		return "", err
	}
	return s.Providers.Test(ctx, c.WorkspaceID, c.Name)
}
