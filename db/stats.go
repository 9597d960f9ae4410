package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/histogram"
)

// FlowStats returns the statistics of flows for the 24 hours up to now. They are
// empty for a flow without runs or of another workspace.
func (s *Flows) FlowStats(ctx context.Context, ws flow.WorkspaceID, flowIDs []flow.FlowID, now time.Time) (map[flow.FlowID]flow.Day, error) {
	return core.FromReplica(ctx, s.DB, func(ctx context.Context) (map[flow.FlowID]flow.Day, error) { return s.flowStats(ctx, ws, flowIDs, now) })
}

func (s *Flows) flowStats(ctx context.Context, ws flow.WorkspaceID, flowIDs []flow.FlowID, now time.Time) (map[flow.FlowID]flow.Day, error) {
	days := make(map[flow.FlowID]flow.Day, len(flowIDs))
	for _, id := range flowIDs {
		rows, err := s.DB.Reads.ListFlowHours(ctx, gen.ListFlowHoursParams{
			WorkspaceID: ws, FlowID: id, AfterHour: core.HourOf(now) - int64(len(flow.Day{}.Hours)), UntilHour: core.HourOf(now),
		})
		if err != nil {
			return nil, fmt.Errorf("hours of %s: %w", id, err)
		}
		days[id] = dayOfHours(rows, core.HourOf(now))
	}
	return days, nil
}

// UsageHours returns the usage of flows in the 24 hours up to now, by hour, flow and bucket of the
// duration. Tokens, keys and models are not counted by the hour.
func (s *Flows) UsageHours(ctx context.Context, ws flow.WorkspaceID, flowIDs []flow.FlowID, now time.Time) (list []flow.UsageHour, err error) {
	for _, id := range flowIDs {
		rows, err := s.DB.Reads.ListFlowHours(ctx, gen.ListFlowHoursParams{
			WorkspaceID: ws, FlowID: id, AfterHour: core.HourOf(now) - int64(len(flow.Day{}.Hours)), UntilHour: core.HourOf(now),
		})
		if err != nil {
			return nil, fmt.Errorf("hours of %s: %w", id, err)
		}
		for _, r := range rows {
			list = append(list, flow.UsageHour{
				Ago: int(core.HourOf(now) - r.Hour), FlowID: id, Bucket: int(r.Bucket), Succeeded: r.Succeeded, Failed: r.Failed, Canceled: r.Canceled, CostNanoUSD: r.CostNanoUsd,
			})
		}
	}
	return list, nil
}

// dayOfHours sums the rows of one flow over the 24 hours that end with the hour last. Rows
// must not be of other hours.
func dayOfHours(rows []gen.ListFlowHoursRow, last int64) (d flow.Day) {
	durations := histogram.Histogram{}
	for _, r := range rows {
		h := &d.Hours[len(d.Hours)-1-int(last-r.Hour)]
		h.Runs += r.Succeeded + r.Failed + r.Canceled
		h.Failed += r.Failed
		d.Runs += r.Succeeded + r.Failed + r.Canceled
		d.Succeeded += r.Succeeded
		d.Failed += r.Failed
		d.CostNanoUSD += r.CostNanoUsd
		durations[int(r.Bucket)] += r.Succeeded + r.Failed
	}
	d.P95 = durations.Quantile(0.95)
	return d
}

// CountOpenRuns returns the number of runs in a state that is not final. The number
// of queued runs is stored, so it is not counted.
func (s *Runs) CountOpenRuns(ctx context.Context, state flow.RunState) (int64, error) {
	if state == flow.RunWaiting {
		return s.DB.Reads.CountWaiting(ctx)
	}
	n, err := s.DB.Reads.CountAdmittedIn(ctx, string(state))
	if err != nil || state != flow.RunQueued {
		return n, err
	}
	queued, err := s.DB.Reads.QueueLength(ctx)
	return n + queued, err
}
