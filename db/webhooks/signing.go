package webhooks

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/document"
)

// Secrets are rotated with an overlap: deliveries are signed with the current secret
// and with replaced ones until their overlap ends, so that receivers can switch at
// any time in between. The list of replaced secrets is encrypted as one value.

// SigningSecret returns the current whsec_ secret of a flow.
func (s *Signing) SigningSecret(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (string, error) {
	list, err := s.SigningSecrets(ctx, ws, flowID)
	if err != nil {
		return "", err
	}
	return list[0].Secret, nil
}

// SigningSecrets returns the secrets that sign the webhooks of a flow: the current
// one first, then replaced ones whose overlap has not ended.
func (s *Signing) SigningSecrets(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) ([]flow.SigningSecret, error) {
	row, err := s.DB.Reads.FindSigning(ctx, gen.FindSigningParams{ID: flowID, WorkspaceID: ws})
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "flow")
	}
	return openSecrets(s.DB, row.Signing, row.SigningBefore, ws, string(flowID))
}

// openSecrets decrypts the current secret of an owner, the ID of a flow or webhook
// secret, and the replaced ones that still sign.
func openSecrets(s *core.DB, current, before []byte, ws flow.WorkspaceID, owner string) ([]flow.SigningSecret, error) {
	text, err := s.Unseal(current, ws, owner, "signing")
	if err != nil {
		return nil, err
	}
	list, err := openBefore(s, before, ws, owner)
	return append([]flow.SigningSecret{{Secret: string(text)}}, list...), err
}

// openBefore decrypts a list of replaced secrets and drops those whose overlap has
// ended. owner is the ID of a flow or webhook secret, or the name of a credential.
func openBefore(s *core.DB, sealed []byte, ws flow.WorkspaceID, owner string) ([]flow.SigningSecret, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	text, err := s.Unseal(sealed, ws, owner, "signing_before")
	if err != nil {
		return nil, err
	}
	list, err := dbconn.Decode[[]flow.SigningSecret](string(text))
	return flow.Signing(list, dbconn.TimeOf(s.NowMicros())), err
}

// sealBefore encrypts a list of replaced secrets.
func sealBefore(s *core.DB, list []flow.SigningSecret, ws flow.WorkspaceID, owner string) ([]byte, error) {
	if len(list) == 0 {
		return []byte{}, nil
	}
	return s.Seal(flow.EncodeJSON(list), ws, owner, "signing_before")
}

// RotateSigning gives a flow a new signing secret. The old one also signs during the
// overlap. Without an overlap, all old secrets end immediately.
func (s *Signing) RotateSigning(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, overlap time.Duration) (secret string, err error) {
	secret = core.NewSigningSecret()
	sealed, err := s.DB.Seal([]byte(secret), ws, string(flowID), "signing")
	if err != nil {
		return "", err
	}
	return secret, s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		row, err := tx.Queries.FindSigning(tx.Ctx, gen.FindSigningParams{ID: flowID, WorkspaceID: ws})
		if err != nil {
			return dbconn.NotFoundErr(err, "flow")
		}
		list, err := openSecrets(s.DB, row.Signing, row.SigningBefore, ws, string(flowID))
		if err != nil {
			return err
		}
		if list, err = flow.Succeed(list, overlap, dbconn.TimeOf(s.DB.NowMicros())); err != nil {
			return err
		}
		before, err := sealBefore(s.DB, list, ws, string(flowID))
		if err != nil {
			return err
		}
		n, err := tx.Queries.ReplaceSigning(tx.Ctx, gen.ReplaceSigningParams{
			ID: flowID, WorkspaceID: ws, Signing: sealed, SigningBefore: before, SigningWas: row.Signing,
		})
		if err == nil && n == 0 {
			return flow.Errorf(document.CodeEditsMissed, "Someone else is replacing this secret. Reload the page and check it first.")
		}
		return err
	})
}

// EndSigning ends the replaced secrets of a flow before their overlap is over.
func (s *Signing) EndSigning(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) error {
	return s.DB.Update(ctx, "flow", func(tx *core.Tx) (int64, error) {
		return tx.Queries.EndSigning(tx.Ctx, gen.EndSigningParams{ID: flowID, WorkspaceID: ws, None: []byte{}})
	})
}

// PreviousSecrets returns the replaced secrets of a credential that still sign
// webhooks in addition to the current one.
func (s *Signing) PreviousSecrets(ctx context.Context, ws flow.WorkspaceID, name string) ([]flow.SigningSecret, error) {
	r, err := s.DB.Reads.FindCredential(ctx, gen.FindCredentialParams{WorkspaceID: ws, Name: name})
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "credential")
	}
	list, err := openBefore(s.DB, r.SigningBefore, ws, name)
	if err != nil {
		err = flow.SealedError(name)
	}
	return list, err
}

// SucceedCredential returns the encrypted list of replaced secrets for a credential
// that is being saved. Its current secret is added if it differs from the new one
// and is not for a provider.
func SucceedCredential(tx *core.Tx, c *flow.Credential, secret string) ([]byte, error) {
	access := flow.Access{Provider: c.Provider}
	old, err := tx.Queries.FindCredential(tx.Ctx, gen.FindCredentialParams{WorkspaceID: c.WorkspaceID, Name: c.Name})
	if dbconn.IsNoRows(err) || err == nil && (!access.Plain() || old.Provider != c.Provider) {
		return []byte{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find credential: %w", err)
	}
	text, err := tx.Store.Unseal(old.Value, c.WorkspaceID, c.Name, "secret")
	if err != nil {
		return []byte{}, nil // encrypted with another master key: replaced by a new secret without overlap
	}
	if string(text) == secret {
		return old.SigningBefore, nil
	}
	list, err := openBefore(tx.Store, old.SigningBefore, c.WorkspaceID, c.Name)
	if err != nil {
		return nil, err
	}
	list, err = flow.Succeed(append([]flow.SigningSecret{{Secret: string(text)}}, list...), c.Overlap, dbconn.TimeOf(tx.Store.NowMicros()))
	if err != nil {
		return nil, err
	}
	return sealBefore(tx.Store, list, c.WorkspaceID, c.Name)
}

// Signing stores the secrets that webhooks of a flow are signed with.
type Signing struct{ DB *core.DB }
