package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/document"
)

// signingInherited is the row of meta that marks inheritSigning as done.
const signingInherited = "webhook_secrets"

// inheritSigning records which webhook nodes keep signing with the secret of
// their flow, so that existing receivers keep verifying. These are the nodes of
// drafts and versions whose URL is typed in the node; for other nodes a caller
// may choose the receiver.
func inheritSigning(ctx context.Context, dialect goose.Dialect, db *sql.DB) error {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("record the secrets of webhooks: %w", err)
	}
	defer t.Rollback()
	var handle gen.DBTX = t
	if dialect == goose.DialectSQLite3 {
		handle = dbconn.SQLiteParams{DB: t}
	}
	q := gen.New(handle)
	if _, err := q.FindMeta(ctx, signingInherited); !dbconn.IsNoRows(err) {
		return err
	}
	owners, err := fixedWebhooks(ctx, handle)
	if err != nil {
		return fmt.Errorf("record the secrets of webhooks: %w", err)
	}
	ids, now := flow.NewIDs(), time.Now()
	for o := range owners {
		err := q.InsertWebhookSecret(ctx, gen.InsertWebhookSecretParams{
			ID: ids.New(flow.PrefixWebhookSecret), WorkspaceID: o.WorkspaceID, FlowID: o.FlowID, Node: o.Node, Host: dbconn.ValidText(o.Host),
			Inherits: 1, Signing: []byte{}, SigningBefore: []byte{}, CreatedAt: dbconn.Micros(now),
		})
		if err != nil {
			return fmt.Errorf("record the secret of %s: %w", o.FlowID, err)
		}
	}
	if err := q.SaveMeta(ctx, gen.SaveMetaParams{Name: signingInherited, Value: []byte{}}); err != nil {
		return fmt.Errorf("record the secrets of webhooks: %w", err)
	}
	return t.Commit()
}

// fixedWebhooks reads the webhook nodes with a typed URL of all documents. It
// skips documents that cannot be parsed; they cannot run either.
func fixedWebhooks(ctx context.Context, db gen.DBTX) (map[flow.WebhookOwner]bool, error) {
	rows, err := db.QueryContext(ctx, `SELECT workspace_id, id, draft FROM flows
		UNION ALL SELECT v.workspace_id, v.flow_id, d.body FROM versions v JOIN documents d ON d.workspace_id = v.workspace_id AND d.hash = v.document_hash`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	owners := map[flow.WebhookOwner]bool{}
	for rows.Next() {
		var ws, flowID, text string
		if err := rows.Scan(&ws, &flowID, &text); err != nil {
			return nil, err
		}
		d, _ := document.ParseDocument([]byte(text))
		if d == nil {
			continue
		}
		for i := range d.Nodes {
			n := &d.Nodes[i]
			if host := document.WebhookHost(d, n); n.Kind == flow.WebhookNode && host != "" {
				owners[flow.WebhookOwner{WorkspaceID: flow.WorkspaceID(ws), FlowID: flow.FlowID(flowID), Node: n.ID, Host: host}] = true
			}
		}
	}
	return owners, rows.Err()
}
