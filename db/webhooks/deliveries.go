package webhooks

import (
	"context"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// ListDeliveries returns deliveries of a flow with their attempts, newest first,
// continuing below a flow.Delivery.Position.
func (s *Deliveries) ListDeliveries(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, position string, limit int) ([]flow.DeliveryRecord, error) {
	rows, err := s.DB.Reads.ListDeliveries(ctx, gen.ListDeliveriesParams{
		WorkspaceID: ws, FlowID: flowID, Before: dbconn.CursorOrEnd(position), MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return s.withAttempts(ctx, rows)
}

// ListDeliveriesOfRun returns the deliveries of a run with their attempts, the
// oldest first.
func (s *Deliveries) ListDeliveriesOfRun(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.DeliveryRecord, error) {
	rows, err := s.DB.Reads.ListDeliveriesOfRun(ctx, gen.ListDeliveriesOfRunParams{RunID: runID, WorkspaceID: ws})
	if err != nil {
		return nil, fmt.Errorf("list deliveries of %s: %w", runID, err)
	}
	return s.withAttempts(ctx, rows)
}

// withAttempts adds the attempts to rows.
func (s *Deliveries) withAttempts(ctx context.Context, rows []gen.Delivery) ([]flow.DeliveryRecord, error) {
	list := make([]flow.DeliveryRecord, len(rows))
	for i := range rows {
		attempts, err := s.DB.Reads.ListAttempts(ctx, rows[i].ID)
		if err != nil {
			return nil, fmt.Errorf("list attempts of %s: %w", rows[i].ID, err)
		}
		list[i] = flow.DeliveryRecord{Delivery: deliveryOf(&rows[i]), Attempts: dbconn.MapRows(attempts, attemptOf)}
	}
	return list, nil
}

// DeliveryFlow returns the ID of the flow that a delivery belongs to.
func (s *Deliveries) DeliveryFlow(ctx context.Context, ws flow.WorkspaceID, deliveryID string) (flow.FlowID, error) {
	d, err := s.DB.Reads.FindDelivery(ctx, gen.FindDeliveryParams{ID: deliveryID, WorkspaceID: ws})
	return d.FlowID, dbconn.NotFoundErr(err, "delivery")
}

// Redeliver starts a new series of attempts now, with the same ID. If a worker is
// making an attempt, that is the first of the series, because the result of a
// second concurrent attempt could not be recorded. A delivery whose content was
// erased with its run cannot be sent again.
func (s *Deliveries) Redeliver(ctx context.Context, ws flow.WorkspaceID, deliveryID string) (*flow.Delivery, error) {
	var d flow.Delivery
	err := s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		row, err := tx.Queries.RestartDelivery(tx.Ctx, gen.RestartDeliveryParams{ID: deliveryID, WorkspaceID: ws, Now: s.DB.NowMicros()})
		if err != nil {
			return dbconn.NotFoundErr(err, "delivery")
		}
		if row.Erased != "" {
			return flow.Errorf(flow.Code(row.Erased), "The content of this delivery has been erased.")
		}
		d = deliveryOf(&row)
		tx.Batch.Deliveries = true
		return tx.Queries.ResumeEndpoint(tx.Ctx, row.EndpointID) // a manual retry skips the pause of a failing endpoint
	})
	if err != nil {
		return nil, err
	}
	return &d, nil
}

// AddTest adds a test delivery, which belongs to no run and is due now.
func (s *Deliveries) AddTest(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, n *flow.NewDelivery) (*flow.Delivery, error) {
	row, err := s.DB.DeliveryRow(&flow.Run{WorkspaceID: ws, FlowID: flowID}, n)
	if err != nil {
		return nil, err
	}
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := tx.Queries.FindSigning(tx.Ctx, gen.FindSigningParams{ID: flowID, WorkspaceID: ws}); err != nil {
			return dbconn.NotFoundErr(err, "flow")
		}
		if err := tx.AddDelivery(row); err != nil {
			return err
		}
		id, err := tx.Endpoint(ws, flowID, row.Node, row.Url)
		if err != nil {
			return err
		}
		if err := tx.Queries.ResumeEndpoint(tx.Ctx, id); err != nil {
			return err
		}
		return tx.CheckQuota(ws, flow.Storage{Bytes: int64(len(row.Body))})
	})
	if err != nil {
		return nil, err
	}
	return &flow.Delivery{ID: row.ID, WorkspaceID: ws, FlowID: flowID, Node: row.Node, URL: row.Url, State: flow.DeliveryPending, CreatedAt: dbconn.TimeOf(row.CreatedAt)}, nil
}

// ReadDelivery returns a delivery with its attempts but without its secrets. Header
// is set if it has a custom signature.
func (s *Deliveries) ReadDelivery(ctx context.Context, ws flow.WorkspaceID, id string) (*flow.DeliveryRecord, error) {
	row, err := s.DB.Reads.FindDelivery(ctx, gen.FindDeliveryParams{ID: id, WorkspaceID: ws})
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "delivery")
	}
	list, err := s.withAttempts(ctx, []gen.Delivery{row})
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// deliveryOf decodes the row of a delivery, without the encrypted secret that may be in it.
func deliveryOf(r *gen.Delivery) flow.Delivery {
	return flow.Delivery{
		ID: r.ID, Position: r.Position, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, RunID: r.RunID, Node: r.Node, URL: r.Url,
		Body: []byte(r.Body), Header: r.Header, Signer: r.Signer, State: flow.DeliveryState(r.State), Attempt: r.Attempt,
		CreatedAt: dbconn.TimeOf(r.CreatedAt), NextAt: dbconn.TimeOf(r.NextAt), EndedAt: dbconn.TimeOf(r.EndedAt), EndpointID: r.EndpointID, Erased: flow.Code(r.Erased),
	}
}

// attemptOf decodes the row of an attempt, whose latency is stored in microseconds.
func attemptOf(r gen.DeliveryAttempt) flow.DeliveryAttempt {
	return flow.DeliveryAttempt{
		DeliveryID: r.DeliveryID, Number: r.Number, StartedAt: dbconn.TimeOf(r.StartedAt), Latency: core.DurationOf(r.Latency),
		Status: int(r.Status), Response: r.Response, Error: r.Error, Cause: flow.Cause(r.Cause), Signature: r.Signature,
	}
}

// Deliveries stores webhook deliveries: the queue of those that are due, their
// attempts, and lists of them.
type Deliveries struct{ DB *core.DB }
