package db

import (
	"context"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// RecentLiveVersion returns the live version of a flow for the start of a run.
// It reports false for a flow that has none, is archived or does not exist.
func (s Flows) RecentLiveVersion(ctx context.Context, ws, flowID string) (live flow.LiveVersion, ok bool, err error) {
	k := core.FlowKeyOf(ws, flowID)
	if live, ok = s.Recent.Live.Get(k); ok {
		return live, true, nil
	}
	if live, ok, err = s.findLiveVersion(ctx, ws, flowID); ok {
		s.Recent.Live.Add(k, live)
	}
	return live, ok, err
}

// CheckLiveVersion returns ErrFlowOutdated if a remembered live version is no
// longer the live one.
func (s Flows) CheckLiveVersion(ctx context.Context, ws, flowID string, number int64) error {
	live, ok, err := s.findLiveVersion(ctx, ws, flowID)
	if err == nil && (!ok || live.Number != number) {
		s.Recent.Live.Remove(core.FlowKeyOf(ws, flowID))
		err = flow.ErrFlowOutdated
	}
	return err
}

func (s Flows) findLiveVersion(ctx context.Context, ws, flowID string) (live flow.LiveVersion, ok bool, err error) {
	r, err := s.Reads.FindLiveVersion(ctx, gen.FindLiveVersionParams{ID: flowID, WorkspaceID: ws})
	if dbconn.IsNoRows(err) {
		return live, false, nil
	}
	if err != nil {
		return live, false, err
	}
	return flow.LiveVersion{Number: r.Number, DocumentHash: r.DocumentHash}, true, nil
}
