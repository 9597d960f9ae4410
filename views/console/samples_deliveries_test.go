package console

import (
	"time"

	"sluice/snippets"
	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func deliveriesSamples(theme layout.Theme) map[string]templ.Component {
	p, flowPage := viewtest.Page("Deliveries", layout.SectionDeliveries, theme), viewtest.Page("Webhooks", layout.SectionFlows, theme)
	bad := EndpointView{
		ID: "end_1", FlowID: "flow_1", Flow: "Route a support ticket", Node: "tell", Sender: "Tell the shop", Host: "hooks.example.com", URL: "https://hooks.example.com/in", LastAt: viewtest.Noon.Add(-time.Minute),
		Status: 302, Attempts: 4, Succeeded: 2, P95: 310 * time.Millisecond, Bars: []bool{true, true, false, false},
		Problem: "hooks.example.com redirects.", Advice: "The receiver redirects to https://example.com/in. Enter the final address in the webhook node.",
	}
	good := EndpointView{ID: "end_2", FlowID: "flow_2", Flow: "Answer from the handbook", Host: "b.test", LastAt: viewtest.Noon, Failure: "timeout", Attempts: 1, Bars: []bool{false}, P95: 15 * time.Second}
	log := DeliveriesPage{
		Rows: sampleDeliveries(), Flows: []components.Option{{Value: "flow_1", Label: "Route a support ticket"}}, Hosts: []string{"hooks.example.com"}, Endpoints: []EndpointView{bad},
		Pages: components.Pages{Path: "/deliveries", After: "whd_1"}, MayEdit: true, HasFlows: true, Now: viewtest.Noon,
	}
	none := DeliveriesPage{Filter: DeliveriesFilter{To: "<b>", Endpoint: "end_1", Time: "custom", From: "x", States: []string{"failed"}, Errors: components.Errors{"from": "Choose a date and a time."}}, Now: viewtest.Noon}
	one := DeliveryPage{
		DeliveryRow: log.Rows[1], RunID: "run_01jd6v0q8zc", Body: "{\n  \"answer\": \"<b>\"\n}", Custom: "X-Token", Next: "The next attempt is on Nov 20, 2026, 12:05:00 PM UTC.", MayEdit: true, Poll: "load delay:1s", Now: viewtest.Noon,
		Attempts: []AttemptView{
			{Number: 2, At: viewtest.Noon, Duration: 15 * time.Second, Error: "No answer within 15 s.", Open: true, Headers: [][2]string{{"Webhook-Id", "whd_1"}, {"Webhook-Signature", "v1,a= v1,b="}}},
			{Number: 1, At: viewtest.Noon.Add(-time.Minute), Duration: 20 * time.Millisecond, Status: 500, Reason: "Internal Server Error", Error: "The receiver answered 500.", Response: "<html>oops"},
		},
	}
	gone := DeliveryPage{DeliveryRow: log.Rows[2], Erased: "The content was erased with its run.", Next: "Nothing more is sent.", Now: viewtest.Noon}
	again := ResendPage{Count: 12_000, Most: 100_001, Batch: 10_000, Asked: 1, Flows: []components.Option{{Value: "", Label: "All flows"}, {Value: "flow_1", Label: "Route a support ticket"}}}
	wrong := ResendPage{Endpoint: "end_1", Host: "hooks.example.com", FlowName: "Route", Since: "x", Errors: components.Errors{"since": "Choose a date and a time."}}
	hooks := WebhooksPage{
		FlowID: "flow_1", Flow: "Route a support ticket", Endpoints: []EndpointView{bad, good}, Shared: true,
		Signing: SigningBox{Anchor: "secret", Label: "the flow", Secret: "whsec_c2VjcmV0", Before: []time.Time{viewtest.Noon.Add(time.Hour)}},
		Nodes: []WebhookNode{{ID: "tell", Label: "Tell the shop", URL: "https://hooks.example.com/in", From: "draft", Outputs: "answer, team", Secret: "its own secret", Error: "Write it like https://example.com/hooks.",
			Signing: &SigningBox{Anchor: "webhook-draft-tell", Node: "tell", From: "draft", Label: "Tell the shop", Error: "Choose one of these.", Before: []time.Time{viewtest.Noon.Add(time.Hour)}}}},
		Snippets: []components.Panel{{Label: "Python", Content: VerifyCode("Python", "import hmac", components.Highlighted(components.CodePieces(snippets.Highlight("python", "import hmac"))))}}, MayEdit: true, Now: viewtest.Noon,
	}
	return map[string]templ.Component{
		"deliveries": Deliveries(p, log), "deliveries-none": Deliveries(p, none), "deliveries-empty": Deliveries(p, DeliveriesPage{Now: viewtest.Noon}),
		"endpoints": Endpoints(p, DeliveriesPage{Endpoints: []EndpointView{bad, good}, MayEdit: true, Now: viewtest.Noon}), "endpoints-empty": Endpoints(p, DeliveriesPage{Now: viewtest.Noon}),
		"delivery": Delivery(p, one), "delivery-erased": Delivery(p, gone), "deliveries-again": Resend(p, again), "deliveries-again-wrong": Resend(p, wrong),
		"webhooks": Webhooks(flowPage, hooks), "webhooks-viewer": Webhooks(flowPage, WebhooksPage{FlowID: "flow_1", Flow: "Route", Now: viewtest.Noon}),
	}
}

func sampleDeliveries() []DeliveryRow {
	row := DeliveryRow{
		ID: "whd_01jd6v0q8za", State: "delivered", FlowID: "flow_1", Flow: "Route a support ticket", Node: "tell", Sender: "Tell the shop", URL: "https://hooks.example.com/in/a/rather/long/path?of=some&length=also", At: viewtest.Noon.Add(-time.Second),
		Tries: 1, Tried: true, Status: 204, Duration: 84 * time.Millisecond,
	}
	pending, failed, fresh := row, row, row
	pending.ID, pending.State, pending.NextAt, pending.Tries, pending.Status, pending.Failure = "whd_01jd6v0q8zb", "pending", viewtest.Noon.Add(5*time.Minute), 2, 0, "timeout"
	failed.ID, failed.State, failed.Node, failed.Test, failed.Status = "whd_01jd6v0q8zc", "failed", "", true, 410
	fresh.ID, fresh.State, fresh.Tried, fresh.Tries, fresh.NextAt = "whd_01jd6v0q8zd", "pending", false, 0, viewtest.Noon
	return []DeliveryRow{row, pending, failed, fresh}
}
