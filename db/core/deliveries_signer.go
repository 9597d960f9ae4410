package core

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// signer returns the ID of the owner whose secret signs a delivery if neither
// its node nor its run names a secret: the key that started the run, or the
// secret of the node.
func (tx *Tx) signer(d *newDelivery) (string, error) {
	if d.Node == "" && d.key != "" {
		_, err := tx.Queries.FindKeySecret(tx.Ctx, gen.FindKeySecretParams{ID: d.key, WorkspaceID: d.WorkspaceID})
		if !dbconn.IsNoRows(err) {
			return d.key, err
		}
	}
	row, err := tx.WebhookSecret(flow.WebhookOwner{WorkspaceID: d.WorkspaceID, FlowID: d.FlowID, Node: d.Node, Host: d.host})
	return row.ID, err
}

// WebhookSecret returns the row of an owner and inserts it if necessary. Another
// transaction may insert it concurrently.
func (tx *Tx) WebhookSecret(o flow.WebhookOwner) (row gen.WebhookSecret, err error) {
	row, err = tx.Queries.FindWebhookSecret(tx.Ctx, OwnerOf(o))
	if !dbconn.IsNoRows(err) {
		return row, err
	}
	id := tx.Store.IDs().New(flow.PrefixWebhookSecret)
	sealed, err := tx.Store.Seal([]byte(NewSigningSecret()), o.WorkspaceID, id, "signing")
	if err != nil {
		return row, err
	}
	err = tx.Queries.InsertWebhookSecret(tx.Ctx, gen.InsertWebhookSecretParams{
		ID: id, WorkspaceID: o.WorkspaceID, FlowID: o.FlowID, Node: o.Node, Host: dbconn.ValidText(o.Host), Signing: sealed, SigningBefore: []byte{}, CreatedAt: tx.Store.NowMicros(),
	})
	if err != nil {
		return row, fmt.Errorf("insert webhook secret: %w", err)
	}
	return tx.Queries.FindWebhookSecret(tx.Ctx, OwnerOf(o))
}

// ownerParams are the columns that identify the owner of a webhook secret.
type ownerParams = gen.FindWebhookSecretParams

// OwnerOf converts an owner to query parameters.
func OwnerOf(o flow.WebhookOwner) ownerParams {
	return ownerParams{WorkspaceID: o.WorkspaceID, FlowID: o.FlowID, Node: o.Node, Host: dbconn.ValidText(o.Host)}
}

// NewSigningSecret returns a new Standard Webhooks secret of 256 bits.
func NewSigningSecret() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(raw[:])
}
