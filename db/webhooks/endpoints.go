package webhooks

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/lists"
	"sluice/flow"
	"sluice/flow/endpoints"
	"sluice/flow/fairness"
	"sluice/flow/sorting"
)

// An endpoint is the receiver of deliveries of one node of a flow, or of the per-run
// webhook, at one URL: a host may have paths that work and paths that do not. Its row records how it has responded, so that a receiver that
// is slow or down does not use the slots that others need.

// recordResponse records how an endpoint responded, which determines its slots. Nothing
// is written while an endpoint keeps succeeding, so that its row does not
// become a bottleneck.
func recordResponse(tx *core.Tx, endpoint string, a *flow.DeliveryAttempt, pausedUntil time.Time) error {
	if a.Error == "" {
		return tx.Queries.EndpointWorks(tx.Ctx, gen.EndpointWorksParams{ID: endpoint, Slow: dbconn.BoolInt(a.Latency > fairness.SlowAnswer)})
	}
	return tx.Queries.EndpointFails(tx.Ctx, gen.EndpointFailsParams{ID: endpoint, At: dbconn.Micros(a.StartedAt), PausedUntil: dbconn.Micros(pausedUntil)})
}

// CountFailing counts the endpoints of a workspace whose newest attempt failed.
func (s *Endpoints) CountFailing(ctx context.Context, ws flow.WorkspaceID) (int, error) {
	n, err := s.DB.Reads.CountFailing(ctx, ws)
	return int(n), err
}

// ListHosts returns hosts that webhooks of the workspace were sent to, by name.
func (s *Endpoints) ListHosts(ctx context.Context, ws flow.WorkspaceID, limit int) ([]string, error) {
	return s.DB.Reads.ListEndpointsByHost(ctx, gen.ListEndpointsByHostParams{WorkspaceID: ws, MaxRows: int32(limit)})
}

// recentAttempts is the number of newest deliveries and attempts that describe an
// endpoint.
const recentAttempts = 100

// ListEndpoints returns the endpoints with the newest deliveries and their newest
// attempts. An empty flowID means all flows of the workspace. With failing, it
// returns only endpoints whose newest attempt failed.
func (s *Endpoints) ListEndpoints(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, failing bool, limit int) ([]endpoints.Endpoint, error) {
	k := deliveryFilter{ws: ws, flow: flowID, failing: failing, states: deliveryStates, Span: lists.SpanOf(flow.PrefixDelivery, false)}
	list, err := lists.Collect(ctx, s.DB, k.EndpointsQuery(limit), readEndpoint)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if err := s.describe(ctx, &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// FindEndpoint returns one endpoint with its newest attempts.
func (s *Endpoints) FindEndpoint(ctx context.Context, ws flow.WorkspaceID, id string) (*endpoints.Endpoint, error) {
	row, err := s.DB.Reads.GetEndpoint(ctx, gen.GetEndpointParams{ID: id, WorkspaceID: ws})
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "endpoint")
	}
	e := endpoints.Endpoint{ID: row.ID, FlowID: row.FlowID, Node: row.Node, Host: cmp.Or(row.Hostname, row.Host), FailingSince: dbconn.TimeOf(row.FailingSince)}
	return &e, s.describe(ctx, &e)
}

// readEndpoint reads a row of EndpointsQuery. The last column only orders the list.
func readEndpoint(rows *sql.Rows) (e endpoints.Endpoint, err error) {
	var since int64
	var head string
	err = rows.Scan(&e.ID, &e.FlowID, &e.Node, &e.Host, &since, &head)
	e.FailingSince = dbconn.TimeOf(since)
	return e, err
}

// describe reads the newest deliveries of an endpoint and their attempts.
func (s *Endpoints) describe(ctx context.Context, e *endpoints.Endpoint) error {
	k := deliveryFilter{Span: lists.SpanOf(flow.PrefixDelivery, false)}
	var heads []Head
	for _, state := range deliveryStates {
		heads = append(heads, Head{Endpoint: e.ID, State: state})
	}
	ids, err := lists.Collect(ctx, s.DB, k.ArmsQuery(heads, recentAttempts), dbconn.ScanText)
	if err != nil || len(ids) == 0 {
		return err
	}
	rows, err := (*Deliveries)(s).deliveryRows(ctx, ids[:1])
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		e.URL, e.LastAt = rows[0].URL, rows[0].CreatedAt
	}
	q := &lists.Query{}
	q.Add("SELECT ", attemptColumns, " FROM delivery_attempts a WHERE a.delivery_id IN (SELECT d.id FROM deliveries d WHERE d.position IN ", q.List(ids), ")")
	e.Attempts, err = lists.Collect(ctx, s.DB, q, readAttempt)
	sorting.By(e.Attempts, func(a, b flow.DeliveryAttempt) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), dbconn.CompareTexts(a.DeliveryID, b.DeliveryID), cmp.Compare(a.Number, b.Number))
	})
	e.Attempts = e.Attempts[max(0, len(e.Attempts)-recentAttempts):]
	return err
}

// attemptColumns are the columns of an attempt without the response.
const attemptColumns = "a.delivery_id, a.number, a.started_at, a.latency, a.status, a.cause, a.error"

// readAttempt reads an attempt without the response, which the list of endpoints does not
// show.
func readAttempt(rows *sql.Rows) (flow.DeliveryAttempt, error) {
	var r gen.DeliveryAttempt
	err := rows.Scan(&r.DeliveryID, &r.Number, &r.StartedAt, &r.Latency, &r.Status, &r.Cause, &r.Error)
	return attemptOf(r), err
}

// Endpoints stores the endpoints that deliveries were sent to, and how they
// responded.
type Endpoints struct{ DB *core.DB }
