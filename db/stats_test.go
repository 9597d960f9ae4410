package db_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/flow"
)

// took ends a run after a duration, with a step that cost some nano-dollars.
func (w *fixture) took(d time.Duration, state flow.RunState, cost int64) {
	w.t.Helper()
	r := w.take(w.start().ID)
	w.clock.move(d)
	r.Usage.CostNanoUSD = flow.NanoUSD(cost)
	w.must(w.finish(r, state))
}

func TestFlowStats(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.took(time.Second, flow.RunFailed, 1_000) // a day before, which is not counted
		w.clock.move(24 * time.Hour)
		for range 8 {
			w.took(time.Second, flow.RunSucceeded, 1)
		}
		w.clock.move(2 * time.Hour)
		w.took(time.Minute, flow.RunFailed, 1)
		w.took(time.Hour, flow.RunCanceled, 1)

		idle := w.newFlow(ws)
		days, err := w.FlowStats(w.ctx, ws, []flow.FlowID{w.flow.ID, idle.ID}, w.clock.Now())
		w.must(err)
		d := days[w.flow.ID]
		wantEqual(t, "runs", [3]int64{d.Runs, d.Succeeded, d.Failed}, [3]int64{10, 8, 1})
		wantEqual(t, "success", d.Success(), 8./9)
		wantEqual(t, "cost", d.CostNanoUSD, 10)
		wantEqual(t, "hours", [4]flow.Hour(d.Hours[20:]), [4]flow.Hour{{Runs: 8}, {}, {Runs: 1, Failed: 1}, {Runs: 1}})
		wantEqual(t, "p95", d.P95.Round(10*time.Second), time.Minute)
		wantEqual(t, "a flow without runs", days[idle.ID], flow.Day{})

		hours, err := w.UsageHours(w.ctx, ws, []flow.FlowID{w.flow.ID, idle.ID}, w.clock.Now())
		w.must(err)
		sums := map[int][3]int64{}
		for _, h := range hours {
			s := sums[h.Ago]
			sums[h.Ago] = [3]int64{s[0] + h.Succeeded, s[1] + h.Failed, s[2] + h.Canceled}
		}
		wantEqual(t, "by the hour", fmt.Sprint(sums), fmt.Sprint(map[int][3]int64{0: {0, 0, 1}, 1: {0, 1, 0}, 3: {8, 0, 0}}))
		hours, err = w.UsageHours(w.ctx, "ws_other", []flow.FlowID{w.flow.ID}, w.clock.Now())
		w.must(err)
		wantEqual(t, "hours of others", len(hours), 0)

		days, err = w.FlowStats(w.ctx, "ws_other", []flow.FlowID{w.flow.ID}, w.clock.Now())
		w.must(err)
		wantEqual(t, "a flow of others", days[w.flow.ID], flow.Day{})
	})
}

func TestFlowStats_drop_old_hours(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.took(time.Second, flow.RunSucceeded, 0)
		w.must(w.FoldUsage(w.ctx))
		then := w.clock.Now()
		for _, want := range []int64{1, 0} {
			w.clock.move(48 * time.Hour)
			_, err := w.DropStale(w.ctx, w.clock.Now(), 10)
			w.must(err)
			days, err := w.FlowStats(w.ctx, ws, []flow.FlowID{w.flow.ID}, then)
			w.must(err)
			wantEqual(t, "runs", days[w.flow.ID].Runs, want)
		}
	})
}
