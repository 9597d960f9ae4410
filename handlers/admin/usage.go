package admin

import (
	"cmp"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/histogram"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// Bounds of the number of days in a report.
const (
	usageDays    = 30  // without parameters, today included
	maxUsageDays = 366 // as on the dashboard
)

// maxUsageGroups is how many flows, keys or models a page of a report has at most, and without a limit. All days are on
// one page without a limit.
const maxUsageGroups = 300

// The groups of a report.
const (
	byDay   = "day"
	byFlow  = "flow"
	byKey   = "key"
	byModel = "model"
)

// usageGroups are the values of the parameter by; the first is the default.
var usageGroups = []string{byDay, byFlow, byKey, byModel}

// usageParams are the parameters that routes name in their Params. In the URL they are by,
// from and to.
var usageParams = map[string]map[string]any{
	"by":          queryParam("by", "What to group by.", map[string]any{"type": "string", "enum": usageGroups, "default": byDay}),
	"usage_from":  queryParam("from", "The first day, in UTC. Default: 29 days before the last.", map[string]any{"type": "string", "format": "date"}),
	"usage_to":    queryParam("to", "The last day, in UTC; at most 366 days are reported. Default: today.", map[string]any{"type": "string", "format": "date"}),
	"usage_limit": queryParam("limit", "Page size. Without it, a page has 300 groups, or all days.", map[string]any{"type": "integer", "minimum": 1, "maximum": maxUsageGroups}),
}

// usageNames maps the Go types of responses to the names of their schemas in the
// OpenAPI document.
var usageNames = map[reflect.Type]string{
	reflect.TypeFor[usageReport](): "UsageReport",
	reflect.TypeFor[usageGroup]():  "UsageGroup",
	reflect.TypeFor[runCounts]():   "RunCounts",
}

// usageRoutes returns the route of the usage report. It is limited to the flows of the key.
func (s *Server) usageRoutes() api.Extension {
	return api.Extension{Names: usageNames, Params: usageParams, Routes: []api.Route{{
		Method: get, Path: "/v1/usage", Scopes: []flow.Scope{flow.ScopeRead}, Handle: s.showUsage,
		Role: flow.MemberViewer, Commands: []string{"usage"},
		Doc: openapi.Operation{ID: "showUsage", Tag: "Usage", Summary: "Sum up runs, tokens and cost",
			Text:   "Of the flows that the key may call, also by runs of other keys. Runs count on the day on which they ended, tokens and cost on the day on which they were used. Groups with the highest cost come first, days in their order. The total is that of all pages.",
			Params: []string{"by", "usage_from", "usage_to", "usage_limit", "cursor"}, Problems: []flow.Code{flow.CodeInputInvalid},
			Answers: openapi.OK("The sums.", usageReport{})},
	}}}
}

// usageReport is the JSON of a report.
type usageReport struct {
	By    string       `json:"by"`
	From  string       `json:"from" doc:"The first day."`
	To    string       `json:"to" doc:"The last day."`
	Usage []usageGroup `json:"usage"`
	Total usageGroup   `json:"total"`

	NextCursor *string `json:"next_cursor" doc:"Pass it as cursor, with the same other parameters, to get the next page; null on the last page."`
}

// usageGroup is the sum of one day, flow, key or model.
type usageGroup struct {
	Day    string      `json:"day,omitempty" doc:"With by=day."`
	FlowID flow.FlowID `json:"flow_id,omitempty" doc:"With by=flow."`
	KeyID  *string     `json:"key_id,omitempty" doc:"With by=key; empty for runs without a key, such as those of forms."`
	Name   string      `json:"name,omitempty" doc:"Of the flow or key."`
	Model  string      `json:"model,omitempty" doc:"With by=model."`
	Runs   *runCounts  `json:"runs,omitempty" doc:"Runs that ended. Absent with by=model, since a run may use several models."`
	Usage  flow.Usage  `json:"usage"`
	Cost   api.Cost    `json:"cost"`
}

// runCounts are the runs of a group and how long they took.
type runCounts struct {
	Total     int64 `json:"total"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	Canceled  int64 `json:"canceled"`
	MedianMS  int64 `json:"median_ms" doc:"Median duration in milliseconds, within 9 %."`
	P95MS     int64 `json:"p95_ms" doc:"95 % of the runs took no longer, within 9 %."`
}

// usageSum is the sum of rows of usage.
type usageSum struct {
	flow.UsageDay
	took histogram.Histogram
}

// add adds a row. Durations are counted in buckets, because the median of several days cannot be
// computed from their medians.
func (u *usageSum) add(d *flow.UsageDay) {
	if u.took == nil {
		u.took = histogram.Histogram{}
	}
	u.Add(d)
	u.took[d.Bucket] += d.Succeeded + d.Failed
}

// group returns the JSON of the sum. The caller sets the day, flow, key or model.
func (u *usageSum) group(by string) usageGroup {
	g := usageGroup{Usage: u.Usage, Cost: api.CostOf(u.Usage)}
	if by != byModel {
		g.Runs = &runCounts{u.Runs, u.Succeeded, u.Failed, u.Canceled, u.took.Quantile(0.5).Milliseconds(), u.took.Quantile(0.95).Milliseconds()}
	}
	return g
}

// showUsage is GET usage.
func (s *Server) showUsage(c *api.Call) error {
	q, err := c.QueryTexts("by", "from", "to")
	if err != nil {
		return err
	}
	after, limit, err := api.QueryAfterUpTo(c, maxUsageGroups, 0)
	if err != nil {
		return err
	}
	by := cmp.Or(q["by"], byDay)
	first, last, err := usageSpan(by, q["from"], q["to"], s.now())
	if err != nil {
		return err
	}
	ctx, ws := c.Request().Context(), c.Key.WorkspaceID
	rows, err := s.Store.Usage(ctx, ws, first, last)
	if err != nil {
		return err
	}
	sums, total := map[string]*usageSum{}, &usageSum{}
	if by == byDay {
		for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
			sums[day.Format(time.DateOnly)] = &usageSum{} // days without runs too
		}
	}
	for i := range rows {
		d := &rows[i]
		if !c.Key.Allows(d.FlowID) {
			continue
		}
		total.add(d)
		name := map[string]string{byDay: d.Day, byFlow: string(d.FlowID), byKey: d.KeyID, byModel: d.Model}[by]
		if by == byModel && name == "" {
			continue
		}
		if sums[name] == nil {
			sums[name] = &usageSum{}
		}
		sums[name].add(d)
	}
	report := usageReport{By: by, From: first.Format(time.DateOnly), To: last.Format(time.DateOnly), Total: total.group(byDay)}
	page, next, err := usagePage(by, sums, after, limit)
	if err != nil {
		return err
	}
	report.NextCursor = next
	report.Usage, err = s.usageGroups(c, by, page, sums)
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, report)
}

// usageSpan returns the first and last day of a report.
func usageSpan(by, from, to string, now time.Time) (first, last time.Time, err error) {
	var wrong []flow.Problem
	read := func(name, text string) time.Time {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			wrong = append(wrong, flow.Problem{Pointer: flow.Pointer(name), Code: "invalid", Detail: "wanted a day such as 2026-01-31"})
		}
		return day
	}
	if !slices.Contains(usageGroups, by) {
		wrong = append(wrong, flow.Problem{Pointer: "/by", Code: "not_allowed", Detail: "wanted one of day, flow, key, model"})
	}
	last = now.UTC().Truncate(24 * time.Hour)
	if to != "" {
		last = read("to", to)
	}
	first = last.AddDate(0, 0, 1-usageDays)
	if from != "" {
		first = read("from", from)
	}
	if len(wrong) == 0 && (last.Before(first) || last.Sub(first) >= maxUsageDays*24*time.Hour) {
		wrong = append(wrong, flow.Problem{Pointer: "/from", Code: "out_of_range", Detail: "wanted a day that is not after to, and at most 366 days"})
	}
	return first, last, api.Invalid(wrong...)
}

// usagePage returns the names of the groups on the page after a cursor, and the cursor of the next one. A limit of 0 is the usual one.
func usagePage(by string, sums map[string]*usageSum, after string, limit int) (page []string, next *string, err error) {
	page = slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		if by == byDay {
			return cmp.Compare(a, b)
		}
		x, y := sums[a], sums[b]
		return cmp.Or(cmp.Compare(y.Usage.CostNanoUSD, x.Usage.CostNanoUSD), cmp.Compare(y.Runs, x.Runs), cmp.Compare(a, b))
	})
	if after != "" {
		at := slices.Index(page, strings.TrimPrefix(after, usageCursor))
		if at < 0 || !strings.HasPrefix(after, usageCursor) {
			return nil, nil, api.Invalid(flow.Problem{Pointer: "/cursor", Code: "invalid", Detail: "wanted the next_cursor of an earlier answer"})
		}
		page = page[at+1:]
	}
	switch {
	case limit == 0 && by == byDay:
		limit = maxUsageDays
	case limit == 0:
		limit = maxUsageGroups
	}
	page, next = api.Page(page, limit, func(name *string) string { return usageCursor + *name })
	return page, next, nil
}

// usageCursor precedes the name of a group in a cursor, since that of runs without a key is empty.
const usageCursor = "after "

// usageGroups returns the JSON of the sums with some names, in that order, with the names of flows and keys.
func (s *Server) usageGroups(c *api.Call, by string, order []string, sums map[string]*usageSum) ([]usageGroup, error) {
	names, err := s.usageLabels(c, by)
	if err != nil {
		return nil, err
	}
	list := []usageGroup{}
	for _, name := range order {
		g := sums[name].group(by)
		switch by {
		case byDay:
			g.Day = name
		case byFlow:
			g.FlowID = flow.FlowID(name)
		case byKey:
			g.KeyID = &name
		case byModel:
			g.Model = name
		}
		g.Name = names[name]
		list = append(list, g)
	}
	return list, nil
}

// usageLabels returns the names of flows or keys by ID.
func (s *Server) usageLabels(c *api.Call, by string) (map[string]string, error) {
	names, ctx, ws := map[string]string{}, c.Request().Context(), c.Key.WorkspaceID
	var err error
	switch by {
	case byFlow:
		var heads []flow.Flow
		heads, err = s.Store.ListFlowHeads(ctx, ws)
		for i := range heads {
			names[string(heads[i].ID)] = heads[i].Name
		}
	case byKey:
		var keys []flow.Key
		keys, err = s.Store.ListKeys(ctx, ws)
		for i := range keys {
			names[keys[i].ID] = keys[i].Name
		}
	}
	return names, err
}
