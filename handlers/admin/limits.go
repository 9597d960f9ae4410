package admin

import (
	"context"
	"net/http"
	"reflect"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// limitNames maps the Go types of responses to the names of their schemas in the OpenAPI
// document. Names are part of the API: generated clients name their types after them.
var limitNames = map[reflect.Type]string{reflect.TypeFor[FlowLimits](): "LimitsOfFlow"}

// limitBody declares the body of a change. A limit is removed with null and never with 0, which
// could be read as "nothing is allowed".
var limitBody = api.Body[flow.Limits]{Name: "LimitFlow", Of: "the limits of a flow", Example: schema{"usd_per_day": 5}, Fields: []api.Field[flow.Limits]{
	api.Member("max_running", "Runs at once; more wait in the queue. Null: no limit.", limitType, func(l *flow.Limits) *int64 { return &l.MaxRunning }),
	api.Member("max_queued", "Runs in the queue; further starts are rejected. Null: no limit.", limitType, func(l *flow.Limits) *int64 { return &l.MaxQueued }),
	api.Member("runs_per_day", "Runs per UTC day. Null: no limit.", limitType, func(l *flow.Limits) *int64 { return &l.RunsPerDay }),
	api.Member("usd_per_day", "Dollars per UTC day. Null: no limit.", api.DollarsType, func(l *flow.Limits) *flow.NanoUSD { return &l.USDPerDay }),
	api.Member("allow_unpriced", "With a limit in dollars: allow models whose price is unknown.", api.BoolType, func(l *flow.Limits) *bool { return &l.AllowUnpriced }),
}}

// limitRoutes returns the routes of the limits of flows. The scope manage suffices to read them,
// so that clients can find out why a start was rejected. Changing them needs admin.
func (s *Server) limitRoutes() api.Extension {
	const path, tag = "/v1/flow/:flow_id/limits", "Flows"
	return api.Extension{Names: limitNames, Routes: []api.Route{{
		Method: get, Path: path, Scopes: []flow.Scope{flow.ScopeManage, flow.ScopeAdmin}, Handle: s.showLimits,
		Role: flow.MemberViewer, Commands: []string{"flow limits"},
		Doc: openapi.Operation{ID: "showLimits", Tag: tag, Summary: "Show the limits of a flow and what was used today",
			Answers: openapi.OK("The limits.", FlowLimits{})},
	}, {
		Method: http.MethodPatch, Path: path, Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.changeLimits,
		Role: flow.MemberEditor, Audit: []string{"flow.limits"}, Commands: []string{"flow limits"}, Limited: "may only lower limits",
		Doc: openapi.Operation{ID: "changeLimits", Tag: tag, Summary: "Change the limits of a flow",
			Text: "What is left out stays. Runs that were accepted before are unaffected. A key with limits may only lower them.",
			Body: limitBody.Doc(), Problems: []flow.Code{flow.CodeStorageFull, flow.CodeExceedsKey},
			Answers: openapi.OK("The limits after the change.", FlowLimits{})},
	}}}
}

// FlowLimits is the JSON of the limits of a flow, with what was used today.
type FlowLimits struct {
	FlowID        flow.FlowID `json:"flow_id"`
	MaxRunning    *int64      `json:"max_running" doc:"Runs at once; null for no limit, as in the others."`
	MaxQueued     *int64      `json:"max_queued" doc:"Runs in the queue."`
	RunsPerDay    *int64      `json:"runs_per_day" doc:"Runs per UTC day."`
	USDPerDay     *string     `json:"usd_per_day" doc:"Dollars per UTC day, as a decimal number."`
	AllowUnpriced bool        `json:"allow_unpriced" doc:"Whether runs may use models without a price although there is a limit in dollars."`
	RunsToday     *int64      `json:"runs_today" doc:"Null without a limit of runs."`
	USDToday      *string     `json:"usd_today" doc:"Null without a limit in dollars."`
	USDLostToday  *string     `json:"usd_lost_today,omitempty" doc:"Part of usd_today: the estimated cost of calls whose bill is unknown."`
	Unpriced      []string    `json:"unpriced" doc:"With a limit in dollars: models of the draft without a price."`
}

// newFlowLimits returns the JSON of the limits of a flow, of its budgets for today, and of
// the models of its draft without a price.
func newFlowLimits(f *flow.Flow, budgets []flow.Budget, unpriced []string) FlowLimits {
	o := FlowLimits{
		FlowID: f.ID, MaxRunning: orNull(f.MaxRunning), MaxQueued: orNull(f.MaxQueued), RunsPerDay: orNull(f.RunsPerDay),
		AllowUnpriced: f.AllowUnpriced, Unpriced: append([]string{}, unpriced...),
	}
	if f.USDPerDay > 0 {
		usd := f.USDPerDay.Rounded()
		o.USDPerDay = &usd
	}
	for i := range budgets {
		if b := &budgets[i]; b.Unit == flow.BudgetUSD {
			usd := flow.NanoUSD(b.Used).Rounded()
			o.USDToday = &usd
			if b.Lost > 0 {
				lost := flow.NanoUSD(b.Lost).Rounded()
				o.USDLostToday = &lost
			}
		} else {
			o.RunsToday = &b.Used
		}
	}
	return o
}

// unpricedModels returns the models of a flow's draft that have no price. A budget in dollars
// rejects starts with such models, or lacks their cost. Without such a budget it returns nil.
func unpricedModels(ctx context.Context, f *flow.Flow, kinds *flow.Registry, prices flow.PriceStore) ([]string, error) {
	d, _ := document.ParseDocument(f.Draft)
	if f.USDPerDay == 0 || d == nil {
		return nil, nil
	}
	return document.Unpriced(ctx, document.Charges(d, kinds), prices, f.WorkspaceID)
}

// showLimits is GET flow/limits: the limits of a flow and their use today.
func (s *Server) showLimits(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	return s.writeLimits(c, f)
}

// writeLimits responds with the limits of a flow, their use on this UTC day, and the models
// of its draft without a price.
func (s *Server) writeLimits(c *api.Call, f *flow.Flow) error {
	ctx := c.Request().Context()
	budgets, err := s.Store.FlowBudgets(ctx, f)
	if err != nil {
		return err
	}
	unpriced, err := unpricedModels(ctx, f, s.kinds, s.Prices)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, newFlowLimits(f, budgets, unpriced))
}

// changeLimits is PATCH flow/limits. A request that changes no limit writes no audit entry.
func (s *Server) changeLimits(c *api.Call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	set, err := limitBody.ReadFrom(c)
	if err != nil {
		return err
	}
	to := f.Limits
	set(&to)
	if err := s.limits.SetFlow(c.Request().Context(), c.Actor(), c.Key, f, to); err != nil {
		return err
	}
	f.Limits = to
	return s.writeLimits(c, f)
}
