package webhooks

import (
	"context"
	"database/sql"
	"strconv"

	"sluice/db/dbconn"
	"sluice/db/lists"
	"sluice/flow"
)

// A list of deliveries can be narrowed by flow, endpoint, host, state and time, and
// shows the newest first. It is read like the list of runs (db/runs_filter.go): the
// newest deliveries of all are searched first. If these are not enough, the index
// deliveries_endpoint is read once for each endpoint and state, and the endpoints
// with the newest deliveries are merged. The cost depends on the number of
// endpoints and not on the number of deliveries.

// deliveryFilter is a flow.DeliveryQuery in terms of the index.
type deliveryFilter struct {
	lists.Span
	ws             flow.WorkspaceID
	flow           flow.FlowID
	endpoint, host string
	failing        bool // only endpoints whose last attempt failed
	states         []string
}

// Head is the first delivery of an endpoint in one state.
type Head struct{ Endpoint, State, Position string }

// deliveryStates are all states of deliveries, which a filter without states selects.
var deliveryStates = []string{string(flow.DeliveryPending), string(flow.DeliveryDelivered), string(flow.DeliveryFailed)}

// NewDeliveryFilter converts a choice.
func NewDeliveryFilter(c *flow.DeliveryQuery) deliveryFilter {
	span := lists.SpanOf(flow.PrefixDelivery, c.After != "")
	span.Between(c.From, c.Until)
	span.Bound(c.Before, c.After)
	f := deliveryFilter{
		ws: c.WorkspaceID, flow: c.FlowID, endpoint: c.EndpointID, host: c.Host, states: deliveryStates,
		Span: span,
	}
	if len(c.States) > 0 {
		f.states = dbconn.MapRows(c.States, func(s flow.DeliveryState) string { return string(s) })
	}
	return f
}

// filterDeliveries returns the positions of the first n deliveries, in order.
func (s *Deliveries) filterDeliveries(ctx context.Context, f *deliveryFilter, n int) ([]string, error) {
	ids, all, err := s.newestDeliveries(ctx, f, n)
	if err != nil || all || len(ids) == n {
		return ids, err
	}
	heads, err := lists.Collect(ctx, s.DB, f.HeadsQuery(n), func(rows *sql.Rows) (h Head, err error) {
		return h, rows.Scan(&h.Endpoint, &h.State, &h.Position)
	})
	if err != nil || len(heads) == 0 {
		return nil, err
	}
	return lists.Collect(ctx, s.DB, f.ArmsQuery(heads, n), dbconn.ScanText)
}

// newestDeliveries searches the newest deliveries of all workspaces. all reports
// that there are no other deliveries.
func (s *Deliveries) newestDeliveries(ctx context.Context, f *deliveryFilter, n int) (ids []string, all bool, err error) {
	size := max(lists.NewestRows, 2*n)
	seen := 0
	_, err = lists.Collect(ctx, s.DB, f.NewestQuery(size), func(rows *sql.Rows) (none struct{}, err error) {
		var id string
		var hit int
		err = rows.Scan(&id, &hit)
		if seen++; hit == 1 && len(ids) < n {
			ids = append(ids, id)
		}
		return none, err
	})
	return ids, seen < size, err
}

// NewestQuery reads the first deliveries of all workspaces and marks those that match.
func (f *deliveryFilter) NewestQuery(size int) *lists.Query {
	q := &lists.Query{}
	q.Add("SELECT position, CASE WHEN workspace_id = ", q.Arg(f.ws), " AND state IN ", q.List(f.states))
	if f.flow != "" {
		q.Add(" AND flow_id = ", q.Arg(f.flow))
	}
	if f.endpoint != "" {
		q.Add(" AND endpoint_id = ", q.Arg(f.endpoint))
	}
	if f.host != "" {
		q.Add(" AND endpoint_id IN (SELECT e.id FROM endpoints e WHERE e.workspace_id = ", q.Arg(f.ws), " AND ", atHost(q, f.host), ")")
	}
	q.Add(" THEN 1 ELSE 0 END FROM deliveries WHERE ", f.span(q, ""), lists.Undamaged("deliveries", "deliveries"), " ORDER BY position ", f.Order(), " LIMIT ", q.Arg(size))
	return q
}

