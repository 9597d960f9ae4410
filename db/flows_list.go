package db

import (
	"context"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// headsPage is the number of flows that are read at once.
const headsPage = 500

// ListFlowHeads returns all flows of a workspace by ID, including archived ones,
// without their drafts, which can be large. Pages that sort and search use it.
func (s *Flows) ListFlowHeads(ctx context.Context, ws flow.WorkspaceID) ([]flow.Flow, error) {
	var all []flow.Flow
	for after := flow.FlowID(""); ; after = all[len(all)-1].ID {
		rows, err := s.DB.Reads.ListFlowHeads(ctx, gen.ListFlowHeadsParams{WorkspaceID: ws, AfterID: after, MaxRows: headsPage})
		if err != nil {
			return nil, fmt.Errorf("list flows of %s: %w", ws, err)
		}
		all = append(all, dbconn.MapRows(rows, func(r gen.ListFlowHeadsRow) flow.Flow { return flowOf(gen.ListFlowsRow(r)) })...)
		if len(rows) < headsPage {
			return all, nil
		}
	}
}

// ListFlowRevisions returns the ID, the name, the revision of the draft and the hash of the live version of all flows, also those of
// knowledge bases, ordered by ID.
func (s *Flows) ListFlowRevisions(ctx context.Context, ws flow.WorkspaceID) (all []flow.Flow, err error) {
	for after := flow.FlowID(""); ; after = all[len(all)-1].ID {
		rows, err := s.DB.Reads.ListFlowRevisions(ctx, gen.ListFlowRevisionsParams{WorkspaceID: ws, AfterID: after, MaxRows: headsPage})
		if err != nil {
			return nil, fmt.Errorf("list the revisions of the flows of %s: %w", ws, err)
		}
		all = append(all, dbconn.MapRows(rows, func(r gen.ListFlowRevisionsRow) flow.Flow {
			return flow.Flow{ID: r.ID, WorkspaceID: ws, Name: r.Name, Rev: r.Rev, LiveHash: r.LiveHash}
		})...)
		if len(rows) < headsPage {
			return all, nil
		}
	}
}

// TagFlow replaces the tags of a flow.
func (s *Flows) TagFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, tags []string) error {
	return s.DB.Update(ctx, "flow", func(tx *core.Tx) (int64, error) {
		return tx.Queries.TagFlow(tx.Ctx, gen.TagFlowParams{ID: flowID, WorkspaceID: ws, Tags: dbconn.EncodeList(tags)})
	})
}

// RestoreFlow restores an archived flow.
func (s *Flows) RestoreFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		held, err := tx.Queries.HoldFlow(tx.Ctx, gen.HoldFlowParams{ID: flowID, WorkspaceID: ws})
		if err != nil {
			return dbconn.NotFoundErr(err, "flow")
		}
		n, err := tx.Queries.RestoreFlow(tx.Ctx, gen.RestoreFlowParams{ID: flowID, WorkspaceID: ws, UpdatedAt: s.DB.NowMicros()})
		if err := dbconn.MustAffect(n, err, "flow"); err != nil {
			return err
		}
		return tx.TrackWithinQuota(ws, flow.Storage{Flows: dbconn.BoolInt(held.ArchivedAt != 0)})
	})
}

// RecentLiveVersion returns the live version of a flow for the start of a run.
// It reports false for a flow that has none, is archived or does not exist.
func (s *Flows) RecentLiveVersion(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (live flow.LiveVersion, ok bool, err error) {
	k := core.FlowKeyOf(ws, flowID)
	if live, ok = s.DB.Recent.Live.Get(k); ok {
		return live, true, nil
	}
	if live, ok, err = s.findLiveVersion(ctx, ws, flowID); ok {
		s.DB.Recent.Live.Add(k, live)
	}
	return live, ok, err
}

// CheckLiveVersion returns ErrFlowOutdated if a remembered live version is no
// longer the live one.
func (s *Flows) CheckLiveVersion(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, number int64) error {
	live, ok, err := s.findLiveVersion(ctx, ws, flowID)
	if err == nil && (!ok || live.Number != number) {
		s.DB.Recent.Live.Remove(core.FlowKeyOf(ws, flowID))
		err = flow.ErrFlowOutdated
	}
	return err
}

// findLiveVersion returns the live version; ok is false if nothing is published.
func (s *Flows) findLiveVersion(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (live flow.LiveVersion, ok bool, err error) {
	r, err := s.DB.Reads.FindLiveVersion(ctx, gen.FindLiveVersionParams{ID: flowID, WorkspaceID: ws})
	if dbconn.IsNoRows(err) {
		return live, false, nil
	}
	if err != nil {
		return live, false, err
	}
	return flow.LiveVersion{Number: r.Number, DocumentHash: r.DocumentHash, Slug: r.Slug}, true, nil
}
