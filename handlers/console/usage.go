package console

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"sluice/flow"
	"sluice/flow/histogram"
	"sluice/flow/sorting"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

const (
	dayFormat = time.DateOnly
	oneDay    = 24 * time.Hour
	// maxUsageDays bounds the range. The range of the same length before it is read
	// for comparison.
	maxUsageDays = 366
	// shownBudgets bounds the budgets on the page.
	shownBudgets = 50
	// topParts is the largest number of flows, keys and models in each list.
	topParts = 8
)

// usageRoutes returns the route of the usage page. Viewers may see the costs of all flows.
func (s *Server) usageRoutes() []route {
	return []route{{http.MethodGet, "/usage", web.Viewer, (*call).showUsage}}
}

// usageSpan is a range of days. Both ends are inclusive.
type usageSpan struct{ first, last time.Time }

// days returns the number of days.
func (u usageSpan) days() int { return int(u.last.Sub(u.first)/oneDay) + 1 }

// before returns the range of equal length before this one, for comparison.
func (u usageSpan) before() usageSpan {
	return usageSpan{u.first.AddDate(0, 0, -u.days()), u.first.AddDate(0, 0, -1)}
}

// showUsage is GET /usage. Days are UTC.
func (c *call) showUsage() error {
	page := consoleview.UsagePage{}
	span := c.readUsageFilter(&page.Filter)
	list := consoleview.RunsPage{Filter: consoleview.RunsFilter{Flow: page.Filter.Flow, Key: page.Filter.Key}}
	n, err := c.listRunLabels(&list)
	if err != nil {
		return err
	}
	page.Flows, page.Keys = list.Flows, list.Keys
	if err := c.budgets(&page); err != nil {
		return err
	}
	if page.Quotas, err = c.quotas(); err != nil {
		return err
	}
	if len(page.Filter.Errors) > 0 {
		return c.Render(http.StatusUnprocessableEntity, consoleview.Usage(c.Page("Usage", layout.SectionUsage), page))
	}
	rows, err := c.s.Store.Usage(c.Ctx(), c.WorkspaceID(), span.before().first, span.last)
	if err != nil {
		return err
	}
	bases, err := c.s.Store.ListBases(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	for i := range bases { // the flows that index them have no name
		n.flows[string(bases[i].FlowID)] = "Knowledge: " + bases[i].Name
	}
	fillUsage(&page, span, &n, rows)
	if err := c.fillUsageHours(&page, rows); err != nil {
		return err
	}
	return c.Render(http.StatusOK, consoleview.Usage(c.Page("Usage", layout.SectionUsage), page))
}

// readUsageFilter reads the filter from the query and returns its days, by default
// the last 30.
func (c *call) readUsageFilter(f *consoleview.UsageFilter) usageSpan {
	q := c.Request().URL.Query()
	*f = consoleview.UsageFilter{
		Range: q.Get("range"), Flow: validID(flow.PrefixFlow, q.Get("flow")), Key: validID(flow.PrefixKey, q.Get("key")), Model: q.Get("model"), Errors: components.Errors{},
	}
	today := c.s.Now().UTC().Truncate(oneDay)
	if f.Range != customSpan {
		days, err := strconv.Atoi(f.Range)
		if err != nil || days != 7 && days != 90 {
			days = 30
		}
		f.Range = strconv.Itoa(days)
		return usageSpan{today.AddDate(0, 0, 1-days), today}
	}
	f.From, f.Until = q.Get("from"), q.Get("until")
	if f.From == "" && f.Until == "" { // "Custom" was just selected
		f.From, f.Until = today.AddDate(0, 0, -29).Format(dayFormat), today.Format(dayFormat)
	}
	span := usageSpan{readDay(f.Errors, "from", f.From), readDay(f.Errors, "until", f.Until)}
	switch {
	case len(f.Errors) > 0:
	case span.last.Before(span.first):
		f.Errors["until"] = "Choose a day that is not before the first."
	case span.days() > maxUsageDays:
		f.Errors["until"] = "Choose at most one year."
	}
	return span
}

// readDay parses the value of a date input as UTC.
func readDay(errors components.Errors, name, text string) time.Time {
	day, err := time.Parse(dayFormat, text)
	if err != nil {
		errors[name] = "Choose a day."
	}
	return day
}

// budgets returns the daily budgets of active keys and flows, with their use today: those with the
// largest share of their limit first, at most shownBudgets.
func (c *call) budgets(page *consoleview.UsagePage) error {
	flows, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	flows = slices.DeleteFunc(flows, func(f flow.Flow) bool { return !f.ArchivedAt.IsZero() })
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	now := c.s.Now()
	active := func(k *flow.Key) bool {
		return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || !k.ExpiresAt.Before(now))
	}
	budgets, err := c.s.Store.AllBudgets(c.Ctx(), c.WorkspaceID(), flows, keys, active)
	if err != nil {
		return err
	}
	page.Budgets = budgetRows(budgets)
	if n := len(page.Budgets); n > shownBudgets {
		sorting.By(page.Budgets, func(a, b consoleview.UsageBudget) int {
			return cmp.Compare(float64(b.Used)/float64(max(1, b.Allowed)), float64(a.Used)/float64(max(1, a.Allowed)))
		})
		page.Budgets, page.MoreBudgets = page.Budgets[:shownBudgets], n-shownBudgets
	}
	return nil
}

