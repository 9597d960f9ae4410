package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/audittext"
	"sluice/flow/document"
	"sluice/nodes"
)

// flowLimitsCmd shows the limits of a flow and changes those that are given. Limits
// apply to runs that start later; queued and running ones are unaffected. Budgets are
// per UTC day because all instances must agree on when a day begins.
type flowLimitsCmd struct {
	ID            string   `arg:"" help:"ID of the flow."`
	MaxRunning    *int64   `help:"Maximum concurrent runs; further ones are queued. 0 means unlimited, as below." placeholder:"N"`
	MaxQueued     *int64   `help:"Queue limit; further runs are rejected (429)." placeholder:"N"`
	RunsPerDay    *int64   `help:"Maximum runs per UTC day." placeholder:"N"`
	USDPerDay     *float64 `name:"usd-per-day" help:"Maximum cost per UTC day in dollars." placeholder:"USD"`
	AllowUnpriced string   `name:"allow-unpriced" help:"yes or no: whether runs may use models whose price is unknown although there is a limit in dollars." placeholder:"yes|no"`
	JSON          bool     `help:"Print as JSON."`
}

// Run sets the limits that are given, keeps the others, and shows all of them.
func (c flowLimitsCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	f, err := store.FindFlow(ctx, cfg.workspace(), c.ID)
	if err != nil {
		return notFound(err, "there is no such flow; 'sluice flow list' lists the flows")
	}
	if err := c.set(ctx, store, f); err != nil {
		return err
	}
	budgets, err := store.FlowBudgets(ctx, f)
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSON(s.out, limitsJSON(f, budgets))
	} else {
		err = printLimits(s, f, budgets)
	}
	if err != nil {
		return err
	}
	return warnUnpriced(ctx, cfg, store, s, f)
}

// set stores the given limits, if any, and records the change in the audit log.
func (c flowLimitsCmd) set(ctx context.Context, store *db.Store, f *flow.Flow) error {
	limits, given := f.Limits, false
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
			return usageError("--usd-per-day is a number of dollars from 0 to a million")
		}
		limits.USDPerDay, given = flow.USDOf(*usd), true
	}
	switch c.AllowUnpriced {
	case "":
	case "yes", "no":
		limits.AllowUnpriced, given = c.AllowUnpriced == "yes", true
	default:
		return usageError("--allow-unpriced is yes or no")
	}
	if !given {
		return nil
	}
	if len(limits.Check()) > 0 {
		return usageError("a limit is a whole number from 0, which is no limit, to 1,000,000,000")
	}
	if err := store.SetFlowLimits(ctx, f.WorkspaceID, f.ID, limits); err != nil {
		return err
	}
	before := f.Limits
	f.Limits = limits
	return store.Audit(ctx, f.WorkspaceID, "cli", "flow.limits", f.ID, audittext.LimitChanges(before, limits))
}

// limitsJSON returns the limits and today's use as JSON; null means unlimited.
func limitsJSON(f *flow.Flow, budgets []flow.Budget) map[string]any {
	out := map[string]any{
		"id": f.ID, "max_running": positiveOrNil(f.MaxRunning), "max_queued": positiveOrNil(f.MaxQueued),
		"runs_per_day": positiveOrNil(f.RunsPerDay), "usd_per_day": nil, "allow_unpriced": f.AllowUnpriced, "runs_today": nil, "usd_today": nil,
	}
	if f.USDPerDay > 0 {
		out["usd_per_day"] = f.USDPerDay.Rounded()
	}
	for i := range budgets {
		if b := &budgets[i]; b.Unit == flow.BudgetUSD {
			out["usd_today"] = flow.NanoUSD(b.Used).Rounded()
		} else {
			out["runs_today"] = b.Used
		}
	}
	return out
}

// printLimits prints the limits and today's use as a table.
func printLimits(s *streams, f *flow.Flow, budgets []flow.Budget) error {
	used := func(unit flow.BudgetUnit) string {
		i := slices.IndexFunc(budgets, func(b flow.Budget) bool { return b.Unit == unit })
		switch {
		case i < 0:
			return ""
		case unit == flow.BudgetUSD:
			return flow.NanoUSD(budgets[i].Used).Rounded() + " today"
		}
		return fmt.Sprintf("%d today", budgets[i].Used)
	}
	count := func(n int64) string {
		if n == 0 {
			return "no limit"
		}
		return fmt.Sprint(n)
	}
	usd := "no limit"
	if f.USDPerDay > 0 {
		usd = f.USDPerDay.Rounded()
	}
	w := tabwriter.NewWriter(s.out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "Concurrent runs\t%s\t\n", count(f.MaxRunning))
	fmt.Fprintf(w, "Queued runs\t%s\t\n", count(f.MaxQueued))
	fmt.Fprintf(w, "Runs per UTC day\t%s\t%s\n", count(f.RunsPerDay), used(flow.BudgetRuns))
	fmt.Fprintf(w, "Dollars per UTC day\t%s\t%s\n", usd, used(flow.BudgetUSD))
	return w.Flush()
}

// warnUnpriced names the models without a price, which make a budget in dollars refuse
// starts or miss their cost.
func warnUnpriced(ctx context.Context, cfg *Config, store *db.Store, s *streams, f *flow.Flow) error {
	d, _ := document.ParseDocument(f.Draft)
	if f.USDPerDay == 0 || d == nil {
		return nil
	}
	book, err := cfg.priceBook(store, store.Now)
	if err != nil {
		return err
	}
	models, err := document.Unpriced(ctx, document.Charges(d, nodes.New(nodes.Deps{})), book, f.WorkspaceID)
	if err != nil || len(models) == 0 {
		return err
	}
	effect := "so starts are refused (price_unknown); --allow-unpriced yes allows them"
	if f.AllowUnpriced {
		effect = "so their cost does not count towards the daily budget"
	}
	fmt.Fprintf(s.err, "There is no price for %s, %s. Set prices with 'sluice price set'.\n", strings.Join(models, ", "), effect)
	return nil
}
