package webhooks

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/fairness"
)

// Due deliveries wait in the queue of their endpoint until a slot is free.
// Slots are assigned here, in one transaction at a time over all instances, so
// the limits of fairness.DeliveryShares are exact. The cost of a transaction
// depends on the number of attempts in progress and of waiting endpoints, up to
// endpointWindow for each workspace, and not on the number of waiting deliveries.

const (
	// deliveryLock is held by the PostgreSQL transaction that assigns slots.
	deliveryLock = 0x536c7764
	// endpointWindow is how many endpoints of a workspace one transaction
	// considers.
	endpointWindow = 64
)

// DueDeliveries queues up to limit due deliveries at their endpoints and
// creates jobs for as many as there are free slots. It returns the number of
// jobs. next is when there may be more to do: when the earliest of the others is
// due, now while deliveries wait for slots, and zero without waiting deliveries. The
// writes need not be synced: a delivery whose job is lost in a crash is still
// queued.
func (s *Deliveries) DueDeliveries(ctx context.Context, now time.Time, limit int) (n int, next time.Time, err error) {
	due := gen.QueueDueParams{Now: dbconn.Micros(now), MaxRows: int32(limit)}
	for s.DB.QueueOrNil() != nil && ctx.Err() == nil {
		queued := int64(0)
		if next, err = s.nextDelivery(ctx, now); err != nil {
			return n, next, fmt.Errorf("find due deliveries: %w", err)
		}
		if next.IsZero() || next.After(now) {
			break
		}
		enqueued := 0
		err = s.DB.WriteRows(ctx, core.Relaxed, "deliveries", func(tx *core.Tx) error {
			if err := tx.Lock(deliveryLock); err != nil {
				return fmt.Errorf("lock deliveries: %w", err)
			}
			if queued, err = tx.Queries.QueueDue(tx.Ctx, due); err != nil {
				return err
			}
			enqueued, err = shareSlots(tx, now)
			return err
		})
		if n += enqueued; err != nil {
			return n, next, fmt.Errorf("assign slots to deliveries: %w", err)
		}
		if enqueued == 0 && queued < int64(limit) {
			break
		}
	}
	return n, next, nil
}

// nextDelivery returns when the earliest delivery is due, which is now if one
// waits for a slot.
func (s *Deliveries) nextDelivery(ctx context.Context, now time.Time) (time.Time, error) {
	_, err := s.DB.Reads.NextDeliveryWorkspace(ctx, "")
	if dbconn.IsNoRows(err) {
		next, err := dbconn.Earliest(s.DB.Reads.NextDelivery(ctx))
		if core.IsDamage(err) {
			return now, nil // the transaction looks for the row
		}
		return next, err
	}
	return now, err
}

// shareSlots creates jobs for deliveries while there are free slots.
func shareSlots(tx *core.Tx, now time.Time) (n int, err error) {
	loads, err := endpointsInFlight(tx)
	if err != nil {
		return 0, err
	}
	capacity, err := deliveryCapacity(tx)
	if err != nil {
		return 0, err
	}
	inFlight := make([]fairness.EndpointLoad, 0, len(loads))
	for _, e := range loads {
		inFlight = append(inFlight, e)
	}
	shares := fairness.NewDeliveryShares(now, capacity, inFlight)
	waiting, positions, err := listWaiting(tx, shares, loads)
	if err != nil {
		return 0, err
	}
	granted := shares.Share(waiting)
	for _, list := range waiting {
		for i := range list {
			e := &list[i]
			if granted[e.EndpointID] == 0 {
				continue
			}
			positions[e.WorkspaceID] = e.EndpointID
			enqueued, err := enqueueDeliveries(tx, e, granted[e.EndpointID])
			if n += enqueued; err != nil {
				return n, err
			}
		}
	}
	tx.Store.DeliveryCursors.Keep(positions)
	return n, nil
}

// endpointsInFlight returns the endpoints with attempts in progress, by ID.
func endpointsInFlight(tx *core.Tx) (map[string]fairness.EndpointLoad, error) {
	rows, err := tx.Queries.ListEndpointsInFlight(tx.Ctx)
	if err != nil {
		return nil, fmt.Errorf("count attempts in progress: %w", err)
	}
	loads := make(map[string]fairness.EndpointLoad, len(rows))
	for _, r := range rows {
		loads[r.EndpointID] = fairness.EndpointLoad{
			WorkspaceID: r.WorkspaceID, EndpointID: r.EndpointID, Host: r.Host, InFlight: int(r.Attempts),
			Failures: r.Failures, Proven: r.Proven != 0, Slow: r.Slow != 0, PausedUntil: dbconn.TimeOf(r.PausedUntil),
		}
	}
	return loads, nil
}

