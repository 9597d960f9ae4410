package db

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
		_, err := tx.FindKeySecret(tx.ctx, gen.FindKeySecretParams{ID: d.key, WorkspaceID: d.WorkspaceID})
		if !dbconn.IsNoRows(err) {
			return d.key, err
		}
	}
	row, err := tx.webhookSecret(flow.WebhookOwner{WorkspaceID: d.WorkspaceID, FlowID: d.FlowID, Node: d.Node, Host: d.host})
	return row.ID, err
}

// webhookSecret finds the row of an owner, or inserts it. Another transaction
// may insert it at the same time.
func (tx *Tx) webhookSecret(o flow.WebhookOwner) (row gen.WebhookSecret, err error) {
	row, err = tx.FindWebhookSecret(tx.ctx, ownerOf(o))
	if !dbconn.IsNoRows(err) {
		return row, err
	}
	id := tx.s.IDs().New(flow.PrefixWebhookSecret)
	sealed, err := tx.s.seal([]byte(newSigningSecret()), o.WorkspaceID, id, "signing")
	if err != nil {
		return row, err
	}
	err = tx.InsertWebhookSecret(tx.ctx, gen.InsertWebhookSecretParams{
		ID: id, WorkspaceID: o.WorkspaceID, FlowID: o.FlowID, Node: o.Node, Host: dbconn.ValidText(o.Host), Signing: sealed, SigningBefore: []byte{}, CreatedAt: tx.s.now(),
	})
	if err != nil {
		return row, fmt.Errorf("insert webhook secret: %w", err)
	}
	return tx.FindWebhookSecret(tx.ctx, ownerOf(o))
}

type ownerParams = gen.FindWebhookSecretParams

func ownerOf(o flow.WebhookOwner) ownerParams {
	return ownerParams{WorkspaceID: o.WorkspaceID, FlowID: o.FlowID, Node: o.Node, Host: dbconn.ValidText(o.Host)}
}

// newSigningSecret makes a Standard Webhooks secret of 256 bits.
func newSigningSecret() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(raw[:])
}
