package webhooks

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/lists"
	"sluice/flow"
)

// redeliverBatch is the number of deliveries that are restarted in one transaction,
// small enough not to delay other transactions.
const redeliverBatch = 500

// CountFailed counts the failed deliveries that RedeliverFailed would restart, up to
// limit. Test deliveries are excluded.
func (s *Deliveries) CountFailed(ctx context.Context, c flow.FailedQuery, limit int) (n int, err error) {
	q := &lists.Query{}
	q.Add("SELECT count(*) FROM (")
	FailedQuery(q, &c, limit)
	q.Add(") AS failed")
	if err := core.ReaderOf(s.DB).QueryRowContext(ctx, q.Text.String(), q.Args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count failed deliveries: %w", err)
	}
	return n, nil
}

// RedeliverFailed starts a new series of attempts for up to limit failed deliveries,
// in batches, and returns their number. It skips deliveries that were restarted in
// the meantime.
func (s *Deliveries) RedeliverFailed(ctx context.Context, c flow.FailedQuery, limit int) (n int, err error) {
	for n < limit {
		size := min(redeliverBatch, limit-n)
		q := &lists.Query{}
		FailedQuery(q, &c, size)
		ids, err := lists.Collect(ctx, s.DB, q, dbconn.ScanText)
		if err != nil || len(ids) == 0 {
			return n, err
		}
		restarted, err := s.restartFailed(ctx, &c, ids)
		n += restarted
		if err != nil || len(ids) < size || restarted == 0 {
			return n, err
		}
	}
	return n, nil
}

// restartFailed makes deliveries due. They are sent when there are free slots.
func (s *Deliveries) restartFailed(ctx context.Context, c *flow.FailedQuery, ids []string) (n int, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n = 0
		for _, id := range ids {
			rows, err := tx.Queries.RestartFailed(tx.Ctx, gen.RestartFailedParams{ID: id, AskedAt: dbconn.Micros(c.Asked), Now: s.DB.NowMicros()})
			if err != nil {
				return fmt.Errorf("restart %s: %w", id, err)
			}
			n += int(rows)
		}
		return nil
	})
	return n, err
}

// FailedQuery finds up to n failed deliveries that match, by the index
// deliveries_endpoint.
func FailedQuery(q *lists.Query, c *flow.FailedQuery, n int) {
	k := deliveryFilter{ws: c.WorkspaceID, flow: c.FlowID, endpoint: c.EndpointID, Span: lists.SpanOf(flow.PrefixDelivery, false)}
	k.Between(c.Since, time.Time{})
	q.Add("SELECT d.id FROM endpoints e CROSS JOIN deliveries d WHERE ", k.endpoints(q), " AND d.endpoint_id = e.id AND d.state = ", q.Arg(string(flow.DeliveryFailed)),
		" AND ", k.span(q, "d."), " AND d.erased = '' AND d.run_id <> '' AND d.ended_at <= ", q.Arg(dbconn.Micros(c.Asked)), " LIMIT ", q.Arg(n))
}
