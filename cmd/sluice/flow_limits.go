package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"sluice/cmd/sluice/client"
	"sluice/handlers/admin"
)

// flowLimitsCmd shows the limits of a flow and changes those that have flags. Limits apply
// to runs that start later; queued and running ones are unaffected. Budgets are per UTC day
// because all instances must agree on when a day begins.
type flowLimitsCmd struct {
	ID            string    `arg:"" help:"ID or slug of the flow."`
	Body          bodyFlags `body:"LimitFlow" names:"allow_unpriced=-"`
	AllowUnpriced string    `name:"allow-unpriced" help:"yes or no: whether runs may use models whose price is unknown although there is a limit in dollars." enum:"yes,no" placeholder:"yes|no"`
	JSON          bool      `help:"Print as JSON."`
}

// RunAPI sets the limits that have flags, keeps the others, and shows all of them. 0 removes a limit.
func (c flowLimitsCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	body, err := c.Body.values()
	if err != nil {
		return err
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
		return notFound(c.Body.explain(err), noFlow)
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
