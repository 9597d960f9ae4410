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
func (s Flows) ListFlowHeads(ctx context.Context, ws string) ([]flow.Flow, error) {
	var all []flow.Flow
	for after := ""; ; after = all[len(all)-1].ID {
		rows, err := s.Reads.ListFlowHeads(ctx, gen.ListFlowHeadsParams{WorkspaceID: ws, AfterID: after, MaxRows: headsPage})
		if err != nil {
			return nil, fmt.Errorf("list flows of %s: %w", ws, err)
		}
		all = append(all, dbconn.MapRows(rows, func(r gen.ListFlowHeadsRow) flow.Flow { return flowOf(gen.ListFlowsRow(r)) })...)
		if len(rows) < headsPage {
			return all, nil
		}
	}
}

// TagFlow replaces the tags of a flow.
func (s Flows) TagFlow(ctx context.Context, ws, flowID string, tags []string) error {
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.TagFlow(tx.Ctx, gen.TagFlowParams{ID: flowID, WorkspaceID: ws, Tags: dbconn.EncodeList(tags)})
		return dbconn.MustAffect(n, err, "flow")
	})
}

// RestoreFlow restores an archived flow.
func (s Flows) RestoreFlow(ctx context.Context, ws, flowID string) error {
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		held, err := tx.HoldFlow(tx.Ctx, gen.HoldFlowParams{ID: flowID, WorkspaceID: ws})
		if err != nil {
			return dbconn.NotFoundErr(err, "flow")
		}
		n, err := tx.RestoreFlow(tx.Ctx, gen.RestoreFlowParams{ID: flowID, WorkspaceID: ws, UpdatedAt: s.NowMicros()})
		if err := dbconn.MustAffect(n, err, "flow"); err != nil {
			return err
		}
		return tx.StoreChecked(ws, flow.Storage{Flows: dbconn.BoolInt(held.ArchivedAt != 0)})
	})
}
