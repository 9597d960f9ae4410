package db

import (
	"context"
	"database/sql"
	"strconv"

	"sluice/db/dbconn"
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
	idSpan
	ws, flow, endpoint, host string
	failing                  bool // endpoints that fail alone
	states                   []string
}

// head is the first delivery of an endpoint in one state.
type head struct{ endpoint, state, position string }

var deliveryStates = []string{string(flow.DeliveryPending), string(flow.DeliveryDelivered), string(flow.DeliveryFailed)}

func soughtBy(c *flow.DeliveryChoice) sought {
	span := spanOf(flow.PrefixDelivery, c.After != "")
	span.between(c.From, c.Until)
	span.beside(c.Before, c.After)
	k := sought{
		ws: c.WorkspaceID, flow: c.FlowID, endpoint: c.EndpointID, host: c.Host, states: deliveryStates,
		idSpan: span,
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
	heads, err := collect(ctx, readsOf(s.DB), k.headsQuery(n), func(rows *sql.Rows) (h head, err error) {
		return h, rows.Scan(&h.endpoint, &h.state, &h.position)
	})
	if err != nil || len(heads) == 0 {
		return nil, err
	}
	return collect(ctx, readsOf(s.DB), k.armsQuery(heads, n), scanText)
}

// glanceDeliveries looks at the newest of all; all tells that there are no others.
func (s Deliveries) glanceDeliveries(ctx context.Context, k *sought, n int) (ids []string, all bool, err error) {
	size := max(glance, 2*n)
	seen := 0
	_, err = collect(ctx, readsOf(s.DB), k.glanceQuery(size), func(rows *sql.Rows) (none struct{}, err error) {
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

// glanceQuery reads the first deliveries of all and marks those that are sought.
func (k *sought) glanceQuery(size int) *query {
	q := &query{}
	q.add("SELECT position, CASE WHEN workspace_id = ", q.arg(k.ws), " AND state IN ", q.list(k.states))
	if k.flow != "" {
		q.add(" AND flow_id = ", q.arg(k.flow))
	}
	if k.endpoint != "" {
		q.add(" AND endpoint_id = ", q.arg(k.endpoint))
	}
	if k.host != "" {
		q.add(" AND endpoint_id IN (SELECT e.id FROM endpoints e WHERE e.workspace_id = ", q.arg(k.ws), " AND e.host = ", q.arg(k.host), ")")
	}
	q.add(" THEN 1 ELSE 0 END FROM deliveries WHERE ", k.span(q, ""), " ORDER BY position ", k.order(), " LIMIT ", q.arg(size))
	return q
}

func (k *sought) span(q *query, table string) string {
	return table + "position >= " + q.arg(k.low) + " AND " + table + "position < " + q.arg(k.high)
}

// which narrows the endpoints.
func (k *sought) which(q *query) (text string) {
	text = "e.workspace_id = " + q.arg(k.ws)
	for _, c := range []struct{ column, value string }{{"id", k.endpoint}, {"flow_id", k.flow}, {"host", k.host}} {
		if c.value != "" {
			text += " AND e." + c.column + " = " + q.arg(c.value)
		}
	}
	if k.failing {
		text += " AND e.failing_since > 0"
	}
	return text
}

// heads finds the first delivery of each endpoint and state with one step into
// the index.
func (k *sought) heads(q *query) {
	q.add("WITH heads AS MATERIALIZED (")
	for i, state := range k.states {
		if i > 0 {
			q.add(" UNION ALL ")
		}
		q.add("SELECT e.id AS endpoint, CAST(", q.arg(state), " AS TEXT) AS state, (SELECT d.position FROM deliveries d WHERE d.endpoint_id = e.id AND d.state = ", q.arg(state), " AND ", k.span(q, "d."),
			" ORDER BY d.position ", k.order(), " LIMIT 1) AS head FROM endpoints e WHERE ", k.which(q))
	}
	q.add(")")
}

// headsQuery gives the n endpoints and states that have the first deliveries.
func (k *sought) headsQuery(n int) *query {
	q := &query{}
	k.heads(q)
	q.add(" SELECT endpoint, state, head FROM heads WHERE head IS NOT NULL ORDER BY head ", k.order(), " LIMIT ", q.arg(n))
	return q
}

// endpointsQuery gives the endpoints that have the newest deliveries.
func (k *sought) endpointsQuery(n int) *query {
	q := &query{}
	k.heads(q)
	q.add(" SELECT e.id, e.flow_id, e.node, e.host, e.failing_since, n.head FROM (SELECT endpoint, max(head) AS head FROM heads WHERE head IS NOT NULL",
		" GROUP BY endpoint ORDER BY max(head) DESC LIMIT ", q.arg(n), ") n JOIN endpoints e ON e.id = n.endpoint ORDER BY n.head DESC")
	return q
}

// armsQuery merges the first deliveries of endpoints in their states.
func (k *sought) armsQuery(heads []head, n int) *query {
	q := &query{}
	span, limit := k.span(q, ""), q.arg(n)
	q.add("SELECT position FROM (")
	for i, h := range heads {
		if i > 0 {
			q.add(" UNION ALL ")
		}
		q.add("SELECT position FROM (SELECT position FROM deliveries WHERE endpoint_id = ", q.arg(h.endpoint), " AND state = ", q.arg(h.state),
			" AND ", span, " ORDER BY position ", k.order(), " LIMIT ", limit, ") AS a", strconv.Itoa(i))
	}
	q.add(") AS arms ORDER BY position ", k.order(), " LIMIT ", limit)
	return q
}
