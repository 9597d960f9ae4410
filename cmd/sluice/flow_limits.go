package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/handlers/admin"
)

// flowLimitsCmd shows the limits of a flow and changes those that have flags. Limits apply
// to runs that start later; queued and running ones are unaffected. Budgets are per UTC day
// because all instances must agree on when a day begins.
type flowLimitsCmd struct {
	ID            string   `arg:"" help:"ID or slug of the flow."`
	MaxRunning    *int64   `help:"Maximum concurrent runs; further ones are queued. 0 means unlimited, as below." placeholder:"N"`
	MaxQueued     *int64   `help:"Queue limit; further runs are rejected (429)." placeholder:"N"`
	RunsPerDay    *int64   `help:"Maximum runs per UTC day." placeholder:"N"`
	USDPerDay     *float64 `name:"usd-per-day" help:"Maximum cost per UTC day in dollars." placeholder:"USD"`
	AllowUnpriced string   `name:"allow-unpriced" help:"yes or no: whether runs may use models whose price is unknown although there is a limit in dollars." placeholder:"yes|no"`
	JSON          bool     `help:"Print as JSON."`
}

// RunAPI sets the limits that have flags, keeps the others, and shows all of them. 0 removes a limit.
func (c flowLimitsCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	var none flow.Limits
	if _, err := c.apply(&none); err != nil {
		return err
	}
	body := map[string]any{}
	for name, n := range map[string]*int64{"max_running": c.MaxRunning, "max_queued": c.MaxQueued, "runs_per_day": c.RunsPerDay} {
		if n != nil {
			body[name] = positiveOrNil(*n)
		}
	}
	if usd := c.USDPerDay; usd != nil {
		if body["usd_per_day"] = any(*usd); *usd == 0 {
			body["usd_per_day"] = nil
		}
	}
	if c.AllowUnpriced != "" {
		body["allow_unpriced"] = c.AllowUnpriced == "yes"
	}
	path := "/v1/flow/" + url.PathEscape(c.ID) + "/limits"
	method, sent := "GET", any(nil)
	if len(body) > 0 {
		method, sent = "PATCH", body
	}
	limits, err := fetch[admin.FlowLimits](ctx, api, method, path, sent)
	if err != nil {
		return notFound(err, "there is no such flow; 'sluice flow list' lists the flows")
	}
	return c.print(s, limits)
}

// print prints the limits, and warns of models without a price: with a budget in dollars,
// starts of the flow are refused or the cost of such models is not counted.
func (c flowLimitsCmd) print(s *streams, l admin.FlowLimits) (err error) {
	if c.JSON {
		err = printJSON(s.Out, limitsJSON(l))
	} else {
		err = printLimits(s.Out, l)
	}
	if err != nil || len(l.Unpriced) == 0 {
		return err
	}
	effect := "so starts are refused (price_unknown); --allow-unpriced yes allows them"
	if l.AllowUnpriced {
		effect = "so their cost does not count towards the daily budget"
	}
	fmt.Fprintf(s.Err, "There is no price for %s, %s. Set prices with 'sluice price set'.\n", strings.Join(l.Unpriced, ", "), effect)
	return nil
}

// apply sets the limits that have flags and reports whether there were any. A limit out of
// range is a usage error.
func (c flowLimitsCmd) apply(limits *flow.Limits) (given bool, err error) {
	for _, part := range []struct {
		of *int64
		to *int64
	}{{&limits.MaxRunning, c.MaxRunning}, {&limits.MaxQueued, c.MaxQueued}, {&limits.RunsPerDay, c.RunsPerDay}} {
		if part.to != nil {
			*part.of, given = *part.to, true
		}
	}
	if usd := c.USDPerDay; usd != nil {
		if !(*usd >= 0 && *usd <= flow.MaxUSD.Dollars()) { // also rejects NaN
			return false, usageError("--usd-per-day must be a number of dollars from 0 to 1,000,000")
		}
		limits.USDPerDay, given = flow.USDOf(*usd), true
	}
	switch c.AllowUnpriced {
	case "":
	case "yes", "no":
		limits.AllowUnpriced, given = c.AllowUnpriced == "yes", true
	default:
		return false, usageError("--allow-unpriced must be yes or no")
	}
	if given && len(limits.Check()) > 0 {
		return false, usageError("a limit must be a whole number from 0 (unlimited) to 1,000,000,000")
	}
	return given, nil
}

// limitsJSON returns the limits as the API does, and the ID of the flow also as "id", its
// name in the output of earlier releases.
func limitsJSON(l admin.FlowLimits) any {
	return struct {
		ID string `json:"id"`
		admin.FlowLimits
	}{string(l.FlowID), l}
}

// printLimits prints the limits and today's use as a table.
func printLimits(out io.Writer, l admin.FlowLimits) error {
	count := func(n *int64) string {
		if n == nil {
			return "no limit"
		}
		return number(*n)
	}
	usd, runsToday, usdToday := "no limit", "", ""
	if l.USDPerDay != nil {
		usd = *l.USDPerDay
	}
	if l.RunsToday != nil {
		runsToday = fmt.Sprintf("%d today", *l.RunsToday)
	}
	if l.USDToday != nil {
		usdToday = *l.USDToday + " today"
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "Concurrent runs\t%s\t\n", count(l.MaxRunning))
	fmt.Fprintf(w, "Queued runs\t%s\t\n", count(l.MaxQueued))
	fmt.Fprintf(w, "Runs per UTC day\t%s\t%s\n", count(l.RunsPerDay), runsToday)
	fmt.Fprintf(w, "Dollars per UTC day\t%s\t%s\n", usd, usdToday)
	return w.Flush()
}
