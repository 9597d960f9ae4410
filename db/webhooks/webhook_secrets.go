package webhooks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/document"
)

// Each webhook node and each key has its own secret, so that a receiver cannot forge
// the messages of another one. Nodes from before that keep using the secret of their
// flow until they get a new one (the column inherits).

// WebhookSecret returns the signing secrets of an owner, and creates one if
// necessary.
func (s *WebhookSecrets) WebhookSecret(ctx context.Context, o flow.WebhookOwner) (w flow.WebhookSecret, err error) {
	row, err := s.DB.Reads.FindWebhookSecret(ctx, gen.FindWebhookSecretParams(core.OwnerOf(o)))
	if dbconn.IsNoRows(err) {
		err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
			if _, err := tx.Queries.FindSigning(tx.Ctx, gen.FindSigningParams{ID: o.FlowID, WorkspaceID: o.WorkspaceID}); err != nil {
				return dbconn.NotFoundErr(err, "flow")
			}
			row, err = tx.WebhookSecret(o)
			return err
		})
	}
	if err != nil {
		return w, fmt.Errorf("find webhook secret: %w", err)
	}
	return s.openWebhookSecret(ctx, s.DB.Reads, &row)
}

// PeekWebhookSecret is WebhookSecret without creating a secret. Secrets is empty if
// the owner has no secret yet.
func (s *WebhookSecrets) PeekWebhookSecret(ctx context.Context, o flow.WebhookOwner) (w flow.WebhookSecret, err error) {
	row, err := s.DB.Reads.FindWebhookSecret(ctx, gen.FindWebhookSecretParams(core.OwnerOf(o)))
	if dbconn.IsNoRows(err) {
		return w, nil
	}
	if err != nil {
		return w, fmt.Errorf("find webhook secret: %w", err)
	}
	return s.openWebhookSecret(ctx, s.DB.Reads, &row)
}

// openWebhookSecret decrypts the secrets of a row, or those of the flow if the row
// inherits them.
func (s *WebhookSecrets) openWebhookSecret(ctx context.Context, q *gen.Queries, row *gen.WebhookSecret) (w flow.WebhookSecret, err error) {
	w = flow.WebhookSecret{ID: row.ID, Inherits: row.Inherits != 0}
	if w.Inherits {
		signing, err := q.FindSigning(ctx, gen.FindSigningParams{ID: row.FlowID, WorkspaceID: row.WorkspaceID})
		if err != nil {
			return w, dbconn.NotFoundErr(err, "flow")
		}
		w.Secrets, err = openSecrets(s.DB, signing.Signing, signing.SigningBefore, row.WorkspaceID, string(row.FlowID))
		return w, err
	}
	w.Secrets, err = openSecrets(s.DB, row.Signing, row.SigningBefore, row.WorkspaceID, row.ID)
	return w, err
}

// RotateWebhookSecret gives an owner a new secret of its own. The previous
// secret, which may be the flow's, also signs during the overlap.
func (s *WebhookSecrets) RotateWebhookSecret(ctx context.Context, o flow.WebhookOwner, overlap time.Duration) (secret string, err error) {
	if _, err := s.WebhookSecret(ctx, o); err != nil {
		return "", err
	}
	secret = core.NewSigningSecret()
	return secret, s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		row, err := tx.WebhookSecret(o)
		if err != nil {
			return err
		}
		w, err := s.openWebhookSecret(tx.Ctx, tx.Queries, &row)
		if err != nil {
			return err
		}
		list, err := flow.Succeed(w.Secrets, overlap, dbconn.TimeOf(s.DB.NowMicros()))
		if err != nil {
			return err
		}
		next := gen.ReplaceWebhookSecretParams{ID: row.ID, Inherited: row.Inherits, SigningWas: row.Signing}
		if next.Signing, err = s.DB.Seal([]byte(secret), o.WorkspaceID, row.ID, "signing"); err != nil {
			return err
		}
		if next.SigningBefore, err = sealBefore(s.DB, list, o.WorkspaceID, row.ID); err != nil {
			return err
		}
		n, err := tx.Queries.ReplaceWebhookSecret(tx.Ctx, next)
		if err == nil && n == 0 {
			return flow.Errorf(document.CodeEditsMissed, "Someone else is replacing this secret. Reload the page and check it first.")
		}
		return err
	})
}