// quotas returns the quotas of the workspace, with the storage in use.
func (c *call) quotas() (list []consoleview.UsageQuota, err error) {
	w, err := c.s.Store.FindStorage(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return nil, err
	}
	for _, k := range flow.QuotaUnits {
		list = append(list, consoleview.UsageQuota{Unit: string(k), Used: w.Used.Get(k), Limit: w.Limit.Get(k)})
	}
	return list, nil
}

// budgetRows converts the budgets of a key or flow. The view has money in millionths
// of a dollar.
func budgetRows(budgets []flow.Budget) (list []consoleview.UsageBudget) {
	for i := range budgets {
		b := &budgets[i]
		shown := consoleview.UsageBudget{Name: b.Name, Key: b.KeyID != "", Runs: b.Unit == flow.BudgetRuns, Used: b.Used, Allowed: b.Limit}
		if b.FlowID != "" {
			shown.Href = "/flows/" + string(b.FlowID) + "/limits"
		}
		if !shown.Runs {
			shown.Used, shown.Allowed = flow.NanoUSD(b.Used).Micros(), flow.NanoUSD(b.Limit).Micros()
		}
		list = append(list, shown)
	}
	return list
}

// usageCount accumulates usage. Money is summed in billionths of a dollar and rounded
// once at the end.
type usageCount struct {
	consoleview.UsageSum
	cost flow.NanoUSD
	took histogram.Histogram
}

// add adds a row. Durations are kept as a histogram, because quantiles of several days
// cannot be computed from daily quantiles. Canceled runs have no duration.
func (u *usageCount) add(d *flow.UsageDay) {
	if u.took == nil {
		u.took = histogram.Histogram{}
	}
	u.Runs, u.Succeeded, u.Failed, u.Canceled = u.Runs+d.Runs, u.Succeeded+d.Succeeded, u.Failed+d.Failed, u.Canceled+d.Canceled
	u.InputTokens, u.OutputTokens = u.InputTokens+d.Usage.InputTokens, u.OutputTokens+d.Usage.OutputTokens
	u.Unpriced += d.Usage.UnpricedSteps
	u.cost += d.Usage.CostNanoUSD
	u.took[d.Bucket] += d.Succeeded + d.Failed
}

// sum returns the totals, with the latencies read from the histogram.
func (u *usageCount) sum() consoleview.UsageSum {
	s := u.UsageSum
	s.Micros, s.Median, s.P95 = u.cost.Micros(), u.took.Quantile(0.5), u.took.Quantile(0.95)
	return s
}

// usageCounts are sums by name.
type usageCounts map[string]*usageCount

// add adds a row of a day to the sum with a name, which is an ID or a model.
func (m usageCounts) add(name string, d *flow.UsageDay) {
	if m[name] == nil {
		m[name] = &usageCount{}
	}
	m[name].add(d)
}

// fillUsage sums the rows of the range in total, by day, and by flow, key and model,
// and the rows of the range before it in total.
func fillUsage(page *consoleview.UsagePage, span usageSpan, n *runLabels, rows []flow.UsageDay) {
	var now, before usageCount
	days, flows, keys, models, all := usageCounts{}, usageCounts{}, usageCounts{}, usageCounts{}, map[string]bool{}
	first := span.first.Format(dayFormat)
	for i := range rows {
		d := &rows[i]
		if d.Model != "" {
			all[d.Model] = true
		}
		if !matchesUsage(&page.Filter, d) {
			continue
		}
		if d.Day < first {
			before.add(d)
			continue
		}
		now.add(d)
		days.add(d.Day, d)
		flows.add(string(d.FlowID), d)
		keys.add(d.KeyID, d)
		if d.Model != "" {
			models.add(d.Model, d)
		}
	}
	page.Total, page.Previous = now.sum(), before.sum()
	for _, m := range sorting.Keys(all) {
		page.Models = append(page.Models, components.Option{Value: m, Label: m})
	}
	for day := span.first; !day.After(span.last); day = day.AddDate(0, 0, 1) {
		sum := consoleview.UsageSum{}
		if u := days[day.Format(dayFormat)]; u != nil {
			sum = u.sum()
		}
		page.Days = append(page.Days, consoleview.UsageDay{Day: day, UsageSum: sum})
	}
	f := &page.Filter
	page.TopFlows = topUsage(f, "flow", flows, n.flows, "")
	page.TopKeys = topUsage(f, "key", keys, n.keys, "No key")
	page.TopModels = topUsage(f, "model", models, nil, "")
}

