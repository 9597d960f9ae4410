package db

import (
	"context"
	"database/sql"

	"sluice/db/dbconn"
	"sluice/flow"
)

// DeliveryQueries are all that a list of deliveries, of endpoints and of what
// failed may need.
func (s *Store) DeliveryQueries(ctx context.Context, c flow.DeliveryChoice) ([]ChoiceQuery, error) {
	k := soughtBy(&c)
	list := []ChoiceQuery{}
	add := func(name string, q *query) { list = append(list, ChoiceQuery{name, q.text.String(), q.args}) }
	add("glance", k.glanceQuery(glance))
	add("heads", k.headsQuery(c.Limit+1))
	heads, err := collect(ctx, readsOf(s.DB), k.headsQuery(c.Limit+1), func(rows *sql.Rows) (h head, err error) {
		return h, rows.Scan(&h.endpoint, &h.state, &h.position)
	})
	if len(heads) > 0 {
		add("arms", k.armsQuery(heads, c.Limit+1))
	}
	add("endpoints", k.endpointsQuery(50))
	failed := &query{}
	failedQuery(failed, &flow.FailedChoice{WorkspaceID: c.WorkspaceID, FlowID: c.FlowID, EndpointID: c.EndpointID, Since: c.From, Asked: dbconn.TimeOf(1)}, 500)
	add("failed", failed)
	return list, err
}
