package webhooks

import (
	"context"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// A delivery is fenced like a run: each job has an attempt number, and only the job
// with the current number may record its result.

// FindDelivery returns a delivery with its secrets to a worker, or ErrFenced if the
// attempt of the job is no longer current. Delivery.Attempt includes the attempt
// that is about to be made.
func (s *Deliveries) FindDelivery(ctx context.Context, id string, attempt int64) (*flow.Delivery, error) {
	found, err := s.DB.Reads.FindHeldDelivery(ctx, gen.FindHeldDeliveryParams{ID: id, Fence: attempt})
	if dbconn.IsNoRows(err) {
		return nil, dbconn.ErrFenced
	}
	if err != nil {
		return nil, fmt.Errorf("find delivery %s: %w", id, dbconn.Classify(err))
	}
	d, row := deliveryOf(&found.Delivery), &found.Delivery
	d.Attempt++
	d.Traceparent = found.Traceparent
	if d.EndpointFailures, err = s.DB.Reads.EndpointFailures(ctx, row.EndpointID); err != nil && !dbconn.IsNoRows(err) {
		return nil, fmt.Errorf("find the endpoint of %s: %w", id, err)
	}
	if d.Secret, err = s.DB.UnsealValue(row.Secret, row.WorkspaceID, id, "secret"); err != nil {
		return nil, flow.Permanent(fmt.Errorf("secret of delivery %s: %w", id, err))
	}
	if d.Signature, err = s.DB.UnsealValue(row.Signature, row.WorkspaceID, id, "signature"); err != nil {
		return nil, flow.Permanent(fmt.Errorf("signature of delivery %s: %w", id, err))
	}
	return &d, nil
}

// RecordAttempt records an attempt and the next state of the delivery. It assigns
// the number of the attempt.
func (s *Deliveries) RecordAttempt(ctx context.Context, a flow.DeliveryAttempt, next flow.DeliveryOutcome) error {
	row := gen.FinishAttemptParams{ID: a.DeliveryID, Fence: next.Attempt, State: string(next.State), Place: core.PlaceEnded}
	if next.State == flow.DeliveryPending {
		row.Place, row.DueAt, row.NextAt = core.PlaceWaiting, dbconn.Micros(next.NextAt), dbconn.Micros(next.NextAt)
	} else {
		row.EndedAt = s.DB.NowMicros()
	}
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		done, err := tx.Queries.FinishAttempt(tx.Ctx, row)
		if dbconn.IsNoRows(err) {
			return dbconn.ErrFenced
		}
		if err != nil {
			return fmt.Errorf("finish attempt of %s: %w", a.DeliveryID, err)
		}
		err = tx.Queries.InsertAttempt(tx.Ctx, gen.InsertAttemptParams{
			DeliveryID: a.DeliveryID, Number: done.Tries, WorkspaceID: done.WorkspaceID, StartedAt: dbconn.Micros(a.StartedAt),
			Latency: a.Latency.Microseconds(), Status: int64(a.Status), Error: dbconn.ValidText(a.Error), Response: dbconn.ValidText(a.Response),
			Cause: string(a.Cause), Signature: a.Signature,
		})
		if err != nil {
			return fmt.Errorf("insert attempt of %s: %w", a.DeliveryID, err)
		}
		tx.Batch.Deliveries = true // a slot is free
		return recordResponse(tx, done.EndpointID, &a, next.PausedUntil)
	})
}

// ReturnDelivery returns a delivery that its worker could not process. It is due
// immediately.
func (s *Deliveries) ReturnDelivery(ctx context.Context, id string, attempt int64) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		tx.Batch.Deliveries = true
		return tx.Queries.ReturnDelivery(tx.Ctx, gen.ReturnDeliveryParams{ID: id, Fence: attempt, Now: s.DB.NowMicros()})
	})
}
