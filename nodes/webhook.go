package nodes

import (
	"context"
	"regexp"
	"strings"

	"sluice/flow"
	"sluice/outbound"
)

// The webhook kind sends the outputs of a run to another program as soon as
// they are known. The step itself sends nothing: its result contains a
// delivery, which is stored with the step, and package jobs signs, sends and
// retries it.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "webhook", Title: "Webhook", Group: groupAPI, Icon: "webhook", OutputsField: "outputs", Writes: true,
		Summary: "Sends outputs to a URL as soon as they are known.",
		Doc: "Posts a JSON object of output names and values to a URL. It needs no edges: it waits for the outputs chosen in it " +
			"and fires as soon as they are recorded, even if the run fails later. Outputs that were skipped are left out.\n\n" +
			"The step succeeds when the message is stored. It is then signed according to Standard Webhooks and sent " +
			"until the receiver answers with a 2xx status, ten times over about three days at most; a receiver that fails never fails the run.",
		Fields: []flow.Field{
			{Name: "url", Title: "URL", Type: flow.FieldText, Required: true, Template: true, Escape: flow.EscapeURL, Secrets: flow.SecretsInURL,
				Help: "Where to send the outputs. Type {{ to insert a value."},
			{Name: "outputs", Title: "Outputs", Type: flow.FieldList, Typed: true,
				Help: "Outputs to send. None checked: all."},
			{Name: "secret", Title: "Signing secret", Type: flow.FieldSecret, More: true, Signs: true,
				Help: "Empty: the secret of this webhook, shown under Webhooks."},
			{Name: "signature", Title: "Custom signature", Type: flow.FieldSecret, More: true,
				Help: "A fixed token, for receivers that expect one in a header."},
			{Name: "signature_header", Title: "Custom signature header", Type: flow.FieldText, Typed: true, More: true, Default: "X-Signature",
				Help: "The header that carries the custom signature."},
		},
		Outputs: []flow.Port{{Name: "outputs", Title: "Outputs", Type: flow.TypeJSON, Optional: true, Schema: map[string]any{"type": "object"}, Help: "The object that is sent."}},
		Example: flow.Example{
			Config:  map[string]any{"url": "https://example.com/hooks/tickets", "outputs": []any{"answer"}},
			Ports:   map[string]any{"answer": "It arrives on Tuesday."},
			Outputs: map[string]any{"outputs": map[string]any{"answer": "It arrives on Tuesday."}},
		},
		Sends: &flow.Destination{Field: "url", Hosts: flow.URLHost("url")},
		Check: checkWebhook,
		Run:   deliver,
	}
})

var (
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	// ownHeaders are set by the delivery itself or control the connection.
	ownHeaders = regexp.MustCompile(`(?i)^(webhook-.*|content-(type|length|encoding)|host|connection|transfer-encoding|user-agent)$`)
)

// checkWebhook checks a typed URL and the name of the signature header. It must not be one
// of the headers that every delivery has, since receivers trust those.
func checkWebhook(n *flow.Node) []flow.Problem {
	problems := checkURL(n, "url")
	header, typed := n.Config["signature_header"].(string)
	if typed && (!headerName.MatchString(header) || ownHeaders.MatchString(header)) {
		problems = append(problems, flow.Problem{Pointer: "/signature_header", Code: "invalid",
			Detail: "wanted a custom header such as X-Signature: letters, digits and -, and not one that the delivery sets itself"})
	}
	return problems
}

// deliver returns the outputs as a delivery, which the engine stores together with the step.
func deliver(ctx context.Context, in *flow.In) (flow.Out, error) {
	target, err := deliveryURL(in)
	if err != nil {
		return flow.Out{}, err
	}
	outputs := in.Collected
	if outputs == nil {
		outputs = &flow.Object{}
	}
	d := flow.NewDelivery{Node: in.Node, URL: target, Body: flow.EncodeJSON(outputs)}
	if d.Secret, err = secretValue(ctx, in, "secret"); err != nil {
		return flow.Out{}, err
	}
	if d.Signature, err = secretValue(ctx, in, "signature"); err != nil {
		return flow.Out{}, err
	}
	if d.Signature != nil {
		d.Header = in.Text("signature_header")
	}
	return flow.Out{Outputs: map[string]any{"outputs": outputs}, Deliveries: []flow.NewDelivery{d}}, nil
}

// deliveryURL returns the URL to store with the delivery. References to
// credentials stay in it and are resolved for each attempt. Only a typed URL
// may reference credentials.
func deliveryURL(in *flow.In) (string, error) {
	target := flow.WithoutReferences(strings.TrimSpace(in.Text("url")))
	if text, references := in.Config["url"].(flow.SecretText); references {
		target = text.StoredURL()
	}
	if _, err := outbound.ParseURL(flow.WithSampleSecrets(target)); err != nil {
		return "", requestError(err)
	}
	return target, nil
}

// secretValue returns a reference to a credential unchanged, and otherwise the text of
// a secret input or of an edge; nil if the field is empty. A delivery is stored
// encrypted.
func secretValue(ctx context.Context, in *flow.In, name string) (any, error) {
	v := in.Config[name]
	if _, isInput := flow.SecretInput(v); isInput {
		return in.Secret(ctx, v, "")
	}
	if flow.IsSecretRef(v) {
		return v, nil
	}
	if s := flow.Text(v); s != "" {
		return s, nil
	}
	return nil, nil
}
