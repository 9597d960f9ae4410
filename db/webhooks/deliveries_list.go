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
)

// ListDeliveryRows returns a page of the chosen deliveries, newest first. A page
// of newer ones that would not be full is the first page instead.
func (s Deliveries) ListDeliveryRows(ctx context.Context, c flow.DeliveryChoice) (flow.DeliveryPage, error) {
	k := SoughtBy(&c)
	found := urlSearch{DB: s.DB, sought: &k, url: c.URL}
	ids, err := found.first(ctx, c.Limit+1)
	if err != nil {
		return flow.DeliveryPage{}, err
	}
	more := len(ids) > c.Limit
	if c.After != "" && !more && found.reached == "" {
		c.After = ""
		return s.ListDeliveryRows(ctx, c)
	}
	p := flow.DeliveryPage{Looked: found.looked, More: found.reached != ""}
	if p.Rows, err = s.deliveryRows(ctx, ids[:min(len(ids), c.Limit)]); err != nil {
		return p, err
	}
	at := lists.Cursors{Before: c.Before, After: c.After, More: more, Reached: found.reached}
	if n := len(p.Rows); n > 0 {
		at.Newest, at.Oldest = p.Rows[0].Position, p.Rows[n-1].Position
	}
	p.Newer, p.Older = at.Beside()
	return p, nil
}

// deliveryRows reads rows by their positions and returns them newest first.
func (s Deliveries) deliveryRows(ctx context.Context, ids []string) ([]flow.DeliveryRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	q := &lists.Query{}
	q.Add("SELECT d.id, d.position, d.flow_id, d.run_id, d.node, d.endpoint_id, d.url, d.state, d.tries, d.created_at, d.next_at, d.ended_at, d.erased, ",
		"a.number, a.started_at, a.latency, a.status, a.cause, a.error ",
		"FROM deliveries d LEFT JOIN delivery_attempts a ON a.delivery_id = d.id AND a.number = d.tries WHERE d.position IN ", q.List(ids))
	rows, err := lists.Collect(ctx, s.DB, q, readDeliveryRow)
	slices.SortFunc(rows, func(a, b flow.DeliveryRow) int { return dbconn.CompareTexts(b.Position, a.Position) })
	return rows, err
}

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

// urlSearch looks for deliveries whose URL begins with a text, which no index
// knows: it reads the first of an endpoint's, and no more than searchDepth.
type urlSearch struct {
	*core.DB
	*sought
	url     string
	looked  int
	reached string // the last of them, when others were not looked at
}

// first gives the first n of them; without a URL, all are.
func (f *urlSearch) first(ctx context.Context, n int) (ids []string, err error) {
	if f.url == "" {
		return Deliveries{f.DB}.seekDeliveries(ctx, f.sought, n)
	}
	for len(ids) < n {
		batch, err := Deliveries{f.DB}.seekDeliveries(ctx, f.sought, lists.SearchBatch)
		if err != nil || len(batch) == 0 {
			return ids, err
		}
		found, err := f.having(ctx, batch)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
		f.looked += len(batch)
		last := batch[len(batch)-1]
		f.Pass(last)
		if len(batch) < lists.SearchBatch {
			return ids, nil
		}
		if len(ids) < n && f.looked >= lists.SearchDepth {
			f.reached = last
		}
		if f.looked >= lists.SearchDepth {
			return ids, nil
		}
	}
	return ids, nil
}

// having gives those that were sent to the URL, in the same order.
func (f *urlSearch) having(ctx context.Context, ids []string) (found []string, err error) {
	q := &lists.Query{}
	q.Add("SELECT position FROM deliveries WHERE substr(url, 1, ", q.Arg(len([]rune(f.url))), ") = ", q.Arg(f.url), " AND position IN ", q.List(ids))
	found, err = lists.Collect(ctx, f.DB, q, dbconn.ScanText)
	slices.Sort(found)
	if !f.Oldest {
		slices.Reverse(found)
	}
	return found, err
}
