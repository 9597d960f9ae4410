package document

import (
	"context"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/sorting"
)

// Charges returns how the nodes of a document are charged, in their order and without
// duplicates. It includes alternatives such as fallback models, and excludes disabled nodes.
func Charges(d *flow.Document, kinds *flow.Registry) (list []flow.Charge) {
	seen := map[flow.Charge]bool{}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := kinds.Find(n.Kind)
		if k == nil || k.Charge == nil || n.Disabled {
			continue
		}
		for config, i, more := n.Config, 1, true; more; i++ {
			if c, paid := k.Charge(config); paid {
				c.Use = flow.TokenUse{}
				if !seen[c] {
					list = append(list, c)
				}
				seen[c] = true
			}
			if more = k.Alternative != nil; more {
				config, more = k.Alternative(n.Config, i)
			}
		}
	}
	return list
}

// Unpriced returns the models among charges whose price is unknown, sorted. It skips
// models that are chosen when a flow runs, those whose provider reports the cost, and those that
// are free.
func Unpriced(ctx context.Context, charges []flow.Charge, prices flow.PriceStore, ws flow.WorkspaceID) (models []string, err error) {
	for i := range charges {
		c := &charges[i]
		if c.Reported || c.Free || c.Model == "" {
			continue
		}
		_, known, err := c.Price(ctx, prices, ws)
		if err != nil {
			return nil, fmt.Errorf("find the price of %s: %w", c.Model, err)
		}
		if !known {
			models = append(models, c.Model)
		}
	}
	sorting.Strings(models)
	return slices.Compact(models), nil
}
