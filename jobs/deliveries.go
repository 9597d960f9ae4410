package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"sluice/flow"
	"sluice/outbound"
)

const (
	deliveryTimeout   = 15 * time.Second
	maxLoggedResponse = 4 << 10 // bytes of an answer that the log keeps
	maxRetryAfter     = 24 * time.Hour
)

// sendDue creates jobs for deliveries as slots become free. It is called
// immediately after a local commit that queued a delivery or freed a slot, and
// up to four times a second for retries and for changes by other instances.
func (r *Runner) queueDueDeliveries(ctx context.Context) (next time.Time, err error) {
	_, next, err = r.store.DueDeliveries(ctx, r.now(), dueBatch)
	return next, err
}

// deliver makes one attempt at a delivery and records it.
func (r *Runner) deliver(ctx context.Context, j flow.Job) error {
	defer r.trackDelivery(j.ID)()
	var d *flow.Delivery
	err := r.retry(ctx, "reading delivery "+j.ID, func() (err error) {
		d, err = r.store.FindDelivery(ctx, j.ID, j.Attempt)
		return err
	})
	if err == nil {
		err = r.checkHeld(ctx, "confirming delivery "+j.ID, func() error {
			_, err := r.store.FindDelivery(ctx, j.ID, j.Attempt)
			return err
		})
	}
	if err == nil {
		err = r.attemptDelivery(ctx, d, j)
	}
	if flow.IsPermanent(err) {
		return errors.Join(err, r.failDelivery(ctx, j))
	}
	if err != nil && !errors.Is(err, flow.ErrFenced) && (ctx.Err() != nil || r.Draining()) { // the attempt is repeated under the same ID
		return r.store.ReturnDelivery(context.WithoutCancel(ctx), j.ID, j.Attempt)
	}
	return err
}

// failDelivery fails a delivery that cannot be read or recorded, without
// reading it.
func (r *Runner) failDelivery(ctx context.Context, j flow.Job) error {
	a := flow.DeliveryAttempt{DeliveryID: j.ID, StartedAt: r.now(), Cause: flow.CauseOwn,
		Error: "The stored data of this delivery cannot be read, so it failed. The log has the details."}
	return r.store.RecordAttempt(ctx, a, flow.DeliveryOutcome{Attempt: j.Attempt, State: flow.DeliveryFailed})
}

func (r *Runner) attemptDelivery(ctx context.Context, d *flow.Delivery, j flow.Job) error {
	begun, since := r.now(), time.Now()
	a := flow.DeliveryAttempt{DeliveryID: d.ID, StartedAt: begun}
	after := r.post(ctx, d, &a)
	if a.Error != "" && ctx.Err() != nil {
		return ctx.Err()
	}
	a.Latency = time.Since(since).Truncate(time.Microsecond) // monotonic clock, so never negative
	next := r.nextOutcome(d, &a, after)
	next.Attempt = j.Attempt
	err := r.retry(ctx, "recording delivery "+d.ID, func() error {
		return r.store.RecordAttempt(context.WithoutCancel(ctx), a, next)
	})
	if err != nil {
		return err
	}
	r.cfg.Observe(Observation{Delivery: next.State, Latency: a.Latency})
	if next.State != flow.DeliveryPending {
		r.hasUnsaved.Store(true)
	}
	return nil
}

// send fills in what came of the attempt and returns the pause that the
// receiver asked for.
func (r *Runner) post(ctx context.Context, d *flow.Delivery, a *flow.DeliveryAttempt) (after time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	req, secrets, err := r.newDeliveryRequest(flow.OutlastOutages(ctx), d, a)
	if err != nil {
		a.Error, a.Cause = publicError(err), flow.CauseOwn
		return 0
	}
	resp, err := r.cfg.HTTP.Do(req)
	if err != nil {
		a.Error, a.Cause = publicError(err), connectionCause(err)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			a.Error, a.Cause = fmt.Sprintf("No answer within %.0f s.", deliveryTimeout.Seconds()), flow.CauseTimeout
		}
		return 0
	}
	defer resp.Body.Close()
	kept, err := io.ReadAll(io.LimitReader(resp.Body, 2*maxLoggedResponse)) // a secret must not hide from the redaction behind the cut
	a.Status, a.Response = resp.StatusCode, loggedResponse(kept, secrets)
	a.Error, a.Cause = checkResponse(resp)
	a.Error = flow.NewRedactor(secrets...).Text(a.Error) // a redirect may repeat the URL
	if a.Error == "" && err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		a.Error, a.Cause = fmt.Sprintf("The answer was not complete within %.0f s.", deliveryTimeout.Seconds()), flow.CauseTimeout
	}
	return outbound.RetryAfter(resp.Header, a.StartedAt)
}