// deliveryCapacity returns the number of slots of all live instances.
func deliveryCapacity(tx *core.Tx) (int, error) {
	if !tx.Store.IsPostgres() {
		return fairness.DeliverySlots, nil
	}
	n, err := tx.Queries.CountWorkingInstances(tx.Ctx, tx.Store.SilentSince())
	return fairness.DeliverySlots * max(int(n), 1), err
}

// listWaiting reads the waiting endpoints of every workspace that can get a slot.
// positions holds the round-robin positions if none of them gets one.
func listWaiting(tx *core.Tx, shares *fairness.DeliveryShares, loads map[string]fairness.EndpointLoad) (waiting [][]fairness.EndpointLoad, positions map[flow.WorkspaceID]string, err error) {
	positions = map[flow.WorkspaceID]string{}
	for ws := flow.WorkspaceID(""); ; {
		ws, err = tx.Queries.NextDeliveryWorkspace(tx.Ctx, ws)
		if dbconn.IsNoRows(err) {
			return waiting, positions, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("find waiting deliveries: %w", err)
		}
		positions[ws] = tx.Store.DeliveryCursors.Of(ws)
		if shares.Full(ws) {
			continue
		}
		list, err := waitingEndpoints(tx, ws, positions[ws])
		if err != nil {
			return nil, nil, err
		}
		for i := range list {
			list[i].InFlight = loads[list[i].EndpointID].InFlight
		}
		if len(list) >= endpointWindow {
			positions[ws] = list[len(list)-1].EndpointID
		}
		waiting = append(waiting, list)
	}
}

// waitingEndpoints returns the next endpoints of a workspace that have waiting deliveries,
// starting after the given one and wrapping around.
func waitingEndpoints(tx *core.Tx, ws flow.WorkspaceID, after string) ([]fairness.EndpointLoad, error) {
	list, err := waitingAfter(tx, ws, after, dbconn.LastID)
	if err != nil || after == "" || len(list) >= endpointWindow {
		return list, err
	}
	first, err := waitingAfter(tx, ws, "", after+"0")
	return append(list, first...), err
}

// waitingQuery steps from endpoint to endpoint in the index deliveries_turn: $1 is
// the workspace, and endpoints come after $2 and before $3, $4 of them at most.
const waitingQuery = `
WITH RECURSIVE line(endpoint, n) AS (
	SELECT f.endpoint_id, 1 FROM (
		SELECT endpoint_id FROM deliveries
		WHERE place = 1 AND place > 0 AND workspace_id = $1 AND endpoint_id > $2 ORDER BY endpoint_id LIMIT 1) AS f
	UNION ALL
	SELECT (SELECT d.endpoint_id FROM deliveries d
		WHERE d.place = 1 AND d.place > 0 AND d.workspace_id = $1 AND d.endpoint_id > line.endpoint ORDER BY d.endpoint_id LIMIT 1), line.n + 1
	FROM line WHERE line.endpoint IS NOT NULL AND line.endpoint < $3 AND line.n < $4)
SELECT e.id, ` + hostColumn + `, e.failures, e.proven, e.slow, e.paused_until FROM line JOIN endpoints e ON e.id = line.endpoint WHERE line.endpoint < $3 ORDER BY line.n`

// waitingAfter returns the endpoints of a workspace between two IDs that have due deliveries,
// at most endpointWindow, with the data that the assignment of slots needs.
func waitingAfter(tx *core.Tx, ws flow.WorkspaceID, after, before string) ([]fairness.EndpointLoad, error) {
	rows, err := tx.DBTX.QueryContext(tx.Ctx, waitingQuery, ws, after, before, endpointWindow)
	list, err := dbconn.Collect(rows, err, func(rows *sql.Rows) (e fairness.EndpointLoad, err error) {
		var proven, slow, paused int64
		err = rows.Scan(&e.EndpointID, &e.Host, &e.Failures, &proven, &slow, &paused)
		e.WorkspaceID, e.Proven, e.Slow, e.PausedUntil = ws, proven != 0, slow != 0, dbconn.TimeOf(paused)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("read waiting endpoints: %w", err)
	}
	return list, nil
}

// enqueueDeliveries creates jobs for the first waiting deliveries of an endpoint.
func enqueueDeliveries(tx *core.Tx, e *fairness.EndpointLoad, n int) (int, error) {
	rows, err := tx.Queries.HandDeliveries(tx.Ctx, gen.HandDeliveriesParams{WorkspaceID: e.WorkspaceID, EndpointID: e.EndpointID, MaxRows: int32(n)})
	if err != nil {
		return 0, fmt.Errorf("assign slots to deliveries of %s: %w", e.EndpointID, err)
	}
	for _, r := range rows {
		tx.Enqueue(flow.Job{Kind: flow.JobDelivery, ID: r.ID, Attempt: r.Fence})
	}
	return len(rows), nil
}
