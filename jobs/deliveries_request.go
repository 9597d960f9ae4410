package jobs

import (
	"bytes"
	"context"
	"net/http"
	"slices"

	"sluice/flow"
	"sluice/outbound"
)

// newDeliveryRequest builds the signed request of an attempt and sets the
// attempt's signature. It also returns the secrets in the request, which must be
// redacted from whatever the log shows.
func (r deliverer) newDeliveryRequest(ctx context.Context, d *flow.Delivery, a *flow.DeliveryAttempt) (*http.Request, []string, error) {
	body := r.runner.approvals.message(d, r.runner.cfg.Links.Message(d, a.StartedAt))
	target, inURL, err := r.resolveURL(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, nil, flow.Errorf(flow.CodeHTTPFailed, "The webhook's URL is not valid.")
	}
	secrets, err := r.signingSecrets(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	custom, err := r.openSecret(ctx, d, d.Signature, flow.HostPort(req.URL))
	if err != nil {
		return nil, nil, err
	}
	a.Signature = signAll(secrets, d.ID, a.StartedAt, body)
	for _, h := range a.Headers() {
		req.Header.Set(h.Name, h.Value)
	}
	if header := r.runner.cfg.Tracer.DeliveryTraceparent(d, a.StartedAt); header != "" {
		req.Header.Set("Traceparent", header)
	}
	if custom != "" && d.Header != "" {
		req.Header.Set(d.Header, custom)
	}
	return req, slices.Concat(inURL, secrets, []string{custom}), nil
}

// resolveURL returns the URL of a delivery with the credentials filled in that its
// node references, and their secrets. A credential is released only for the URL's
// host. The URL of a run's webhook comes from the caller: it is data, in which
// nothing is a reference.
func (r deliverer) resolveURL(ctx context.Context, d *flow.Delivery) (target string, secrets []string, err error) {
	text := flow.ParseSecretText(d.URL)
	if text == nil || d.Node == "" {
		u, err := outbound.ParseURL(d.URL)
		if err != nil {
			return "", nil, err
		}
		return u.String(), nil, nil
	}
	u, err := text.FillURL(outbound.ParseURL, func(credential, host string) (string, error) {
		secret, err := r.runner.cfg.Secrets.Secret(ctx, d.WorkspaceID, credential, host)
		secrets = append(secrets, secret)
		return secret, err
	})
	if err != nil {
		return "", nil, err
	}
	return u.String(), secrets, nil
}

// signingSecrets returns the secrets that sign a delivery, the current one first;
// a rotated secret also signs until its grace period ends. They are those that the
// node or the run names, or else the generated ones.
func (r deliverer) signingSecrets(ctx context.Context, d *flow.Delivery) ([]string, error) {
	var list []flow.SigningSecret
	var err error
	if name, isRef := flow.SecretRef(d.Secret); isRef {
		list, err = r.runner.cfg.Secrets.SigningSecrets(ctx, d.WorkspaceID, name)
	} else {
		list = []flow.SigningSecret{{Secret: flow.Text(d.Secret)}}
	}
	if err == nil && (len(list) == 0 || list[0].Secret == "") {
		list, err = r.runner.store.DeliverySecrets(ctx, d)
	}
	secrets := make([]string, len(list))
	for i := range list {
		secrets[i] = list[i].Secret
	}
	return secrets, err
}

// openSecret returns the secret that a value references; any other value is used
// as text.
func (r deliverer) openSecret(ctx context.Context, d *flow.Delivery, value any, host string) (string, error) {
	if name, isRef := flow.SecretRef(value); isRef {
		return r.runner.cfg.Secrets.Secret(ctx, d.WorkspaceID, name, host)
	}
	return flow.Text(value), nil
}