// maxHourlyFlows is the largest number of flows whose hours are read.
const maxHourlyFlows = 100

// fillUsageHours adds the last 24 hours on the first day with usage. Keys and models are not counted by
// the hour.
func (c *call) fillUsageHours(page *consoleview.UsagePage, rows []flow.UsageDay) error {
	now, f := c.s.Now().UTC(), &page.Filter
	if len(rows) == 0 || f.Range == customSpan || f.Key != "" || f.Model != "" {
		return nil
	}
	var ids []flow.FlowID
	for i := range rows {
		if rows[i].Day != now.Format(dayFormat) {
			return nil
		}
		if id := rows[i].FlowID; !slices.Contains(ids, id) && (f.Flow == "" || string(id) == f.Flow) && len(ids) < maxHourlyFlows {
			ids = append(ids, id)
		}
	}
	list, err := c.s.Store.UsageHours(c.Ctx(), c.WorkspaceID(), ids, now)
	if err != nil {
		return err
	}
	var hours [24]usageCount
	for i := range list {
		h := &list[i]
		hours[len(hours)-1-h.Ago].add(&flow.UsageDay{
			Bucket: h.Bucket, Runs: h.Succeeded + h.Failed + h.Canceled, Succeeded: h.Succeeded, Failed: h.Failed, Canceled: h.Canceled,
			Usage: flow.Usage{CostNanoUSD: h.CostNanoUSD},
		})
	}
	for i := range hours {
		at := now.Truncate(time.Hour).Add(time.Duration(i+1-len(hours)) * time.Hour)
		page.Hours = append(page.Hours, consoleview.UsageDay{Day: at, UsageSum: hours[i].sum()})
	}
	return nil
}

// matchesUsage reports whether a row matches the filter.
func matchesUsage(f *consoleview.UsageFilter, d *flow.UsageDay) bool {
	return (f.Flow == "" || string(d.FlowID) == f.Flow) && (f.Key == "" || d.KeyID == f.Key) && (f.Model == "" || d.Model == f.Model)
}

// topUsage returns the largest parts by the measure of usageMeasure. nameless is the
// name of the part without an ID.
func topUsage(f *consoleview.UsageFilter, param string, counts usageCounts, labels map[string]string, nameless string) (parts []consoleview.UsagePart) {
	amount, text := usageMeasure(counts)
	var total int64
	for _, u := range counts {
		total += amount(u)
	}
	ids := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(amount(counts[b]), amount(counts[a])), cmp.Compare(a, b))
	})
	for _, id := range ids[:min(len(ids), topParts)] {
		if total > 0 && amount(counts[id]) == 0 {
			break
		}
		part := consoleview.UsagePart{Name: cmp.Or(labels[id], id, nameless), Amount: text(amount(counts[id])), Share: float64(amount(counts[id])) / float64(max(1, total))}
		if id != "" {
			part.Href = f.With(param, id)
		}
		parts = append(parts, part)
	}
	return parts
}

// usageMeasure returns the measure for topUsage and its format: cost, or runs if all
// costs are 0, or tokens if there are no runs.
func usageMeasure(counts usageCounts) (amount func(*usageCount) int64, text func(int64) string) {
	var cost flow.NanoUSD
	var runs int64
	for _, u := range counts {
		cost, runs = cost+u.cost, runs+u.Runs
	}
	switch {
	case cost > 0:
		return func(u *usageCount) int64 { return int64(u.cost) }, func(n int64) string { return components.Money(flow.NanoUSD(n).Micros()) }
	case runs > 0:
		return func(u *usageCount) int64 { return u.Runs }, func(n int64) string { return components.Quantity(int(n), "run") }
	}
	return func(u *usageCount) int64 { return u.InputTokens + u.OutputTokens }, func(n int64) string { return components.Quantity(int(n), "token") }
}
