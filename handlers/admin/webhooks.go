package admin

import (
	"context"
	"net/http"
	"reflect"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// webhookNames maps the Go types of responses to the names of their schemas in the OpenAPI
// document. Names are part of the API: generated clients name their types after them.
var webhookNames = map[reflect.Type]string{reflect.TypeFor[RotatedSecret](): "RotatedWebhookSecret"}

// webhookParams are the parameters that routes name in their Params.
var webhookParams = map[string]map[string]any{
	"node": {"name": "node", "in": "path", "required": true, "description": "ID of the webhook node.", "schema": map[string]any{"type": "string"}},
}

// rotateSecretBody declares the body of a rotation.
var rotateSecretBody = rotationBody("RotateWebhookSecret", "Seconds for which the old secret signs too.", flow.LongestOverlap)

// webhookRoutes returns the route that rotates a secret. The route that reads the secrets is
// in package api.
func (s *Server) webhookRoutes() api.Extension {
	return api.Extension{Names: webhookNames, Params: webhookParams, Routes: []api.Route{{
		Method: http.MethodPost, Path: "/v1/flow/:flow_id/webhooks/:node/rotate", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.rotateWebhookSecret,
		Role: flow.MemberEditor, Audit: []string{"flow.secret.rotate"}, Commands: []string{"flow secret"},
		Doc: openapi.Operation{ID: "rotateWebhookSecret", Tag: "Webhooks", Summary: "Rotate the signing secret of a webhook node",
			Text: "The node gets a secret of its own; the old one signs too for overlap_s seconds, so that receivers can switch at any time.",
			Body: rotateSecretBody.Doc(), Problems: []flow.Code{flow.CodeStorageFull},
			Answers: openapi.OK("The new secret.", RotatedSecret{})},
	}}}
}

// RotatedSecret is the JSON of the new secret of a webhook node.
type RotatedSecret struct {
	Node   string `json:"node"`
	Secret string `json:"secret" doc:"The whsec_ secret that signs its messages from now on."`
}

// rotateWebhookSecret is POST flow/webhooks/node/rotate.
func (s *Server) rotateWebhookSecret(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	owner, err := s.webhookOwner(ctx, f, c.Param("node"))
	if err != nil {
		return err
	}
	overlap, err := readOverlap(c, &rotateSecretBody)
	if err != nil {
		return err
	}
	secret, err := s.secrets.Rotate(ctx, c.Actor(), f, owner, overlap)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, RotatedSecret{owner.Node, secret})
}

// webhookOwner returns the owner of the secret of a webhook node. If the live version and the draft
// send to different hosts, they have different secrets; it returns that of the live version. A node
// that signs with a credential has no such secret.
func (s *Server) webhookOwner(ctx context.Context, f *flow.Flow, node string) (o flow.WebhookOwner, err error) {
	var live *flow.Document
	if f.LiveHash != "" {
		data, err := s.Store.FindDocument(ctx, f.WorkspaceID, f.LiveHash)
		if err != nil {
			return o, err
		}
		live, _ = document.ParseDocument(data)
	}
	draft, _ := document.ParseDocument(f.Draft)
	for _, w := range document.Webhooks(live, draft) {
		if w.ID == node && w.Credential() == "" {
			return flow.WebhookOwner{WorkspaceID: f.WorkspaceID, FlowID: f.ID, Node: w.ID, Host: w.Host}, nil
		}
	}
	return o, flow.Errorf(flow.CodeNotFound, "The flow has no such webhook node, or a credential signs its messages.")
}
