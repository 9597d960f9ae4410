package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
)

const (
	deliveryTimeout = 15 * time.Second
	keptResponse    = 4 << 10 // bytes of an answer that the log keeps
	longestPause    = 24 * time.Hour
)

// deliver makes one attempt at a delivery and records it.
func (r *Runner) deliver(ctx context.Context, j flow.Job) error {
	var d *flow.Delivery
	err := r.again(ctx, "reading delivery "+j.ID, func() (err error) {
		d, err = r.store.FindDelivery(ctx, j.ID, j.Attempt)
		return err
	})
	if err == nil {
		err = r.attempt(ctx, d, j)
	}
	if err != nil && ctx.Err() != nil { // shutting down: the attempt is made again, under the same ID
		return r.store.ReturnDelivery(context.WithoutCancel(ctx), j.ID, j.Attempt)
	}
	return err
}

func (r *Runner) attempt(ctx context.Context, d *flow.Delivery, j flow.Job) error {
	begun := r.now()
	a := flow.DeliveryAttempt{DeliveryID: d.ID, StartedAt: begun}
	after := r.send(ctx, d, &a)
	if a.Error != "" && ctx.Err() != nil {
		return ctx.Err()
	}
	a.Latency = r.now().Sub(begun)
	next := r.outcome(d, &a, after)
	next.Attempt = j.Attempt
	err := r.again(ctx, "recording delivery "+d.ID, func() error {
		return r.store.RecordAttempt(context.WithoutCancel(ctx), a, next)
	})
	if err != nil {
		return err
	}
	r.cfg.Observe(Observation{Delivery: next.State, Latency: a.Latency})
	if next.State != flow.DeliveryPending {
		r.unsaved.Store(true)
	}
	return nil
}

// send fills in what came of the attempt and returns the pause that the
// receiver asked for.
func (r *Runner) send(ctx context.Context, d *flow.Delivery, a *flow.DeliveryAttempt) (after time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	req, secrets, err := r.message(ctx, d, a.StartedAt)
	if err != nil {
		a.Error = sentence(err)
		return 0
	}
	resp, err := r.cfg.HTTP.Do(req)
	if err != nil {
		a.Error = sentence(err)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			a.Error = fmt.Sprintf("No answer within %s.", deliveryTimeout)
		}
		return 0
	}
	defer resp.Body.Close()
	kept, err := io.ReadAll(io.LimitReader(resp.Body, 2*keptResponse)) // a secret must not hide from the redaction behind the cut
	a.Status, a.Response = resp.StatusCode, shownResponse(kept, secrets)
	switch {
	case a.Status >= 300 && a.Status < 400:
		a.Error = "The receiver redirects. Webhooks follow no redirect; enter the final address."
	case a.Status == http.StatusGone:
		a.Error = "The receiver answered 410 Gone, so nothing more is sent."
	case a.Status < 200 || a.Status >= 300:
		a.Error = fmt.Sprintf("The receiver answered %d.", a.Status)
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		a.Error = fmt.Sprintf("The answer was not complete within %s.", deliveryTimeout)
	}
	return retryAfter(resp.Header.Get("Retry-After"), a.StartedAt)
}

// message builds the signed request, and tells what in it is secret.
func (r *Runner) message(ctx context.Context, d *flow.Delivery, at time.Time) (*http.Request, []string, error) {
	body := r.cfg.Links.Message(d, at)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(body))
	if err != nil {
		return nil, nil, flow.Errorf(flow.CodeHTTPFailed, "The address of the webhook is not a URL.")
	}
	secret, err := r.openSecret(ctx, d, d.Secret, "")
	if err == nil && secret == "" {
		secret, err = r.store.SigningSecret(ctx, d.WorkspaceID, d.FlowID)
	}
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Sluice-Webhooks/1")
	req.Header.Set("Webhook-Id", d.ID)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	req.Header.Set("Webhook-Signature", sign(secret, d.ID, at, body))
	custom, err := r.openSecret(ctx, d, d.Signature, req.URL.Hostname())
	if err == nil && custom != "" && d.Header != "" {
		req.Header.Set(d.Header, custom)
	}
	return req, []string{secret, custom}, err
}

// openSecret reads what a secret value refers to; a text is itself.
func (r *Runner) openSecret(ctx context.Context, d *flow.Delivery, value any, host string) (string, error) {
	if name, isRef := flow.SecretRef(value); isRef {
		return r.cfg.Secrets.Secret(ctx, d.WorkspaceID, name, host)
	}
	return flow.Text(value), nil
}

// outcome decides what follows an attempt.
func (r *Runner) outcome(d *flow.Delivery, a *flow.DeliveryAttempt, after time.Duration) flow.DeliveryOutcome {
	if a.Error == "" {
		return flow.DeliveryOutcome{State: flow.DeliveryDelivered}
	}
	pause, more := flow.DeliveryPause(d.Attempt, r.cfg.Jitter())
	if !more || a.Status == http.StatusGone {
		return flow.DeliveryOutcome{State: flow.DeliveryFailed}
	}
	return flow.DeliveryOutcome{State: flow.DeliveryPending, NextAt: r.now().Add(max(pause, min(after, longestPause)))}
}

// retryAfter reads seconds or an HTTP date; zero when there is none.
func retryAfter(header string, now time.Time) time.Duration {
	if s, err := strconv.Atoi(header); err == nil && s > 0 {
		return time.Duration(min(s, int(longestPause/time.Second))) * time.Second
	}
	if t, err := http.ParseTime(header); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}

// sentence is an error as the delivery log shows it. Errors that were not made
// for people may hold addresses of the network inside, so they stay private.
func sentence(err error) string {
	var told interface{ Sentence() string }
	if errors.As(err, &told) {
		return told.Sentence()
	}
	return "The request could not be sent."
}

// shownResponse is the beginning of an answer as the log keeps it, without the
// secrets that the receiver may have sent back.
func shownResponse(b []byte, secrets []string) string {
	s := flow.NewRedactor(secrets...).Text(strings.ToValidUTF8(string(b), "�"))
	s = strings.ReplaceAll(s, "\x00", "�") // PostgreSQL keeps no NUL in a text
	if len(s) > keptResponse {
		s = strings.ToValidUTF8(s[:keptResponse], "")
	}
	return s
}
