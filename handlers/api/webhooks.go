package api

import (
	"net/http"

	"sluice/flow"
	"sluice/flow/document"
)

// webhookObject is the JSON of a webhook node with its signing secret.
type webhookObject struct {
	Node       string         `json:"node"`
	Label      *string        `json:"label"`
	URL        *string        `json:"url" doc:"Target URL; null if an edge or a template provides it."`
	Live       bool           `json:"live" doc:"Whether the live version sends it; otherwise only the draft does."`
	Secret     *string        `json:"secret" doc:"The whsec_ secret that signs its messages; created before the first message. Null if a credential signs."`
	Shared     bool           `json:"shared" doc:"Whether it uses the shared secret of the flow, as older versions did. Replacing the secret gives it its own."`
	Credential *string        `json:"credential" doc:"Name of the credential that signs instead of the node's own secret."`
	Previous   []secretObject `json:"previous" doc:"Replaced secrets that still sign, in addition to the current one."`
}

// secretObject is a replaced secret, which signs until it expires so that receivers can
// be updated without losing messages.
type secretObject struct {
	Secret string `json:"secret"`
	Until  stamp  `json:"until"`
}

// webhookList is all webhook nodes of a flow.
type webhookList struct {
	Webhooks []webhookObject `json:"webhooks"`
}

// KeySecret is the JSON of the secret that signs the webhooks of runs that a key starts.
type KeySecret struct {
	Secret string `json:"secret" doc:"whsec_ and base64. Unchanged when the key is rotated."`
}

// showKeySecret is GET webhook-secret: the webhook secret of the key in the request.
func (s *Server) showKeySecret(c *Call) error {
	if c.Key.ID == "" {
		return flow.Errorf(flow.CodeNotFound, "This request has no stored key, so there is no webhook secret. Send an API key in the Authorization header.")
	}
	secret, err := s.Store.KeyWebhookSecret(c.Request().Context(), c.Key.WorkspaceID, c.Key.ID)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, KeySecret{secret})
}

// listWebhooks is GET webhooks: the webhook nodes of a flow with their secrets. The audit entry is
// written before the secrets are sent.
func (s *Server) listWebhooks(c *Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	var live *flow.Document
	if f.LiveHash != "" {
		data, err := s.Store.FindDocument(ctx, f.WorkspaceID, f.LiveHash)
		if err != nil {
			return err
		}
		live, _ = document.ParseDocument(data)
	}
	draft, _ := document.ParseDocument(f.Draft)
	list := webhookList{Webhooks: []webhookObject{}}
	var owners []flow.WebhookOwner
	nodes := document.Webhooks(live, draft)
	for _, w := range nodes {
		if w.Credential() == "" {
			owners = append(owners, flow.WebhookOwner{WorkspaceID: f.WorkspaceID, FlowID: f.ID, Node: w.ID, Host: w.Host})
		}
	}
	var secrets []flow.WebhookSecret
	if len(owners) > 0 {
		if secrets, err = s.secrets.Read(ctx, c.Actor(), f, owners...); err != nil {
			return err
		}
	}
	for _, w := range nodes {
		var secret *flow.WebhookSecret
		if w.Credential() == "" {
			secret, secrets = &secrets[0], secrets[1:]
		}
		list.Webhooks = append(list.Webhooks, newWebhookObject(&w, secret))
	}
	return c.WriteJSON(http.StatusOK, list)
}

// newWebhookObject returns a webhook node with its secret, or with the name of the credential that
// signs instead.
func newWebhookObject(w *document.Webhook, secret *flow.WebhookSecret) webhookObject {
	o := webhookObject{
		Node: w.ID, Label: orNull(w.Label), URL: orNull(flow.ShownURL(w.URL)), Live: w.Live,
		Credential: orNull(w.Credential()), Previous: []secretObject{},
	}
	if secret == nil {
		return o
	}
	o.Secret, o.Shared = &secret.Secrets[0].Secret, secret.Inherits
	for _, p := range secret.Secrets[1:] {
		o.Previous = append(o.Previous, secretObject{p.Secret, stamp(p.Until)})
	}
	return o
}
