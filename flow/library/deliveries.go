package library

import (
	"context"
	"fmt"

	"sluice/flow"
)

// DeliveryStore stores the deliveries of webhooks.
type DeliveryStore interface {
	Recorder
	Redeliver(ctx context.Context, ws flow.WorkspaceID, deliveryID string) (*flow.Delivery, error)
	RedeliverFailed(ctx context.Context, q flow.FailedQuery, limit int) (n int, err error)
	AddTest(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, n *flow.NewDelivery) (*flow.Delivery, error)
}

// Deliveries resends and tests deliveries of webhooks.
type Deliveries struct{ Store DeliveryStore }

// Resend starts a new series of attempts. The ID stays the same, so that receivers can deduplicate.
func (s *Deliveries) Resend(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, id string) (d *flow.Delivery, err error) {
	e := entry(ws, "delivery.redeliver", id, "")
	err = record(ctx, s.Store, by, e, func(ctx context.Context) error {
		if d, err = s.Store.Redeliver(ctx, ws, id); err == nil {
			e.Detail = flow.ShownURL(d.URL)
		}
		return err
	})
	return d, err
}

// ResendFailed resends at most limit failed deliveries. which describes the choice for the audit log,
// such as " to api.example.com".
func (s *Deliveries) ResendFailed(ctx context.Context, by flow.Actor, q flow.FailedQuery, limit int, which string) (n int, err error) {
	e := entry(q.WorkspaceID, "delivery.redeliver_failed", string(q.FlowID), "")
	err = record(ctx, s.Store, by, e, func(ctx context.Context) error {
		n, err = s.Store.RedeliverFailed(ctx, q, limit)
		e.Detail = fmt.Sprintf("%d messages%s", n, which)
		return err
	})
	return n, err
}

// SendTest sends a message that is marked as a test.
func (s *Deliveries) SendTest(ctx context.Context, by flow.Actor, f *flow.Flow, n *flow.NewDelivery) (d *flow.Delivery, err error) {
	err = record(ctx, s.Store, by, entry(f.WorkspaceID, "delivery.test", string(f.ID), flow.ShownURL(n.URL)), func(ctx context.Context) error {
		d, err = s.Store.AddTest(ctx, f.WorkspaceID, f.ID, n)
		return err
	})
	return d, err
}
