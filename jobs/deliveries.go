package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sluice/flow"
	"sluice/flow/caller"
	"sluice/flow/redaction"
	"sluice/outbound"
)

const (
	deliveryTimeout   = 15 * time.Second // of one attempt, unless Config.DeliveryTimeout says otherwise
	maxLoggedResponse = 4 << 10          // bytes of a response that the log keeps
	maxRetryAfter     = 24 * time.Hour   // a longer Retry-After is shortened to this
)

// queueDueDeliveries creates jobs for due deliveries as slots become free. It is
// called immediately after a local commit that queued a delivery or freed a slot,
// and by the poller for retries and for changes by other instances.
func (r *Runner) queueDueDeliveries(ctx context.Context) (next time.Time, err error) {
	_, next, err = r.store.DueDeliveries(ctx, r.now(), dueBatch)
	return next, err
}

// deliverer makes attempts at deliveries for a Runner.
type deliverer struct{ runner *Runner }

// deliver makes one attempt at a delivery and records it. Every attempt sends the
// same webhook-id, so a receiver can drop the duplicate if the process crashes
// between sending and recording.
func (r deliverer) deliver(ctx context.Context, j flow.Job) error {
	defer r.runner.trackDelivery(j.ID)()
	var d *flow.Delivery
	find := func() (err error) {
		d, err = r.runner.store.FindDelivery(ctx, j.ID, j.Attempt)
		return err
	}
	err := r.runner.retry(ctx, "reading delivery "+j.ID, find)
	if err == nil {
		err = r.runner.checkHeld(ctx, "checking who holds delivery "+j.ID, find)
	}
	if err == nil {
		err = r.attemptDelivery(ctx, d, j)
	}
	if flow.IsPermanent(err) {
		return errors.Join(err, r.failDelivery(ctx, j))
	}
	if err != nil && !errors.Is(err, flow.ErrFenced) && (ctx.Err() != nil || r.runner.Draining()) { // repeated later under the same ID
		return r.runner.store.ReturnDelivery(context.WithoutCancel(ctx), j.ID, j.Attempt)
	}
	return err
}

// failDelivery fails a delivery whose stored data cannot be read, or whose attempt
// cannot be recorded. It does not read the delivery.
func (r deliverer) failDelivery(ctx context.Context, j flow.Job) error {
	a := flow.DeliveryAttempt{DeliveryID: j.ID, StartedAt: r.runner.now(), Cause: flow.CauseOwn,
		Error: "The stored data of this delivery cannot be read, so it failed. The log has the details."}
	return r.runner.store.RecordAttempt(ctx, a, flow.DeliveryOutcome{Attempt: j.Attempt, State: flow.DeliveryFailed})
}

// attemptDelivery sends a delivery and records the result. An attempt that the
// shutdown interrupted is not recorded.
func (r deliverer) attemptDelivery(ctx context.Context, d *flow.Delivery, j flow.Job) error {
	a := flow.DeliveryAttempt{DeliveryID: d.ID, StartedAt: r.runner.now()}
	start := time.Now()
	retryAfter := r.sendAttempt(ctx, d, &a)
	if a.Error != "" && ctx.Err() != nil {
		return ctx.Err()
	}
	a.Latency = time.Since(start).Truncate(time.Microsecond) // by the monotonic clock, so never negative
	outcome := r.nextOutcome(d, &a, retryAfter)
	outcome.Attempt = j.Attempt
	err := r.runner.retry(ctx, "recording delivery "+d.ID, func() error {
		return r.runner.store.RecordAttempt(context.WithoutCancel(ctx), a, outcome)
	})
	if err != nil {
		return err
	}
	r.runner.cfg.Observe(Observation{Delivery: outcome.State, Latency: a.Latency})
	r.runner.cfg.Tracer.DeliveryAttempted(d, a)
	if outcome.State != flow.DeliveryPending {
		r.runner.hasUnsaved.Store(true) // a run with save: false is erased after its last delivery
	}
	return nil
}

// sendAttempt sends the request of an attempt and sets the attempt's result. It returns
// the pause that the receiver requested with Retry-After, or 0.
func (r deliverer) sendAttempt(ctx context.Context, d *flow.Delivery, a *flow.DeliveryAttempt) (retryAfter time.Duration) {
	limit := r.runner.cfg.DeliveryTimeout
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	timedOut := func() bool { return errors.Is(ctx.Err(), context.DeadlineExceeded) }
	if d.RunID != "" {
		ctx = caller.Sending(ctx, r.runner.callerOf(d.WorkspaceID, d.RunID, nil))
	}
	req, secrets, err := r.newDeliveryRequest(flow.OutlastOutages(ctx), d, a)
	if err != nil {
		a.Error, a.Cause = publicError(err), flow.CauseOwn
		return 0
	}
	resp, err := r.runner.cfg.HTTP.Do(req)
	if err != nil {
		a.Error, a.Cause = publicError(err), connectionCause(err)
		if timedOut() {
			a.Error, a.Cause = fmt.Sprintf("No answer within %.0f s.", limit.Seconds()), flow.CauseTimeout
		}
		return 0
	}
	defer resp.Body.Close()
	// Read twice as much as the log keeps, so that a secret at the cut is redacted whole.
	body, err := io.ReadAll(io.LimitReader(resp.Body, 2*maxLoggedResponse))
	if more, unread := r.runner.secrets.ofDelivery(flow.OutlastOutages(ctx), d, body); unread != nil {
		body = nil // it cannot be redacted, so it is not logged
	} else {
		secrets = append(secrets, more...)
	}
	a.Status, a.Response = resp.StatusCode, loggedResponse(body, secrets)
	a.Error, a.Cause = checkResponse(resp)
	a.Error = redaction.New(secrets...).Text(a.Error) // a redirect may repeat the URL
	if a.Error == "" && err != nil && timedOut() {
		a.Error, a.Cause = fmt.Sprintf("The answer was not complete within %.0f s.", limit.Seconds()), flow.CauseTimeout
	}
	return outbound.RetryAfter(resp.Header, a.StartedAt)
}

// nextOutcome decides what follows an attempt: success, another attempt after a
// back-off, or failure. A test is not retried, because the user who sent it is
// watching.
func (r deliverer) nextOutcome(d *flow.Delivery, a *flow.DeliveryAttempt, retryAfter time.Duration) flow.DeliveryOutcome {
	if a.Error == "" {
		return flow.DeliveryOutcome{State: flow.DeliveryDelivered}
	}
	next := flow.DeliveryOutcome{State: flow.DeliveryFailed, PausedUntil: r.runner.now().Add(r.runner.cfg.EndpointBackoff(d.EndpointFailures + 1))}
	if pause, more := r.runner.cfg.Backoff(d.Attempt, r.runner.cfg.Jitter()); more && a.Cause != flow.CauseGone && !d.Test() {
		next.State, next.NextAt = flow.DeliveryPending, r.runner.now().Add(max(pause, min(retryAfter, maxRetryAfter)))
	}
	return next
}
