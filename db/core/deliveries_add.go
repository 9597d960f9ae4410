package core

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// runWebhook is the sealed form of a per-run webhook.
type runWebhook struct {
	URL       string `json:"url"`
	Secret    any    `json:"secret,omitempty"`
	Header    string `json:"header,omitempty"`
	Signature any    `json:"signature,omitempty"`
}

// sealWebhook encrypts the per-run webhook, which may contain secrets.
func (s *DB) sealWebhook(r *flow.Run, n *flow.NewDelivery) ([]byte, error) {
	if n == nil {
		return []byte{}, nil
	}
	return s.sealValue(runWebhook{n.URL, n.Secret, n.Header, n.Signature}, r.WorkspaceID, string(r.ID), "webhook")
}

// addRunWebhook adds a delivery to the per-run webhook.
func (tx *Tx) addRunWebhook(r *flow.Run, sealed []byte, id string, body []byte) error {
	text, err := tx.Store.Unseal(sealed, r.WorkspaceID, string(r.ID), "webhook")
	if err != nil {
		return flow.Permanent(fmt.Errorf("webhook of %s: %w", r.ID, err))
	}
	hook, err := dbconn.Decode[runWebhook](string(text))
	if err != nil {
		return fmt.Errorf("webhook of %s: %w", r.ID, err)
	}
	row, err := tx.Store.DeliveryRow(r, &flow.NewDelivery{
		ID: id, URL: hook.URL, Secret: hook.Secret, Header: hook.Header, Signature: hook.Signature, Body: body,
	})
	if err != nil {
		return err
	}
	return tx.AddDelivery(row)
}

// webhookBody returns the message about the end of a run.
func (s *DB) webhookBody(r *flow.Run) []byte {
	typ := "run." + string(r.State)
	data := flow.EncodeJSON(map[string]any{"run_id": string(r.ID), "flow_id": string(r.FlowID), "status": string(r.State)})
	if s.RunEnded != nil {
		typ, data = s.RunEnded(r)
	}
	return flow.EncodeJSON(struct {
		Type      string          `json:"type"`
		Timestamp string          `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}{typ, r.EndedAt.UTC().Format(flow.TimeForm), data})
}

// AddDelivery adds a new delivery to the queue of its endpoint.
func (tx *Tx) AddDelivery(d newDelivery) error {
	tx.Batch.Deliveries = true
	var err error
	if d.Signer, err = tx.signer(&d); err != nil {
		return fmt.Errorf("find what signs the delivery: %w", err)
	}
	if d.EndpointID, err = tx.Endpoint(d.WorkspaceID, d.FlowID, d.Node, d.Url); err != nil {
		return err
	}
	inserted, err := tx.Queries.InsertDelivery(tx.Ctx, d.InsertDeliveryParams)
	if err != nil {
		return fmt.Errorf("insert delivery: %w", err)
	}
	tx.TrackBytes(d.WorkspaceID, inserted*int64(len(d.Body)))
	return nil
}

// newDelivery is the row of a new delivery together with the data that selects
// its signing secret.
type newDelivery struct {
	gen.InsertDeliveryParams
	host string // as of flow.WebhookOwner
	key  string // ID of the key that started the run
}

// DeliveryRow returns the row of a new delivery of a run, with encrypted secrets.
func (s *DB) DeliveryRow(r *flow.Run, n *flow.NewDelivery) (newDelivery, error) {
	position := s.IDs().New(flow.PrefixDelivery)
	id := cmp.Or(n.ID, position)
	row := newDelivery{key: r.KeyID, host: n.Host}
	row.InsertDeliveryParams = gen.InsertDeliveryParams{
		ID: id, Position: position, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, RunID: r.ID, Node: n.Node,
		Url: dbconn.ValidText(n.URL), Header: dbconn.ValidText(n.Header), CreatedAt: s.NowMicros(), Body: string(n.Body),
	}
	var err error
	if row.Secret, err = s.sealValue(n.Secret, r.WorkspaceID, id, "secret"); err != nil {
		return row, err
	}
	row.Signature, err = s.sealValue(n.Signature, r.WorkspaceID, id, "signature")
	return row, err
}

const (
	// maxEndpointURLs is how many URLs of a node at one host have endpoints of their own.
	// Callers may send each message to a URL of its own, and the cost of lists depends on
	// the number of endpoints.
	maxEndpointURLs = 100
	// sharedEndpoints is how many endpoints all further URLs share.
	sharedEndpoints = 16
)

// Endpoint returns the ID of the endpoint of a new delivery, which is its flow, node and
// URL, and creates it if necessary. Another transaction may create it concurrently.
func (tx *Tx) Endpoint(ws flow.WorkspaceID, flowID flow.FlowID, node, url string) (id string, err error) {
	hostname := dbconn.ValidText(flow.HostOf(url))
	hash := sha256.Sum256([]byte(url))
	own := fmt.Sprintf("%s %x", hostname, hash[:16])
	id, err = tx.Queries.FindEndpoint(tx.Ctx, gen.FindEndpointParams{WorkspaceID: ws, FlowID: flowID, Node: node, Host: own})
	if !dbconn.IsNoRows(err) {
		return id, endpointError(err)
	}
	_, err = tx.Queries.FindEndpointBeyond(tx.Ctx, gen.FindEndpointBeyondParams{WorkspaceID: ws, FlowID: flowID, Node: node, Hostname: hostname, Skipped: maxEndpointURLs - 1})
	if err != nil && !dbconn.IsNoRows(err) {
		return "", endpointError(err)
	}
	key := gen.FindEndpointParams{WorkspaceID: ws, FlowID: flowID, Node: node, Host: own}
	if err == nil {
		key.Host = fmt.Sprintf("%s shared %d", hostname, hash[0]%sharedEndpoints)
	}
	err = tx.Queries.InsertEndpoint(tx.Ctx, gen.InsertEndpointParams{
		ID: tx.Store.IDs().New(flow.PrefixEndpoint), WorkspaceID: ws, FlowID: flowID, Node: node, Host: key.Host, Hostname: hostname, CreatedAt: tx.Store.NowMicros(),
	})
	if err == nil {
		id, err = tx.Queries.FindEndpoint(tx.Ctx, key)
	}
	return id, endpointError(err)
}

// endpointError names the act in an error of Endpoint.
func endpointError(err error) error {
	if err != nil {
		return fmt.Errorf("find endpoint: %w", err)
	}
	return nil
}