// EndWebhookSecret ends the replaced secrets of an owner before their overlap
// is over.
func (s *WebhookSecrets) EndWebhookSecret(ctx context.Context, o flow.WebhookOwner) error {
	w, err := s.WebhookSecret(ctx, o)
	if err != nil {
		return err
	}
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.EndWebhookSecret(tx.Ctx, gen.EndWebhookSecretParams{ID: w.ID, None: []byte{}})
	})
}

// KeyWebhookSecret returns the secret that signs the webhooks of runs that a key
// starts, and creates it if necessary. Rotating the key keeps it.
func (s *WebhookSecrets) KeyWebhookSecret(ctx context.Context, ws flow.WorkspaceID, keyID string) (string, error) {
	secret, err := s.keySecret(ctx, s.DB.Reads, ws, keyID)
	if err != nil || secret != "" {
		return secret, err
	}
	sealed, err := s.NewKeySecret(ws, keyID)
	if err != nil {
		return "", err
	}
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if err := tx.Queries.SaveKeySecret(tx.Ctx, gen.SaveKeySecretParams{ID: keyID, WorkspaceID: ws, WebhookSecret: sealed}); err != nil {
			return fmt.Errorf("save the webhook secret of %s: %w", keyID, err)
		}
		secret, err = s.keySecret(tx.Ctx, tx.Queries, ws, keyID) // a concurrent request may have created it
		return err
	})
	return secret, err
}

// NewKeySecret returns a new encrypted secret for a key.
func (s *WebhookSecrets) NewKeySecret(ws flow.WorkspaceID, keyID string) ([]byte, error) {
	return s.DB.Seal([]byte(core.NewSigningSecret()), ws, keyID, "webhook")
}

// keySecret returns "" for a key that has no webhook secret yet.
func (s *WebhookSecrets) keySecret(ctx context.Context, q *gen.Queries, ws flow.WorkspaceID, keyID string) (string, error) {
	sealed, err := q.FindKeySecret(ctx, gen.FindKeySecretParams{ID: keyID, WorkspaceID: ws})
	if err != nil || len(sealed) == 0 {
		return "", dbconn.NotFoundErr(err, "key")
	}
	text, err := s.DB.Unseal(sealed, ws, keyID, "webhook")
	return string(text), err
}

// DeliverySecrets returns the secrets that sign a delivery, the current one
// first. Deliveries from before nodes and keys had secrets use the flow's.
func (s *WebhookSecrets) DeliverySecrets(ctx context.Context, d *flow.Delivery) ([]flow.SigningSecret, error) {
	if d.Signer == "" {
		return (*Signing)(s).SigningSecrets(ctx, d.WorkspaceID, d.FlowID)
	}
	if strings.HasPrefix(d.Signer, flow.PrefixKey) {
		secret, err := s.KeyWebhookSecret(ctx, d.WorkspaceID, d.Signer)
		return []flow.SigningSecret{{Secret: secret}}, err
	}
	row, err := s.DB.Reads.GetWebhookSecret(ctx, gen.GetWebhookSecretParams{ID: d.Signer, WorkspaceID: d.WorkspaceID})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("find the signing secret of %s", d.ID), dbconn.NotFoundErr(err, "signing secret"))
	}
	w, err := s.openWebhookSecret(ctx, s.DB.Reads, &row)
	return w.Secrets, err
}

// WebhookSecrets stores the signing secrets of webhook nodes and keys.
type WebhookSecrets struct{ DB *core.DB }
