package webhooks

import (
	"context"
	"database/sql"
	"slices"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/lists"
	"sluice/flow"
	"sluice/flow/sorting"
)

// ListDeliveryRows returns a page of the deliveries that match, newest first. If a
// page of newer deliveries would not be full, it returns the first page instead.
func (s *Deliveries) ListDeliveryRows(ctx context.Context, c flow.DeliveryQuery) (flow.DeliveryPage, error) {
	read := func(ctx context.Context) (flow.DeliveryPage, error) {
		return core.ReadRows(ctx, s.DB, "deliveries", func(ctx context.Context) (flow.DeliveryPage, error) { return s.listDeliveryRows(ctx, c) })
	}
	if c.URL != "" {
		return read(ctx)
	}
	return core.FromReplica(ctx, s.DB, read)
}

// listDeliveryRows is ListDeliveryRows, which fails if a row cannot be read before its position
// is known.
func (s *Deliveries) listDeliveryRows(ctx context.Context, c flow.DeliveryQuery) (flow.DeliveryPage, error) {
	k := NewDeliveryFilter(&c)
	search := lists.Search{
		Span: &k.Span, Match: s.matchURL(&k, c.URL),
		Next: func(ctx context.Context, n int) ([]string, error) { return s.filterDeliveries(ctx, &k, n) },
	}
	ids, err := search.First(ctx, c.Limit+1)
	if err != nil {
		return flow.DeliveryPage{}, err
	}
	more := len(ids) > c.Limit
	if c.After != "" && !more && search.Reached == "" {
		c.After = ""
		return s.listDeliveryRows(ctx, c)
	}
	p := flow.DeliveryPage{Looked: search.Looked, More: search.Reached != ""}
	if p.Rows, err = s.deliveryRows(ctx, ids[:min(len(ids), c.Limit)]); err != nil {
		return p, err
	}
	at := lists.Cursors{Before: c.Before, After: c.After, More: more, Reached: search.Reached}
	if n := len(p.Rows); n > 0 {
		at.Newest, at.Oldest = p.Rows[0].Position, p.Rows[n-1].Position
	}
	p.Newer, p.Older = at.Neighbors()
	return p, nil
}

// deliveryRows reads rows by their positions and returns them newest first.
func (s *Deliveries) deliveryRows(ctx context.Context, ids []string) ([]flow.DeliveryRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := lists.CollectRows(ctx, s.DB, ids, rowsQuery, readDeliveryRow)
	sorting.By(rows, func(a, b flow.DeliveryRow) int { return dbconn.CompareTexts(b.Position, a.Position) })
	return rows, err
}

// rowsQuery selects the rows of a list by their positions.
func rowsQuery(ids []string) *lists.Query {
	q := &lists.Query{}
	q.Add("SELECT d.id, d.position, d.flow_id, d.run_id, d.node, d.endpoint_id, d.url, d.state, d.tries, d.created_at, d.next_at, d.ended_at, d.erased, ",
		"a.number, a.started_at, a.latency, a.status, a.cause, a.error ",
		"FROM deliveries d LEFT JOIN delivery_attempts a ON a.delivery_id = d.id AND a.number = d.tries WHERE d.position IN ", q.List(ids))
	return q
}

// readDeliveryRow reads a row of the list with its newest attempt. A delivery that was not
// tried yet has none. NextAt is set only while the delivery is pending.
func readDeliveryRow(rows *sql.Rows) (flow.DeliveryRow, error) {
	var r gen.Delivery
	var number, started, latency, status sql.NullInt64
	var cause, failure sql.NullString
	err := rows.Scan(&r.ID, &r.Position, &r.FlowID, &r.RunID, &r.Node, &r.EndpointID, &r.Url, &r.State, &r.Tries, &r.CreatedAt, &r.NextAt, &r.EndedAt, &r.Erased,
		&number, &started, &latency, &status, &cause, &failure)
	row := flow.DeliveryRow{
		ID: r.ID, Position: r.Position, FlowID: r.FlowID, RunID: r.RunID, Node: r.Node, EndpointID: r.EndpointID, URL: r.Url, State: flow.DeliveryState(r.State), Tries: r.Tries,
		CreatedAt: dbconn.TimeOf(r.CreatedAt), EndedAt: dbconn.TimeOf(r.EndedAt), Erased: flow.Code(r.Erased),
	}
	if row.EndedAt.IsZero() {
		row.NextAt = dbconn.TimeOf(r.NextAt)
	}
	if number.Valid {
		last := attemptOf(gen.DeliveryAttempt{
			DeliveryID: r.ID, Number: number.Int64, StartedAt: started.Int64, Latency: latency.Int64, Status: status.Int64, Cause: cause.String, Error: failure.String,
		})
		row.Last = &last
	}
	return row, err
}

// matchURL returns a condition of lists.Search for deliveries whose URL begins
// with a text. An empty text gives nil.
func (s *Deliveries) matchURL(k *deliveryFilter, url string) func(context.Context, []string) ([]string, error) {
	if url == "" {
		return nil
	}
	return func(ctx context.Context, ids []string) ([]string, error) {
		q := &lists.Query{}
		q.Add("SELECT position FROM deliveries WHERE substr(url, 1, ", q.Arg(len([]rune(url))), ") = ", q.Arg(url), " AND position IN ", q.List(ids))
		found, err := lists.Collect(ctx, s.DB, q, dbconn.ScanText)
		sorting.Strings(found)
		if !k.Oldest {
			slices.Reverse(found)
		}
		return found, err
	}
}
