package db

import (
	"context"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// SavePrice sets the price that a workspace pays for a model.
func (s *Prices) SavePrice(ctx context.Context, p flow.Price) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.SavePrice(tx.Ctx, gen.SavePriceParams{
			WorkspaceID: p.WorkspaceID, Model: p.Model, Input: p.Input, Output: p.Output, Second: p.Second, Call: p.Call,
		})
	})
}

// FindPrice returns the price that a workspace set for a model, and whether there
// is one.
func (s *Prices) FindPrice(ctx context.Context, ws flow.WorkspaceID, model string) (flow.Price, bool, error) {
	r, err := s.DB.Reads.FindPrice(ctx, gen.FindPriceParams{WorkspaceID: ws, Model: model})
	if dbconn.IsNoRows(err) {
		return flow.Price{}, false, nil
	}
	if err != nil {
		return flow.Price{}, false, fmt.Errorf("find the price of %s: %w", model, err)
	}
	return priceOf(r), true, nil
}

// ListPrices returns the prices of a workspace, by model.
func (s *Prices) ListPrices(ctx context.Context, ws flow.WorkspaceID) ([]flow.Price, error) {
	rows, err := s.DB.Reads.ListPrices(ctx, ws)
	return dbconn.ConvertRows(rows, err, priceOf, "list prices")
}

// RemovePrice deletes a price.
func (s *Prices) RemovePrice(ctx context.Context, ws flow.WorkspaceID, model string) error {
	return s.DB.Update(ctx, "price", func(tx *core.Tx) (int64, error) {
		return tx.Queries.DeletePrice(tx.Ctx, gen.DeletePriceParams{WorkspaceID: ws, Model: model})
	})
}

func priceOf(r gen.Price) flow.Price {
	return flow.Price{WorkspaceID: r.WorkspaceID, Model: r.Model, Input: r.Input, Output: r.Output, Second: r.Second, Call: r.Call}
}
