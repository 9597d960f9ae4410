package db

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// hoursLife is how long the hours of flows are kept: one day is shown.
const hoursLife = 48 * time.Hour

// hourEntry is one addition to a row of flow_hours: a run that has ended.
type hourEntry struct {
	hour int64
	cost int64 // nano-dollars, of the whole run
	usageEntry
}

// hourOf counts the hours since 1970.
func hourOf(t time.Time) int64 { return t.Unix() / 3600 }

func compareHours(a, b hourEntry) int {
	return cmp.Or(dbconn.CompareTexts(a.ws, b.ws, a.FlowID, b.FlowID), cmp.Compare(a.hour, b.hour), cmp.Compare(a.Bucket, b.Bucket))
}

// flushHours adds up the runs that ended in this transaction, as flushUsage
// does.
func (tx *Tx) flushHours() error {
	if tx.s.pool != nil {
		return nil // logUsage does it
	}
	for _, sum := range sums(tx.batch.hours, compareHours, (*hourEntry).add) {
		if err := tx.addHour(&sum); err != nil {
			return err
		}
	}
	return nil
}

func (e *hourEntry) add(other *hourEntry) {
	e.UsageDay.Add(&other.UsageDay)
	e.cost += other.cost
}

func (tx *Tx) addHour(e *hourEntry) error {
	return tx.AddFlowHour(tx.ctx, gen.AddFlowHourParams{
		WorkspaceID: e.ws, FlowID: e.FlowID, Hour: e.hour, Bucket: int64(e.Bucket),
		Succeeded: e.Succeeded, Failed: e.Failed, Canceled: e.Canceled, CostNanoUsd: e.cost,
	})
}

// FlowStats tells what each of the flows did in the 24 hours up to now. A flow
// that did nothing, or is not of the workspace, has an empty day.
func (s Flows) FlowStats(ctx context.Context, ws string, flowIDs []string, now time.Time) (map[string]flow.Day, error) {
	days := make(map[string]flow.Day, len(flowIDs))
	for _, id := range flowIDs {
		rows, err := s.read.ListFlowHours(ctx, gen.ListFlowHoursParams{
			WorkspaceID: ws, FlowID: id, AfterHour: hourOf(now) - int64(len(flow.Day{}.Hours)), UntilHour: hourOf(now),
		})
		if err != nil {
			return nil, fmt.Errorf("hours of %s: %w", id, err)
		}
		days[id] = dayOfHours(rows, hourOf(now))
	}
	return days, nil
}

func dayOfHours(rows []gen.ListFlowHoursRow, last int64) (d flow.Day) {
	took := flow.Histogram{}
	for _, r := range rows {
		h := &d.Hours[len(d.Hours)-1-int(last-r.Hour)]
		h.Runs += r.Succeeded + r.Failed + r.Canceled
		h.Failed += r.Failed
		d.Runs += r.Succeeded + r.Failed + r.Canceled
		d.Succeeded += r.Succeeded
		d.Failed += r.Failed
		d.CostNanoUSD += r.CostNanoUsd
		took[int(r.Bucket)] += r.Succeeded + r.Failed
	}
	d.P95 = took.Quantile(0.95)
	return d
}
