package library

import (
	"context"

	"sluice/flow"
)

// PriceStore stores the prices that workspaces set. It returns CodeNotFound for a missing one.
type PriceStore interface {
	Recorder
	flow.PriceStore
	SavePrice(ctx context.Context, p flow.Price) error
	RemovePrice(ctx context.Context, ws flow.WorkspaceID, model string) error
}

// Prices changes the prices that workspaces set for models.
type Prices struct{ Store PriceStore }

// MayChange returns an error for a key with limits, which could exceed its budget by lowering a price.
// caller is the key in the request, or nil.
func (s *Prices) MayChange(caller *flow.Key) error {
	if caller != nil && Limited(caller) {
		return flow.Errorf(flow.CodeExceedsKey, "The key in the request, or a key that made it, has limits, so it may not change prices: budgets in dollars count them. Use a key without limits.")
	}
	return nil
}

// Set changes the price of a model. set is called with the current price.
func (s *Prices) Set(ctx context.Context, by flow.Actor, caller *flow.Key, ws flow.WorkspaceID, model string, set func(p *flow.Price)) (p flow.Price, err error) {
	if err := s.MayChange(caller); err != nil {
		return p, err
	}
	err = record(ctx, s.Store, by, entry(ws, "price.set", model, ""), func(ctx context.Context) error {
		if p, _, err = s.Store.FindPrice(ctx, ws, model); err != nil {
			return err
		}
		p.WorkspaceID, p.Model = ws, model
		set(&p)
		return s.Store.SavePrice(ctx, p)
	})
	return p, err
}

// Remove removes the price of a model. It returns CodeNotFound if the workspace has set none.
func (s *Prices) Remove(ctx context.Context, by flow.Actor, caller *flow.Key, ws flow.WorkspaceID, model string) error {
	if err := s.MayChange(caller); err != nil {
		return err
	}
	err := record(ctx, s.Store, by, entry(ws, "price.remove", model, ""), func(ctx context.Context) error {
		return s.Store.RemovePrice(ctx, ws, model)
	})
	if flow.IsNotFound(err) {
		return flow.Errorf(flow.CodeNotFound, "The workspace has set no price for %s.", model)
	}
	return err
}
