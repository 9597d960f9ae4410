package children

import (
	"context"
	"fmt"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// ListTracedRuns returns what a trace shows of the child runs of a step, from item number from to before number to.
func (s *Children) ListTracedRuns(ctx context.Context, step flow.CallingStep, from, to int) ([]flow.Run, error) {
	rows, err := s.DB.Reads.ListTracedChildRuns(ctx, gen.ListTracedChildRunsParams{
		CallerRunID: step.RunID, CallerPath: step.Path, CallerRound: int64(step.Round), FromItem: int64(from), ToItem: int64(to),
	})
	if err != nil {
		return nil, fmt.Errorf("list the child runs of %s:%s: %w", step.RunID, step.Path, err)
	}
	list := make([]flow.Run, len(rows))
	for i := range rows {
		r := &rows[i]
		failure, _ := dbconn.Decode[*flow.Error](r.Error) // what cannot be read is left out
		list[i] = flow.Run{
			ID: r.ID, WorkspaceID: r.WorkspaceID, FlowID: r.FlowID, FlowSlug: r.FlowSlug, Version: r.Version, Draft: r.Draft != 0, State: flow.RunState(r.State),
			Trigger: flow.Trigger(r.RunTrigger), Error: failure, Usage: flow.Usage{CostNanoUSD: r.CostNanoUsd}, Save: r.Save != 0,
			CreatedAt: dbconn.TimeOf(r.CreatedAt), EndedAt: dbconn.TimeOf(r.EndedAt), Caller: &flow.CallingStep{RunID: step.RunID, Path: r.CallerPath, Round: step.Round}, Traceparent: r.Traceparent,
		}
	}
	return list, nil
}
