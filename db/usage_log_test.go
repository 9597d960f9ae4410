package db_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
)

// TestFoldUsage_does_not_change_usage ends runs in two processes while both aggregate
// the usage log.
func TestFoldUsage_does_not_change_usage(t *testing.T) {
	const runs = 40
	onTwoStores(t, func(t *testing.T, here, there *fixture) {
		there.flow = here.flow
		var all sync.WaitGroup
		for _, w := range []*fixture{here, there} {
			for range runs {
				all.Go(func() {
					r := w.take(w.start().ID)
					r.Usage.CostNanoUSD = 7
					w.must(w.finish(r, flow.RunSucceeded, spent("a", 7)))
				})
			}
			all.Go(func() {
				for range 5 {
					w.must(w.FoldUsage(w.ctx))
				}
			})
		}
		all.Wait()
		read := func() string {
			now := time.Now()
			days, err := here.Usage(here.ctx, ws, now.AddDate(0, 0, -1), now)
			here.must(err)
			total, cost := int64(0), int64(0)
			for _, d := range days {
				total, cost = total+d.Runs, int64(flow.NanoUSD(cost)+d.Usage.CostNanoUSD)
			}
			stats, err := here.FlowStats(here.ctx, ws, []flow.FlowID{here.flow.ID}, now)
			here.must(err)
			day := stats[here.flow.ID]
			return fmt.Sprintf("%d runs, %d nano-dollars; by the hour %d runs, %d nano-dollars", total, cost, day.Runs, day.CostNanoUSD)
		}
		want := fmt.Sprintf("%d runs, %d nano-dollars; by the hour %d runs, %d nano-dollars", 2*runs, 2*runs*7, 2*runs, 2*runs*7)
		wantEqual(t, "logged", read(), want)
		here.must(here.FoldUsage(here.ctx))
		there.must(there.FoldUsage(there.ctx))
		wantEqual(t, "added up", read(), want)
		if pool := db.Pool(here.Store); pool != nil {
			left := -1
			here.must(pool.QueryRow(here.ctx, "SELECT count(*) FROM usage_log").Scan(&left))
			wantEqual(t, "left in the log", left, 0)
		}
	})
}

// spent returns a step with a cost.
func spent(path string, nanoUSD int64) flow.Step {
	s := step(path)
	s.Spent = flow.Usage{CostNanoUSD: flow.NanoUSD(nanoUSD)}
	s.Usage = s.Spent
	return s
}