// message builds the signed request, and tells what in it is secret. The
// attempt takes its signature.
func (r *Runner) newDeliveryRequest(ctx context.Context, d *flow.Delivery, a *flow.DeliveryAttempt) (*http.Request, []string, error) {
	body := r.cfg.Links.Message(d, a.StartedAt)
	target, inURL, err := r.resolveURL(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, nil, flow.Errorf(flow.CodeHTTPFailed, "The address of the webhook is not a URL.")
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
	if custom != "" && d.Header != "" {
		req.Header.Set(d.Header, custom)
	}
	return req, slices.Concat(inURL, secrets, []string{custom}), nil
}

// target returns the URL of a delivery with the credentials filled in that its
// node names there, and their secrets. They are opened for the host of the URL.
// Other URLs are data, which names no credential.
func (r *Runner) resolveURL(ctx context.Context, d *flow.Delivery) (target string, secrets []string, err error) {
	text := flow.ParseSecretText(d.URL)
	if text == nil || d.Node == "" {
		return d.URL, nil, nil
	}
	u, err := text.FillURL(outbound.ParseURL, func(credential, host string) (string, error) {
		secret, err := r.cfg.Secrets.Secret(ctx, d.WorkspaceID, credential, host)
		secrets = append(secrets, secret)
		return secret, err
	})
	if err != nil {
		return "", nil, err
	}
	return u.String(), secrets, nil
}

// signingSecrets are what a delivery is signed with, the present one first: that
// which its node or its run names, or else that of its signer.
func (r *Runner) signingSecrets(ctx context.Context, d *flow.Delivery) ([]string, error) {
	name, isRef := flow.SecretRef(d.Secret)
	text := ""
	if !isRef {
		text = flow.Text(d.Secret)
	}
	var list []flow.SigningSecret
	var err error
	switch {
	case isRef:
		list, err = r.cfg.Secrets.SigningSecrets(ctx, d.WorkspaceID, name)
	case text != "":
		list = []flow.SigningSecret{{Secret: text}}
	}
	if err == nil && (len(list) == 0 || list[0].Secret == "") {
		list, err = r.store.DeliverySecrets(ctx, d)
	}
	secrets := make([]string, len(list))
	for i := range list {
		secrets[i] = list[i].Secret
	}
	return secrets, err
}

// openSecret reads what a secret value refers to; a text is itself.
func (r *Runner) openSecret(ctx context.Context, d *flow.Delivery, value any, host string) (string, error) {
	if name, isRef := flow.SecretRef(value); isRef {
		return r.cfg.Secrets.Secret(ctx, d.WorkspaceID, name, host)
	}
	return flow.Text(value), nil
}

// outcome decides what follows an attempt. A test is not tried again: whoever
// sent it is watching.
func (r *Runner) nextOutcome(d *flow.Delivery, a *flow.DeliveryAttempt, after time.Duration) flow.DeliveryOutcome {
	if a.Error == "" {
		return flow.DeliveryOutcome{State: flow.DeliveryDelivered}
	}
	next := flow.DeliveryOutcome{State: flow.DeliveryFailed, PausedUntil: r.now().Add(r.cfg.EndpointPause(d.EndpointFailures + 1))}
	if pause, more := r.cfg.Pause(d.Attempt, r.cfg.Jitter()); more && a.Cause != flow.CauseGone && !d.Test() {
		next.State, next.NextAt = flow.DeliveryPending, r.now().Add(max(pause, min(after, maxRetryAfter)))
	}
	return next
}
