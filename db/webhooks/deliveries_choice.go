package webhooks

import (
	"context"
	"database/sql"
	"strconv"

	"sluice/db/dbconn"
	"sluice/db/lists"
	"sluice/flow"
)

// A list of deliveries is narrowed by flow, endpoint, host, state and time, and
// the newest are wanted first. It is read as that of runs is (runs_choice.go):
// the newest of all are looked at first; if these are not enough, there is one
// step into the index deliveries_endpoint for each endpoint and state, and those
// with the newest deliveries are merged. So what a list costs depends on how
// many endpoints there are, and not on how many deliveries.

// sought is a choice of deliveries in terms of the index.
type sought struct {
	lists.Span
	ws, flow, endpoint, host string
	failing                  bool // endpoints that fail alone
	states                   []string
}

// Head is the first delivery of an endpoint in one state.
type Head struct{ Endpoint, State, Position string }

var deliveryStates = []string{string(flow.DeliveryPending), string(flow.DeliveryDelivered), string(flow.DeliveryFailed)}

func SoughtBy(c *flow.DeliveryChoice) sought {
	span := lists.SpanOf(flow.PrefixDelivery, c.After != "")
	span.Between(c.From, c.Until)
	span.Beside(c.Before, c.After)
	k := sought{
		ws: c.WorkspaceID, flow: c.FlowID, endpoint: c.EndpointID, host: c.Host, states: deliveryStates,
		Span: span,
	}
	if len(c.States) > 0 {
		k.states = dbconn.MapRows(c.States, func(s flow.DeliveryState) string { return string(s) })
	}
	return k
}

// seekDeliveries returns the positions of the first n deliveries, in order.
func (s Deliveries) seekDeliveries(ctx context.Context, k *sought, n int) ([]string, error) {
	ids, all, err := s.glanceDeliveries(ctx, k, n)
	if err != nil || all || len(ids) == n {
		return ids, err
	}
	heads, err := lists.Collect(ctx, s.DB, k.HeadsQuery(n), func(rows *sql.Rows) (h Head, err error) {
		return h, rows.Scan(&h.Endpoint, &h.State, &h.Position)
	})
	if err != nil || len(heads) == 0 {
		return nil, err
	}
	return lists.Collect(ctx, s.DB, k.ArmsQuery(heads, n), dbconn.ScanText)
}

// glanceDeliveries looks at the newest of all; all tells that there are no others.
func (s Deliveries) glanceDeliveries(ctx context.Context, k *sought, n int) (ids []string, all bool, err error) {
	size := max(lists.Glance, 2*n)
	seen := 0
	_, err = lists.Collect(ctx, s.DB, k.GlanceQuery(size), func(rows *sql.Rows) (none struct{}, err error) {
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

// GlanceQuery reads the first deliveries of all and marks those that are sought.
func (k *sought) GlanceQuery(size int) *lists.Query {
	q := &lists.Query{}
	q.Add("SELECT position, CASE WHEN workspace_id = ", q.Arg(k.ws), " AND state IN ", q.List(k.states))
	if k.flow != "" {
		q.Add(" AND flow_id = ", q.Arg(k.flow))
	}
	if k.endpoint != "" {
		q.Add(" AND endpoint_id = ", q.Arg(k.endpoint))
	}
	if k.host != "" {
		q.Add(" AND endpoint_id IN (SELECT e.id FROM endpoints e WHERE e.workspace_id = ", q.Arg(k.ws), " AND e.host = ", q.Arg(k.host), ")")
	}
	q.Add(" THEN 1 ELSE 0 END FROM deliveries WHERE ", k.span(q, ""), " ORDER BY position ", k.Order(), " LIMIT ", q.Arg(size))
	return q
}

func (k *sought) span(q *lists.Query, table string) string {
	return table + "position >= " + q.Arg(k.Low) + " AND " + table + "position < " + q.Arg(k.High)
}

// which narrows the endpoints.
func (k *sought) which(q *lists.Query) (text string) {
	text = "e.workspace_id = " + q.Arg(k.ws)
	for _, c := range []struct{ column, value string }{{"id", k.endpoint}, {"flow_id", k.flow}, {"host", k.host}} {
		if c.value != "" {
			text += " AND e." + c.column + " = " + q.Arg(c.value)
		}
	}
	if k.failing {
		text += " AND e.failing_since > 0"
	}
	return text
}

// heads finds the first delivery of each endpoint and state with one step into
// the index.
func (k *sought) heads(q *lists.Query) {
	q.Add("WITH heads AS MATERIALIZED (")
	for i, state := range k.states {
		if i > 0 {
			q.Add(" UNION ALL ")
		}
		q.Add("SELECT e.id AS endpoint, CAST(", q.Arg(state), " AS TEXT) AS state, (SELECT d.position FROM deliveries d WHERE d.endpoint_id = e.id AND d.state = ", q.Arg(state), " AND ", k.span(q, "d."),
			" ORDER BY d.position ", k.Order(), " LIMIT 1) AS head FROM endpoints e WHERE ", k.which(q))
	}
	q.Add(")")
}

// HeadsQuery gives the n endpoints and states that have the first deliveries.
func (k *sought) HeadsQuery(n int) *lists.Query {
	q := &lists.Query{}
	k.heads(q)
	q.Add(" SELECT endpoint, state, head FROM heads WHERE head IS NOT NULL ORDER BY head ", k.Order(), " LIMIT ", q.Arg(n))
	return q
}

// EndpointsQuery gives the endpoints that have the newest deliveries.
func (k *sought) EndpointsQuery(n int) *lists.Query {
	q := &lists.Query{}
	k.heads(q)
	q.Add(" SELECT e.id, e.flow_id, e.node, e.host, e.failing_since, n.head FROM (SELECT endpoint, max(head) AS head FROM heads WHERE head IS NOT NULL",
		" GROUP BY endpoint ORDER BY max(head) DESC LIMIT ", q.Arg(n), ") n JOIN endpoints e ON e.id = n.endpoint ORDER BY n.head DESC")
	return q
}

// ArmsQuery merges the first deliveries of endpoints in their states.
func (k *sought) ArmsQuery(heads []Head, n int) *lists.Query {
	q := &lists.Query{}
	span, limit := k.span(q, ""), q.Arg(n)
	q.Add("SELECT position FROM (")
	for i, h := range heads {
		if i > 0 {
			q.Add(" UNION ALL ")
		}
		q.Add("SELECT position FROM (SELECT position FROM deliveries WHERE endpoint_id = ", q.Arg(h.Endpoint), " AND state = ", q.Arg(h.State),
			" AND ", span, " ORDER BY position ", k.Order(), " LIMIT ", limit, ") AS a", strconv.Itoa(i))
	}
	q.Add(") AS arms ORDER BY position ", k.Order(), " LIMIT ", limit)
	return q
}
