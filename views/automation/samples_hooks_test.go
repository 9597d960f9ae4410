package automation

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func hookSamples(theme layout.Theme) map[string]templ.Component {
	p := viewtest.Page("Stripe refunds", layout.SectionFlows, theme)
	page := HookPage{
		FlowID: "flow_1", Flow: "Post refunds", LiveVersion: 2, ID: "trg_3", Title: "Stripe refunds", On: true, MayEdit: true, Now: viewtest.Noon,
		URL: "https://sluice.example.com/h/k7QmAbCdEfGhIjKlMnOpQrStUvWxYz0123456789abc", Secret: "AbCdEfGh", OldUntil: viewtest.Noon.Add(24 * time.Hour),
		Form: sampleHookForm(), Capture: sampleCapture(), Test: HookTest{Media: "application/json", Body: `{"id": "evt_test", "type": "refund.created"}`},
	}
	page.Form.Steps = []string{"At Stripe, open Developers › Webhooks › Add destination, choose the events, and paste the URL.", "Reveal the signing secret of the endpoint, which begins with whsec_."}
	fresh := HookPage{FlowID: "flow_1", Flow: "Post refunds", Title: "New webhook", MayEdit: true, Now: viewtest.Noon, Form: sampleHookForm()}
	fresh.Form.Name, fresh.Form.Secret = "Webhook", SecretNew
	wrong := fresh
	wrong.Form.Errors = components.Errors{"name": "Enter a name of letters and digits.", "when": "This is not an expression.", "typed": "Enter the secret that the service shows.", "": "The webhook has 2 problems."}
	viewer := page
	viewer.MayEdit, viewer.URL, viewer.Secret, viewer.On = false, "", "", false
	viewer.Form.Scheme, viewer.Test = "none", HookTest{}
	viewer.Capture = Capture{FlowID: "flow_1", ID: "trg_3", Now: viewtest.Noon}
	return map[string]templ.Component{"hook": Hook(p, page), "hook-new": Hook(p, fresh), "hook-errors": Hook(p, wrong), "hook-viewer": Hook(p, viewer)}
}

func sampleHookForm() HookForm {
	return HookForm{
		Scheme: "stripe", Schemes: []components.Option{{Value: "github", Label: "GitHub"}, {Value: "stripe", Label: "Stripe"}, {Value: "none", Label: "No verification"}},
		Secret: "stripe-live", Credentials: []components.Option{{Value: "stripe-live", Label: "stripe-live"}}, When: `body.type == "refund.created"`, WhenExample: []string{`body.type == "refund.created"`}, Reply: "accepted",
		Inputs:  []InputField{{Name: "refund", Type: "text", Required: true, Source: "cel", Text: "body.data.object.id", Sources: HookSources}, {Name: "reason", Type: "text", Sources: HookSources}},
		Outputs: []components.Option{{Value: "", Label: "Default"}, {Value: "answer", Label: "answer"}}, Errors: components.Errors{},
	}
}

func sampleCapture() Capture {
	return Capture{FlowID: "flow_1", ID: "trg_3", Until: viewtest.Noon.Add(time.Hour), MayEdit: true, Now: viewtest.Noon, Requests: []RequestRow{
		{State: "started", Key: "evt_3QKa9f", Title: "refund.created", At: viewtest.Noon, RunID: "run_01m7z26njgm1r68xj6qyhfyvty", Repeats: 2},
		{State: "rejected", Key: "evt_3QK91b", Title: "refund.created", Detail: "The signature doesn’t match: checked 812 bytes with HMAC SHA-256, secret stripe-live.", At: viewtest.Noon.Add(-2 * time.Minute), Kept: true, Method: "POST", Size: 812,
			Headers: []Header{{"content-type", "application/json"}, {"user-agent", "Stripe/1.0"}}, Body: "{\n  \"id\": \"evt_3QK91b\",\n  \"type\": \"refund.created\"\n}"},
		{State: "rejected", Key: "evt_4", Detail: "The body is too large.", At: viewtest.Noon.Add(-time.Hour), Kept: true, Size: 2 << 20, Left: true},
		{State: "ignored", Key: "evt_5", At: viewtest.Noon.Add(-2 * time.Hour)},
	}}
}
