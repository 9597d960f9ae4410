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
	list, secrets := webhookList{Webhooks: []webhookObject{}}, false
	for _, w := range document.Webhooks(live, draft) {
		o, err := s.newWebhookObject(c, f, &w)
		if err != nil {
			return err
		}
		list.Webhooks, secrets = append(list.Webhooks, o), secrets || o.Secret != nil
	}
	if secrets {
		if err := c.audit("flow.secret.read", string(f.ID), ""); err != nil {
			return err
		}
	}
	return c.WriteJSON(http.StatusOK, list)
}

// newWebhookObject returns a webhook node with its secrets, which it creates if they do not exist.
// If a credential signs instead, it returns only the name of the credential.
func (s *Server) newWebhookObject(c *Call, f *flow.Flow, w *document.Webhook) (webhookObject, error) {
	o := webhookObject{
		Node: w.ID, Label: orNull(w.Label), URL: orNull(flow.ShownURL(w.URL)), Live: w.Live,
		Credential: orNull(w.Credential()), Previous: []secretObject{},
	}
	if o.Credential != nil {
		return o, nil
	}
	secret, err := s.Store.WebhookSecret(c.Request().Context(), flow.WebhookOwner{WorkspaceID: f.WorkspaceID, FlowID: f.ID, Node: w.ID, Host: w.Host})
	if err != nil {
		return o, err
	}
	o.Secret, o.Shared = &secret.Secrets[0].Secret, secret.Inherits
	for _, p := range secret.Secrets[1:] {
		o.Previous = append(o.Previous, secretObject{p.Secret, stamp(p.Until)})
	}
	return o, nil
}
