package library

import (
	"context"
	"errors"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/document"
)

// WebhookSecretStore stores the secrets that sign webhooks.
type WebhookSecretStore interface {
	Recorder
	// SigningSecrets returns the secrets of a flow, the current one first.
	SigningSecrets(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) ([]flow.SigningSecret, error)
	RotateSigning(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, overlap time.Duration) (secret string, err error)
	EndSigning(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) error
	// WebhookSecret returns the secrets of a node, which it creates if they do not exist.
	WebhookSecret(ctx context.Context, o flow.WebhookOwner) (flow.WebhookSecret, error)
	RotateWebhookSecret(ctx context.Context, o flow.WebhookOwner, overlap time.Duration) (secret string, err error)
	EndWebhookSecret(ctx context.Context, o flow.WebhookOwner) error
	KeyWebhookSecret(ctx context.Context, ws flow.WorkspaceID, keyID string) (string, error)
}

// WebhookSecrets reads, rotates and ends the secrets that sign webhooks. An owner without a node
// stands for the secret of the flow itself.
type WebhookSecrets struct{ Store WebhookSecretStore }

// secretOwner returns the name of the owner of a secret for the audit log.
func secretOwner(f *flow.Flow, o flow.WebhookOwner) string {
	if o.Node == "" {
		return f.Name
	}
	return strings.TrimSpace("webhook " + o.Node + " " + o.Host)
}

// Read returns the secrets of owners in a flow, with one audit entry for all of them.
func (s *WebhookSecrets) Read(ctx context.Context, by flow.Actor, f *flow.Flow, owners ...flow.WebhookOwner) (list []flow.WebhookSecret, err error) {
	names := make([]string, len(owners))
	for i, o := range owners {
		names[i] = secretOwner(f, o)
	}
	err = record(ctx, s.Store, by, entry(f.WorkspaceID, "flow.secret.read", string(f.ID), strings.Join(names, ", ")), func(ctx context.Context) error {
		list = make([]flow.WebhookSecret, len(owners))
		for i, o := range owners {
			if o.Node == "" {
				list[i].Secrets, err = s.Store.SigningSecrets(ctx, f.WorkspaceID, f.ID)
			} else {
				list[i], err = s.Store.WebhookSecret(ctx, o)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// ReadOfKey returns the secret that signs the webhooks of the runs of a key. The caller checks the
// right to read it with Keyring.
func (s *WebhookSecrets) ReadOfKey(ctx context.Context, by flow.Actor, k *flow.Key) (secret string, err error) {
	err = record(ctx, s.Store, by, entry(k.WorkspaceID, "key.secret.read", k.ID, ""), func(ctx context.Context) error {
		secret, err = s.Store.KeyWebhookSecret(ctx, k.WorkspaceID, k.ID)
		return err
	})
	return secret, err
}

// Rotate replaces a secret. The old one signs too for the overlap. Of concurrent requests for the same
// secret only one succeeds, so that no client gets a secret that is already replaced.
func (s *WebhookSecrets) Rotate(ctx context.Context, by flow.Actor, f *flow.Flow, o flow.WebhookOwner, overlap time.Duration) (secret string, err error) {
	detail := "overlap " + overlap.String()
	if o.Node != "" {
		detail = secretOwner(f, o) + ", " + detail
	}
	err = record(ctx, s.Store, by, entry(f.WorkspaceID, "flow.secret.rotate", string(f.ID), detail), func(ctx context.Context) error {
		if o.Node == "" {
			secret, err = s.Store.RotateSigning(ctx, f.WorkspaceID, f.ID, overlap)
		} else {
			secret, err = s.Store.RotateWebhookSecret(ctx, o, overlap)
		}
		return err
	})
	if errors.Is(err, &flow.Error{Code: document.CodeEditsMissed}) {
		return "", flow.Errorf(flow.CodeInputInvalid, "Another request is replacing this secret. Read the secret and try again.")
	}
	return secret, err
}

// End stops signing with replaced secrets immediately.
func (s *WebhookSecrets) End(ctx context.Context, by flow.Actor, f *flow.Flow, o flow.WebhookOwner) error {
	return record(ctx, s.Store, by, entry(f.WorkspaceID, "flow.secret.end", string(f.ID), secretOwner(f, o)), func(ctx context.Context) error {
		if o.Node == "" {
			return s.Store.EndSigning(ctx, f.WorkspaceID, f.ID)
		}
		return s.Store.EndWebhookSecret(ctx, o)
	})
}
