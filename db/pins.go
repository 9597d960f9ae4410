package db

import (
	"context"
	"fmt"

	"sluice/db/gen"
	"sluice/flow"
)

// SavePin pins sample outputs to a node of a draft, in the place of those
// before. Files that they name are kept.
func (s *Store) SavePin(ctx context.Context, ws, flowID string, p flow.Pin) error {
	if err := p.Check(); err != nil {
		return err
	}
	outputs := flow.EncodeJSON(p.Outputs)
	files := documentFiles(outputs)
	return s.write(ctx, durable, func(tx *Tx) error {
		n, err := tx.SavePin(tx.ctx, gen.SavePinParams{
			FlowID: flowID, WorkspaceID: ws, NodeID: p.Node, Outputs: string(outputs), CreatedAt: s.now(),
		})
		if err := touched(n, err, "flow"); err != nil {
			return err
		}
		return tx.keepFiles(ws, files)
	})
}

// ListPins returns what is pinned to a draft, by node. Nodes that the draft
// does not have any more may be among them: an undo brings them back.
func (s *Store) ListPins(ctx context.Context, ws, flowID string) ([]flow.Pin, error) {
	rows, err := s.read.ListPins(ctx, gen.ListPinsParams{FlowID: flowID, WorkspaceID: ws})
	if err != nil {
		return nil, fmt.Errorf("list pins of %s: %w", flowID, err)
	}
	list := make([]flow.Pin, len(rows))
	for i, r := range rows {
		list[i] = flow.Pin{Node: r.NodeID, CreatedAt: timeOf(r.CreatedAt)}
		if list[i].Outputs, err = decode[map[string]any](r.Outputs); err != nil {
			return nil, fmt.Errorf("pin of %s: %w", r.NodeID, err)
		}
	}
	return list, nil
}

// RemovePin takes the sample outputs off a node.
func (s *Store) RemovePin(ctx context.Context, ws, flowID, node string) error {
	return s.write(ctx, durable, func(tx *Tx) error {
		n, err := tx.DeletePin(tx.ctx, gen.DeletePinParams{FlowID: flowID, NodeID: node, WorkspaceID: ws})
		return touched(n, err, "pin")
	})
}
