package db

import (
	"context"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// SavePin pins sample outputs to a node of a draft and replaces earlier ones. Files
// that they refer to are kept.
func (s *Pins) SavePin(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, p flow.Pin) error {
	if err := p.Check(); err != nil {
		return err
	}
	outputs := flow.EncodeJSON(p.Outputs)
	files := documentFiles(outputs)
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := tx.Queries.HoldFlow(tx.Ctx, gen.HoldFlowParams{ID: flowID, WorkspaceID: ws}); err != nil {
			return dbconn.NotFoundErr(err, "flow")
		}
		before, err := tx.Queries.SizePin(tx.Ctx, gen.SizePinParams{FlowID: flowID, NodeID: p.Node, WorkspaceID: ws})
		if err != nil && !dbconn.IsNoRows(err) {
			return fmt.Errorf("size of the pin of %s: %w", p.Node, err)
		}
		n, err := tx.Queries.SavePin(tx.Ctx, gen.SavePinParams{
			FlowID: flowID, WorkspaceID: ws, NodeID: p.Node, Outputs: string(outputs), CreatedAt: s.DB.NowMicros(),
		})
		if err := dbconn.MustAffect(n, err, "flow"); err != nil {
			return err
		}
		if err := keepFiles(tx, ws, files); err != nil {
			return err
		}
		return tx.TrackWithinQuota(ws, flow.Storage{Bytes: int64(len(outputs)) - before})
	})
}

// ListPins returns the pinned outputs of a draft, by node. It includes nodes that
// were deleted from the draft, because an undo may restore them.
func (s *Pins) ListPins(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) ([]flow.Pin, error) {
	rows, err := s.DB.Reads.ListPins(ctx, gen.ListPinsParams{FlowID: flowID, WorkspaceID: ws})
	if err != nil {
		return nil, fmt.Errorf("list pins of %s: %w", flowID, err)
	}
	list := make([]flow.Pin, len(rows))
	for i, r := range rows {
		list[i] = flow.Pin{Node: r.NodeID, CreatedAt: dbconn.TimeOf(r.CreatedAt)}
		if list[i].Outputs, err = dbconn.Decode[map[string]any](r.Outputs); err != nil {
			return nil, fmt.Errorf("pin of %s: %w", r.NodeID, err)
		}
	}
	return list, nil
}

// RemovePin removes the pinned outputs of a node.
func (s *Pins) RemovePin(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, node string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		size, err := tx.Queries.DeletePin(tx.Ctx, gen.DeletePinParams{FlowID: flowID, NodeID: node, WorkspaceID: ws})
		if err != nil {
			return dbconn.NotFoundErr(err, "pin")
		}
		tx.TrackBytes(ws, -size)
		return nil
	})
}
