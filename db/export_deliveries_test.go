package db

import (
	"context"
	"database/sql"

	"sluice/db/dbconn"
	"sluice/db/lists"
	"sluice/db/webhooks"
	"sluice/flow"
)

// DeliveryQueries returns all queries that lists of deliveries, endpoints and failed
// deliveries may run.
func (s *Store) DeliveryQueries(ctx context.Context, c flow.DeliveryQuery) ([]ChoiceQuery, error) {
	k := webhooks.NewDeliveryFilter(&c)
	list := []ChoiceQuery{}
	add := func(name string, q *lists.Query) { list = append(list, ChoiceQuery{name, q.Text.String(), q.Args}) }
	add("glance", k.NewestQuery(lists.NewestRows))
	add("heads", k.HeadsQuery(c.Limit+1))
	heads, err := lists.Collect(ctx, s.DB, k.HeadsQuery(c.Limit+1), func(rows *sql.Rows) (h webhooks.Head, err error) {
		return h, rows.Scan(&h.Endpoint, &h.State, &h.Position)
	})
	if len(heads) > 0 {
		add("arms", k.ArmsQuery(heads, c.Limit+1))
	}
	add("endpoints", k.EndpointsQuery(50))
	failed := &lists.Query{}
	webhooks.FailedQuery(failed, &flow.FailedQuery{WorkspaceID: c.WorkspaceID, FlowID: c.FlowID, EndpointID: c.EndpointID, Since: c.From, Asked: dbconn.TimeOf(1)}, 500)
	add("failed", failed)
	return list, err
}
