package api

import (
	"net/http"

	"sluice/flow"
	"sluice/handlers/api/openapi"
)

// webhookRoutes returns the routes of webhooks and their deliveries.
func (s *Server) webhookRoutes() []Route {
	return []Route{{
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/deliveries", Scopes: scopesRead, Handle: s.listDeliveries,
		Role: flow.MemberViewer, Commands: []string{"delivery list"},
		Doc: openapi.Operation{ID: "listDeliveries", Tag: "Webhooks", Summary: "List webhook deliveries, newest first",
			Params: []string{"limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid},
			Answers: openapi.OK("One page of deliveries.", deliveryList{})},
	}, {
		Method: http.MethodGet, Path: "/v1/flow/:flow_id/webhooks", Scopes: scopesManage, Handle: s.listWebhooks,
		Role: flow.MemberEditor, Audit: []string{"flow.secret.read"}, Commands: []string{"flow secret"},
		Doc: openapi.Operation{ID: "listWebhooks", Tag: "Webhooks", Summary: "List webhook nodes and their signing secrets",
			Text:     "A secret is created when it is first read or used, so a receiver can be set up before the first message. Reading secrets is recorded in the audit log.",
			Problems: []flow.Code{flow.CodeStorageFull},
			Answers:  openapi.OK("The webhook nodes of the live version, and those of the draft that are new or send to another host.", webhookList{})},
	}, {
		Method: http.MethodGet, Path: "/v1/webhook-secret", Scopes: flow.Scopes, Handle: s.showKeySecret,
		Doc: openapi.Operation{ID: "showWebhookSecret", Tag: "Webhooks", Summary: "Read the webhook secret of the key",
			Text:    "Signs webhooks in run_options.webhook without a secret, for runs started with this key. Rotating the key keeps it.",
			Answers: openapi.OK("The webhook secret of the key in the request.", KeySecret{})},
	}, {
		Method: http.MethodPost, Path: "/v1/deliveries/:delivery_id/redeliver", Scopes: scopesManage, Handle: s.redeliver,
		Role: flow.MemberEditor, Audit: []string{"delivery.redeliver"}, Commands: []string{"delivery resend"},
		Doc: openapi.Operation{ID: "redeliver", Tag: "Webhooks", Summary: "Resend a webhook delivery",
			Text:     "Starts a new series of attempts under the same ID.",
			Problems: []flow.Code{flow.CodeResultNotSaved, flow.CodeRunExpired, flow.CodeStorageFull},
			Answers:  []openapi.Answer{{Status: 202, Text: "The delivery is queued.", JSON: deliveryObject{}}}},
	}}
}
