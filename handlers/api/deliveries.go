package api

import (
	"encoding/json"
	"net/http"

	"sluice/flow"
)

// deliveryObject is the JSON of a webhook delivery.
type deliveryObject struct {
	DeliveryID string             `json:"delivery_id" doc:"The webhook-id header, the same for every attempt."`
	FlowID     flow.FlowID        `json:"flow_id"`
	RunID      *flow.RunID        `json:"run_id" doc:"Null for a test, which belongs to no run."`
	Node       *string            `json:"node" doc:"The webhook node; null for the webhook of the run itself."`
	URL        string             `json:"url"`
	Status     flow.DeliveryState `json:"status"`
	CreatedAt  stamp              `json:"created_at"`
	NextAt     stampOrNull        `json:"next_attempt_at"`
	EndedAt    stampOrNull        `json:"ended_at"`
	Body       json.RawMessage    `json:"body" doc:"The body of the message; null once erased. File links expire as in every response; those in the message itself last a week."`
	Attempts   []attemptObject    `json:"attempts"`
}

// attemptObject is the JSON of one attempt to deliver a webhook.
type attemptObject struct {
	Number    int64   `json:"number" doc:"1, 2, 3 … across all series of attempts."`
	StartedAt stamp   `json:"started_at"`
	LatencyMS int64   `json:"latency_ms"`
	Status    *int    `json:"status" doc:"HTTP status; null if there was no response."`
	Response  string  `json:"response" doc:"At most the first 4 KiB of the response."`
	Error     *string `json:"error"`
}

// deliveryList is one page of deliveries.
type deliveryList struct {
	Deliveries []deliveryObject `json:"deliveries"`
	NextCursor *string          `json:"next_cursor"`
}

// listDeliveries is GET deliveries: the webhook deliveries of a flow, newest first.
func (s *Server) listDeliveries(c *Call) error {
	ctx, ws := c.Request().Context(), c.Key.WorkspaceID
	if _, err := s.Store.FindFlow(ctx, ws, c.flowID()); err != nil {
		return err
	}
	q := newQuery(c.Request().URL)
	before, limit := q.cursor(flow.PrefixDelivery), q.limit()
	if err := q.err(); err != nil {
		return err
	}
	records, err := s.Store.ListDeliveries(ctx, ws, c.flowID(), before, limit+1)
	if err != nil {
		return err
	}
	records, next := Page(records, limit, func(d *flow.DeliveryRecord) string { return d.Position })
	return c.WriteJSON(http.StatusOK, deliveryList{convert(records, s.newDeliveryObject), next})
}

// redeliver is POST redeliver: a new series of attempts with the same ID. The path has
// no flow ID, so whether the key may call the flow is checked here.
func (s *Server) redeliver(c *Call) error {
	if !flow.ValidID(flow.PrefixDelivery, c.deliveryID()) {
		return errNotFound
	}
	ctx, ws := c.Request().Context(), c.Key.WorkspaceID
	flowID, err := s.Store.DeliveryFlow(ctx, ws, c.deliveryID())
	if err == nil {
		err = c.allowFlow(flowID)
	}
	if err != nil {
		return err
	}
	d, err := s.deliveries.Resend(ctx, c.Actor(), ws, c.deliveryID())
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusAccepted, s.newDeliveryObject(&flow.DeliveryRecord{Delivery: *d}))
}

// newDeliveryObject returns a delivery without the secrets in its URL, and with download
// links in its body.
func (s *Server) newDeliveryObject(d *flow.DeliveryRecord) deliveryObject {
	o := deliveryObject{
		DeliveryID: d.ID, FlowID: d.FlowID, RunID: orNull(d.RunID), Node: orNull(d.Node), URL: flow.ShownURL(d.URL), Status: d.State,
		CreatedAt: stamp(d.CreatedAt), NextAt: stampOrNull(d.NextAt), EndedAt: stampOrNull(d.EndedAt), Attempts: convert(d.Attempts, newAttemptObject),
	}
	if json.Valid(d.Body) {
		o.Body = flow.HideApprovalLinks(s.Links.Body(&d.Delivery, s.LinksExpire()))
	}
	return o
}

// newAttemptObject returns the JSON of one attempt. A status of null means that there was no
// response.
func newAttemptObject(a *flow.DeliveryAttempt) attemptObject {
	return attemptObject{
		Number: a.Number, StartedAt: stamp(a.StartedAt), LatencyMS: a.Latency.Milliseconds(),
		Status: orNull(a.Status), Response: a.Response, Error: orNull(a.Error),
	}
}
