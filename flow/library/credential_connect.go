package library

import (
	"context"

	"sluice/flow"
	"sluice/flow/people"
)

// BeginConnect stores a sign-in that begins. It changes nothing that flows use.
func (s *Credentials) BeginConnect(ctx context.Context, c flow.Credential, change func(secret string) string) error {
	return s.Store.UpdateSecret(ctx, c.WorkspaceID, c.Name, func(secret string) (string, error) { return change(secret), nil })
}

// FinishConnect takes the answer to a sign-in, which can be used once, and stores the connection.
func (s *Credentials) FinishConnect(ctx context.Context, by flow.Actor, connector people.Connector, c flow.Credential, a people.ConnectAnswer) error {
	var finish func(ctx context.Context) (string, error)
	err := s.Store.UpdateSecret(ctx, c.WorkspaceID, c.Name, func(secret string) (changed string, err error) {
		changed, finish, err = connector.Take(c, secret, a)
		return changed, err
	})
	if err != nil {
		return err
	}
	secret, err := finish(ctx)
	if err != nil {
		return err
	}
	return record(ctx, s.Store, by, entry(c.WorkspaceID, "credential.connect", c.Name, connector.Connected(secret).Issuer), func(ctx context.Context) error {
		return s.Store.UpdateSecret(ctx, c.WorkspaceID, c.Name, func(string) (string, error) { return secret, nil })
	})
}
