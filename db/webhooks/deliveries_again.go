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

// againBatch is how many deliveries are restarted in one transaction: few
// enough that others do not feel it.
const againBatch = 500

// CountFailed counts the failed deliveries that would be sent again, up to most.
// Tests are not among them.
func (s Deliveries) CountFailed(ctx context.Context, c flow.FailedChoice, most int) (n int, err error) {
	q := &lists.Query{}
	q.Add("SELECT count(*) FROM (")
	FailedQuery(q, &c, most)
	q.Add(") AS failed")
	if err := core.ReaderOf(s.DB).QueryRowContext(ctx, q.Text.String(), q.Args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count failed deliveries: %w", err)
	}
	return n, nil
}

// RedeliverFailed starts a new series of attempts for up to most failed
// deliveries, batch by batch, and tells for how many. Those that were restarted
// meanwhile are left alone.
func (s Deliveries) RedeliverFailed(ctx context.Context, c flow.FailedChoice, most int) (n int, err error) {
	for n < most {
		size := min(againBatch, most-n)
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

// restartFailed makes deliveries due; the queue takes them as it has room.
func (s Deliveries) restartFailed(ctx context.Context, c *flow.FailedChoice, ids []string) (n int, err error) {
	err = s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n = 0
		for _, id := range ids {
			rows, err := tx.RestartFailed(tx.Ctx, gen.RestartFailedParams{ID: id, AskedAt: dbconn.Micros(c.Asked), Now: s.NowMicros()})
			if err != nil {
				return fmt.Errorf("restart %s: %w", id, err)
			}
			n += int(rows)
		}
		return nil
	})
	return n, err
}

// FailedQuery finds up to n of the chosen deliveries by the index
// deliveries_endpoint.
func FailedQuery(q *lists.Query, c *flow.FailedChoice, n int) {
	k := sought{ws: c.WorkspaceID, flow: c.FlowID, endpoint: c.EndpointID, Span: lists.SpanOf(flow.PrefixDelivery, false)}
	k.Between(c.Since, time.Time{})
	q.Add("SELECT d.id FROM endpoints e CROSS JOIN deliveries d WHERE ", k.which(q), " AND d.endpoint_id = e.id AND d.state = ", q.Arg(string(flow.DeliveryFailed)),
		" AND ", k.span(q, "d."), " AND d.erased = '' AND d.run_id <> '' AND d.ended_at <= ", q.Arg(dbconn.Micros(c.Asked)), " LIMIT ", q.Arg(n))
}
