package api

import (
	"context"
	"net/http"
	"slices"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/api/openapi"
)

// flowObject is the JSON of a flow: what a client needs to call it.
type flowObject struct {
	FlowID      flow.FlowID    `json:"flow_id"`
	Slug        string         `json:"slug" doc:"Name of the flow in URLs, in place of its ID."`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Version     *int64         `json:"version" doc:"The live version; null when the flow was never published."`
	Inputs      map[string]any `json:"inputs" doc:"A JSON Schema object; null when never published."`
	Outputs     map[string]any `json:"outputs" doc:"A JSON Schema object with the types of the outputs. Those that a run may lack are not required. Null when never published."`
	UpdatedAt   stamp          `json:"updated_at" doc:"When the flow last changed, its draft included."`
	Limits      flowLimits     `json:"limits"`
	URLs        flowURLs       `json:"urls"`
}

// flowLimits are the limits of a flow. Those of the key or the server may be lower.
type flowLimits struct {
	MaxRunning    *int64  `json:"max_running" doc:"Concurrent runs; more wait in the queue. Null: no limit for this flow."`
	MaxQueued     *int64  `json:"max_queued" doc:"Queued runs; further starts are rejected. Null: no limit for this flow."`
	RunsPerDay    *int64  `json:"runs_per_day" doc:"Runs per UTC day; further starts are rejected with 402. Null: no limit."`
	AllowUnpriced bool    `json:"allow_unpriced" doc:"Whether runs may use models without a price although usd_per_day is set."`
	USDPerDay     *string `json:"usd_per_day" doc:"Cost of all runs per UTC day in dollars, as a decimal number; further starts are rejected with 402. Null: no limit."`
	TimeoutS      int64   `json:"timeout_s" doc:"Default time limit of a run in seconds."`
	BodyBytes     int64   `json:"body_bytes" doc:"Maximum size of the body of a start in bytes."`
}

// flowURLs are absolute links to what belongs to a flow.
type flowURLs struct {
	Self      string `json:"self"`
	Run       string `json:"run"`
	Runs      string `json:"runs"`
	OpenAPI   string `json:"openapi"`
	Dashboard string `json:"dashboard"`
}

// flowList is one page of flows.
type flowList struct {
	Flows      []flowObject `json:"flows"`
	NextCursor *string      `json:"next_cursor"`
}

// FindFlow returns the flow of the path. Archived flows are not found, but their runs
// are.
func (c *Call) FindFlow() (*flow.Flow, error) {
	f, err := c.s.Store.FindFlow(c.Request().Context(), c.Key.WorkspaceID, c.flowID())
	if err == nil && !f.ArchivedAt.IsZero() {
		return nil, errNotFound
	}
	return f, err
}

// showFlow is GET flow: its inputs, outputs and limits.
func (s *Server) showFlow(c *Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	o, err := s.newFlowObject(c.Request().Context(), f)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, o)
}

// listFlows is GET flow without an ID: the flows that the key may call, ordered by ID.
func (s *Server) listFlows(c *Call) error {
	q := newQuery(c.Request().URL)
	after, limit := q.cursor(flow.PrefixFlow), q.limit()
	if err := q.err(); err != nil {
		return err
	}
	flows, err := c.ReadFlows(after, limit+1)
	if err != nil {
		return err
	}
	flows, next := Page(flows, limit, func(f *flow.Flow) string { return string(f.ID) })
	list := flowList{Flows: make([]flowObject, 0, len(flows)), NextCursor: next}
	for i := range flows {
		o, err := s.newFlowObject(c.Request().Context(), &flows[i])
		if err != nil {
			return err
		}
		list.Flows = append(list.Flows, o)
	}
	return c.WriteJSON(http.StatusOK, list)
}

// ReadFlows returns the flows that the key may call, after an ID, ordered by ID.
func (c *Call) ReadFlows(after string, limit int) ([]flow.Flow, error) {
	ctx, store := c.Request().Context(), c.s.Store
	if len(c.Key.Flows) == 0 {
		return store.ListFlows(ctx, c.Key.WorkspaceID, flow.FlowID(after), limit)
	}
	var list []flow.Flow
	for _, id := range slices.Sorted(slices.Values(c.Key.Flows)) {
		if id <= after || len(list) == limit {
			continue
		}
		f, err := store.FindFlow(ctx, c.Key.WorkspaceID, flow.FlowID(id))
		switch {
		case flow.IsNotFound(err):
		case err != nil:
			return nil, err
		case f.ArchivedAt.IsZero():
			list = append(list, *f)
		}
	}
	return list, nil
}

// newFlowObject describes the live version of a flow. An unpublished flow only has a
// name, a description and limits.
func (s *Server) newFlowObject(ctx context.Context, f *flow.Flow) (flowObject, error) {
	self := s.PublicURL + "/v1/flow/" + string(f.ID)
	o := flowObject{
		FlowID: f.ID, Slug: f.Slug, Name: f.Name, Description: f.Description, UpdatedAt: stamp(f.UpdatedAt),
		Limits: flowLimits{orNull(f.MaxRunning), orNull(f.MaxQueued), orNull(f.RunsPerDay), f.AllowUnpriced, usdOrNull(f.USDPerDay), int64(flow.RunTimeout.Seconds()), MaxBody},
		URLs:   flowURLs{self, self + "/run", self + "/runs", self + "/openapi.json", s.PublicURL + "/flows/" + string(f.ID)},
	}
	if f.LiveVersion == 0 {
		return o, nil
	}
	out, err := s.Outlines.Find(ctx, f.WorkspaceID, f.LiveHash)
	if err != nil {
		return o, err
	}
	// Name and description are those of the published document, not of the draft.
	o.Name, o.Description, o.Version = out.Name, out.Description, &f.LiveVersion
	o.Inputs, o.Outputs = openapi.InputsSchema(out.Inputs), document.OutputsSchema(out.Outputs)
	return o, nil
}

// usdOrNull returns a decimal number of dollars, or nil for 0, which means no limit.
func usdOrNull(nano flow.NanoUSD) *string {
	if nano == 0 {
		return nil
	}
	text := nano.Rounded()
	return &text
}
