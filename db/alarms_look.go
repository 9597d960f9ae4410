package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/alarms"
)

// RunEnds returns the runs of a flow that alarms look at and that ended after a time, the latest first.
func (s *Alarms) RunEnds(ctx context.Context, flowID flow.FlowID, since time.Time, limit int) ([]alarms.End, error) {
	rows, err := s.DB.Reads.ListRunEnds(ctx, gen.ListRunEndsParams{FlowID: flowID, Since: dbconn.Micros(since), MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, func(r gen.ListRunEndsRow) alarms.End {
		return alarms.End{RunID: r.ID, Failed: flow.RunState(r.State) == flow.RunFailed, StartedAt: dbconn.TimeOf(r.StartedAt), EndedAt: dbconn.TimeOf(r.EndedAt), Cost: r.CostNanoUsd}
	}, "list the ends of runs")
}

// LastSuccess returns when a run of a flow last succeeded after a time, or the zero time.
func (s *Alarms) LastSuccess(ctx context.Context, flowID flow.FlowID, since time.Time) (time.Time, error) {
	at, err := s.DB.Reads.LastSuccess(ctx, gen.LastSuccessParams{FlowID: flowID, Since: dbconn.Micros(since)})
	if dbconn.IsNoRows(err) {
		return time.Time{}, nil
	}
	return dbconn.TimeOf(at), err
}

// OpenRuns returns runs in progress that started before a time and have cost at least an amount: those of a flow, or with an empty
// ID those of a workspace.
func (s *Alarms) OpenRuns(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, before time.Time, least flow.NanoUSD, limit int) ([]alarms.End, error) {
	rows, err := s.DB.Reads.ListOpenRuns(ctx, gen.ListOpenRunsParams{WorkspaceID: ws, FlowID: flowID, StartedBefore: dbconn.Micros(before), Least: least, MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, func(r gen.ListOpenRunsRow) alarms.End {
		return alarms.End{RunID: r.ID, StartedAt: dbconn.TimeOf(r.StartedAt), Cost: r.CostNanoUsd, InProgress: true}
	}, "list open runs")
}

// CostOf returns what a flow, or with an empty ID a workspace, has cost on the UTC day of a time, and on the seven days before it.
func (s *Alarms) CostOf(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, now time.Time) (today, before flow.NanoUSD, err error) {
	sum := func(from, to time.Time) (total int64) {
		if err == nil {
			total, err = s.DB.Reads.SumCost(ctx, gen.SumCostParams{WorkspaceID: ws, FlowID: flowID, FromDay: core.DayOf(from), ToDay: core.DayOf(to)})
		}
		return total
	}
	const day = 24 * time.Hour
	today, before = flow.NanoUSD(sum(now, now)), flow.NanoUSD(sum(now.Add(-7*day), now.Add(-day)))
	if err != nil {
		err = fmt.Errorf("sum the cost of %s: %w", ws, err)
	}
	return today, before, err
}

// Troubles returns the events of the triggers of a flow after a time that started nothing although they should have, the latest first.
func (s *Alarms) Troubles(ctx context.Context, flowID flow.FlowID, since time.Time, limit int) ([]alarms.Trouble, error) {
	ids := flow.IDs{Now: func() time.Time { return since }, Random: zeros{}}
	rows, err := s.DB.Reads.ListTrouble(ctx, gen.ListTroubleParams{FlowID: flowID, Since: ids.New(flow.PrefixEvent), MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, func(r gen.ListTroubleRow) alarms.Trouble {
		return alarms.Trouble{Trigger: r.Name, State: r.State, Code: r.Code}
	}, "list events")
}

// zeros makes the first ID of a time.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// FailingHosts returns the hosts of receivers to which deliveries have failed since before a time. Those of alarms are not among them.
func (s *Alarms) FailingHosts(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, before time.Time, limit int) ([]string, error) {
	rows, err := s.DB.Reads.ListFailingEndpoints(ctx, gen.ListFailingEndpointsParams{WorkspaceID: ws, FlowID: flowID, Before: dbconn.Micros(before), MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, func(r gen.ListFailingEndpointsRow) string { return r.Host }, "list failing endpoints")
}

// OldQuestions returns the runs whose questions to people have been open since before a time.
func (s *Alarms) OldQuestions(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, before time.Time, limit int) ([]flow.RunID, error) {
	rows, err := s.DB.Reads.ListOldQuestions(ctx, gen.ListOldQuestionsParams{WorkspaceID: ws, FlowID: flowID, Before: dbconn.Micros(before), Now: s.DB.NowMicros(), MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, func(r gen.ListOldQuestionsRow) flow.RunID { return r.RunID }, "list open questions")
}