// span returns the condition on the position.
func (f *deliveryFilter) span(q *lists.Query, table string) string {
	return table + "position >= " + q.Arg(f.Low) + " AND " + table + "position < " + q.Arg(f.High)
}

// endpoints returns the conditions on endpoints.
func (f *deliveryFilter) endpoints(q *lists.Query) (text string) {
	text = "e.workspace_id = " + q.Arg(f.ws)
	for _, c := range []struct{ column, value string }{{"id", f.endpoint}, {"flow_id", string(f.flow)}} {
		if c.value != "" {
			text += " AND e." + c.column + " = " + q.Arg(c.value)
		}
	}
	if f.host != "" {
		text += " AND " + atHost(q, f.host)
	}
	if f.failing {
		text += " AND e.failing_since > 0"
	}
	return text
}

// hostColumn is the host of an endpoint e. Endpoints of earlier releases have no hostname,
// and the host itself in the column that tells endpoints apart.
const hostColumn = "CASE WHEN e.hostname = '' THEN e.host ELSE e.hostname END"

// atHost returns the condition that an endpoint e is at a host.
func atHost(q *lists.Query, host string) string {
	arg := q.Arg(host)
	return "(e.hostname = " + arg + " OR e.hostname = '' AND e.host = " + arg + ")"
}

// heads selects the first delivery of each endpoint and state, with one index
// lookup each.
func (f *deliveryFilter) heads(q *lists.Query) {
	q.Add("WITH heads AS MATERIALIZED (")
	for i, state := range f.states {
		if i > 0 {
			q.Add(" UNION ALL ")
		}
		q.Add("SELECT e.id AS endpoint, CAST(", q.Arg(state), " AS TEXT) AS state, (SELECT d.position FROM deliveries d WHERE d.endpoint_id = e.id AND d.state = ", q.Arg(state), " AND ", f.span(q, "d."),
			" ORDER BY d.position ", f.Order(), " LIMIT 1) AS head FROM endpoints e WHERE ", f.endpoints(q))
	}
	q.Add(")")
}

// HeadsQuery selects the n endpoints and states with the first deliveries.
func (f *deliveryFilter) HeadsQuery(n int) *lists.Query {
	q := &lists.Query{}
	f.heads(q)
	q.Add(" SELECT endpoint, state, head FROM heads WHERE head IS NOT NULL ORDER BY head ", f.Order(), " LIMIT ", q.Arg(n))
	return q
}

// EndpointsQuery selects the n endpoints with the newest deliveries.
func (f *deliveryFilter) EndpointsQuery(n int) *lists.Query {
	q := &lists.Query{}
	f.heads(q)
	q.Add(" SELECT e.id, e.flow_id, e.node, ", hostColumn, ", e.failing_since, n.head FROM (SELECT endpoint, max(head) AS head FROM heads WHERE head IS NOT NULL",
		" GROUP BY endpoint ORDER BY max(head) DESC LIMIT ", q.Arg(n), ") n JOIN endpoints e ON e.id = n.endpoint ORDER BY n.head DESC")
	return q
}

// ArmsQuery merges the first deliveries of endpoints and states.
func (f *deliveryFilter) ArmsQuery(heads []Head, n int) *lists.Query {
	q := &lists.Query{}
	span, limit := f.span(q, ""), q.Arg(n)
	q.Add("SELECT position FROM (")
	for i, h := range heads {
		if i > 0 {
			q.Add(" UNION ALL ")
		}
		q.Add("SELECT position FROM (SELECT position FROM deliveries WHERE endpoint_id = ", q.Arg(h.Endpoint), " AND state = ", q.Arg(h.State),
			" AND ", span, " ORDER BY position ", f.Order(), " LIMIT ", limit, ") AS a", strconv.Itoa(i))
	}
	q.Add(") AS arms ORDER BY position ", f.Order(), " LIMIT ", limit)
	return q
}
