package db

import (
	"context"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/webhooks"
	"sluice/flow"
)

// The secret of a credential is encrypted with the master key. Its associated data is
// the workspace and the name, so a secret cannot be moved to another credential.
// Hosts bound where the credential may be sent.

// SaveCredential adds a credential or replaces the one with its name. It sets ID
// and times. A plain secret that is replaced continues to sign webhooks for the
// credential's Overlap.
func (s *Credentials) SaveCredential(ctx context.Context, c flow.Credential, secret string) error {
	// The name is unique and does not change, so it identifies the secret.
	sealed, err := s.DB.Seal([]byte(secret), c.WorkspaceID, c.Name, "secret")
	if err != nil {
		return err
	}
	id := s.DB.IDs().New(flow.PrefixCredential)
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		before, err := webhooks.SucceedCredential(tx, &c, secret)
		if err != nil {
			return err
		}
		return tx.Queries.SaveCredential(tx.Ctx, gen.SaveCredentialParams{
			ID: id, WorkspaceID: c.WorkspaceID, Name: c.Name, Provider: c.Provider,
			BaseUrl: c.BaseURL, Trusted: dbconn.BoolInt(c.Trusted), Hosts: dbconn.EncodeList(c.Hosts), Value: sealed, SigningBefore: before, Now: s.DB.NowMicros(),
		})
	})
}

// FindCredential returns a credential without its secret.
func (s *Credentials) FindCredential(ctx context.Context, ws flow.WorkspaceID, name string) (flow.Credential, error) {
	r, err := s.DB.Reads.FindCredential(ctx, gen.FindCredentialParams{WorkspaceID: ws, Name: name})
	return credentialOf(r), dbconn.NotFoundErr(err, "credential")
}

// OpenCredential returns a credential with its secret.
func (s *Credentials) OpenCredential(ctx context.Context, ws flow.WorkspaceID, name string) (flow.Credential, string, error) {
	r, err := s.DB.Reads.FindCredential(ctx, gen.FindCredentialParams{WorkspaceID: ws, Name: name})
	if err != nil {
		return flow.Credential{}, "", dbconn.NotFoundErr(err, "credential")
	}
	text, err := s.DB.Unseal(r.Value, ws, name, "secret")
	if err != nil {
		err = flow.SealedError(name)
	}
	return credentialOf(r), string(text), err
}

// UpdateSecret changes the secret of a credential by what is stored. change may be called several times, and its error is returned.
// Nothing else changes: an earlier secret does not sign on, and the credential counts as unchanged for people.
func (s *Credentials) UpdateSecret(ctx context.Context, ws flow.WorkspaceID, name string, change func(secret string) (string, error)) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		// The update locks the row on PostgreSQL.
		rows, err := tx.Queries.LockCredential(tx.Ctx, gen.LockCredentialParams{WorkspaceID: ws, Name: name})
		if err := dbconn.MustAffect(rows, err, "credential"); err != nil {
			return err
		}
		r, err := tx.Queries.FindCredential(tx.Ctx, gen.FindCredentialParams{WorkspaceID: ws, Name: name})
		if err != nil {
			return dbconn.NotFoundErr(err, "credential")
		}
		text, err := s.DB.Unseal(r.Value, ws, name, "secret")
		if err != nil {
			return flow.SealedError(name)
		}
		changed, err := change(string(text))
		if err != nil || changed == string(text) {
			return err
		}
		sealed, err := s.DB.Seal([]byte(changed), ws, name, "secret")
		if err != nil {
			return err
		}
		rows, err = tx.Queries.SetCredentialSecret(tx.Ctx, gen.SetCredentialSecretParams{WorkspaceID: ws, Name: name, Value: sealed})
		return dbconn.MustAffect(rows, err, "credential")
	})
}

// SetCredentialHosts sets the hosts that a credential may be sent to.
func (s *Credentials) SetCredentialHosts(ctx context.Context, ws flow.WorkspaceID, name string, hosts []string) error {
	return s.DB.Update(ctx, "credential", func(tx *core.Tx) (int64, error) {
		return tx.Queries.SetCredentialHosts(tx.Ctx, gen.SetCredentialHostsParams{WorkspaceID: ws, Name: name, Hosts: dbconn.EncodeList(hosts), Now: s.DB.NowMicros()})
	})
}

// ListUndecidedCredentials returns the credentials of all workspaces whose
// hosts were never set, because they were saved before hosts were required.
func (s *Credentials) ListUndecidedCredentials(ctx context.Context) ([]flow.Credential, error) {
	rows, err := s.DB.Reads.ListUndecidedCredentials(ctx)
	return dbconn.ConvertRows(rows, err, credentialOf, "list undecided credentials")
}

// BindCredential sets the hosts of a credential unless they were set in the
// meantime.
func (s *Credentials) BindCredential(ctx context.Context, ws flow.WorkspaceID, name string, hosts []string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.BindCredential(tx.Ctx, gen.BindCredentialParams{WorkspaceID: ws, Name: name, Hosts: dbconn.EncodeList(hosts), Now: s.DB.NowMicros()})
	})
}

// ExamineCredentials returns the credentials of all workspaces that cannot be
// decrypted with the master key, and those that may be sent to any host.
func (s *Credentials) ExamineCredentials(ctx context.Context) (sealed, unbound []flow.Credential, err error) {
	rows, err := s.DB.Reads.ListAllCredentials(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list credentials: %w", err)
	}
	for _, r := range rows {
		c := credentialOf(r)
		if _, err := s.DB.Unseal(r.Value, r.WorkspaceID, r.Name, "secret"); err != nil {
			sealed = append(sealed, c)
		}
		if c.Unbound() {
			unbound = append(unbound, c)
		}
	}
	return sealed, unbound, nil
}

// ListCredentials returns the credentials of a workspace, by name.
func (s *Credentials) ListCredentials(ctx context.Context, ws flow.WorkspaceID) ([]flow.Credential, error) {
	var rows []gen.Credential
	err := s.DB.RetryRead(ctx, func() (err error) {
		rows, err = s.DB.Reads.ListCredentials(ctx, ws)
		return err
	})
	return dbconn.ConvertRows(rows, err, credentialOf, "list credentials")
}

// RemoveCredential removes a credential.
func (s *Credentials) RemoveCredential(ctx context.Context, ws flow.WorkspaceID, name string) error {
	return s.DB.Update(ctx, "credential", func(tx *core.Tx) (int64, error) {
		return tx.Queries.DeleteCredential(tx.Ctx, gen.DeleteCredentialParams{WorkspaceID: ws, Name: name})
	})
}

func credentialOf(r gen.Credential) flow.Credential {
	return flow.Credential{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Name: r.Name, Provider: r.Provider,
		BaseURL: r.BaseUrl, Trusted: r.Trusted != 0, Limits: flow.CallLimits{AtOnce: r.MaxCalls, PerMinute: r.CallsPerMinute}, Hosts: dbconn.DecodeList[string](r.Hosts),
		CreatedAt: dbconn.TimeOf(r.CreatedAt), UpdatedAt: dbconn.TimeOf(r.UpdatedAt),
	}
}
