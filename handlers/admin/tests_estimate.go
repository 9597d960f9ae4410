package admin

import (
	"context"

	"sluice/flow"
	"sluice/flow/callees"
	"sluice/flow/cases"
	"sluice/flow/document"
)

// estimate is what a test will do, as far as that is known before it starts. Items of lists are unknown: what runs for each counts once.
type estimate struct {
	Steps    int // of all runs, that call models and services
	Recorded int // of them, that may have a recorded result: there are results for their settings
	Calls    int // that the test makes at most
	// USD is what the calls cost at most, or the limit of the test. Priced is false if that is unknown: a model has no price.
	USD    flow.NanoUSD
	Priced bool
}

// estimateTest estimates a stored test.
func (s testServer) estimateTest(ctx context.Context, f *flow.Flow, t *cases.Test) (*estimate, error) {
	file, err := s.Server.Store.FindCaseSet(ctx, t.WorkspaceID, t.Spec.Set)
	if err != nil {
		return nil, err
	}
	e := &estimate{Priced: true}
	runs := len(t.Spec.Items(file))
	for i := range t.Spec.Candidates {
		data, err := s.Server.Store.FindDocument(ctx, f.WorkspaceID, t.Spec.Candidates[i].Hash)
		if err != nil {
			return nil, err
		}
		if d, _ := document.ParseDocument(data); d != nil {
			if err := s.addEstimate(ctx, f, d, t.Spec.Mode, runs, map[string]bool{}, e); err != nil {
				return nil, err
			}
		}
	}
	if most := t.Spec.MaxUSD; most > 0 && e.Calls > 0 && (!e.Priced || e.USD > most) {
		e.USD, e.Priced = most, true
	}
	return e, nil
}

// addEstimate adds the runs of a document, and of those below it.
func (s testServer) addEstimate(ctx context.Context, f *flow.Flow, d *flow.Document, mode flow.CaseMode, runs int, seen map[string]bool, e *estimate) error {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := s.kinds.Find(n.Kind)
		if k == nil || n.Disabled {
			continue
		}
		if ref, _ := n.Config["flow"].(string); k.StartsRuns() && ref != "" {
			child, hash, err := (&callees.Finder{Store: s.Server.Store, Kinds: s.kinds}).Document(ctx, f.WorkspaceID, ref, n.Config["version"], nil)
			if err != nil {
				return err
			}
			if hash != "" && !seen[hash] {
				seen[hash] = true
				if err := s.addEstimate(ctx, f, child, mode, runs, seen, e); err != nil {
					return err
				}
			}
			continue
		}
		reads := k.Charge != nil || k.Reads || k.Tool != nil && k.Tool.Effect != nil && n.ToolEffect(k) != flow.EffectWrite
		if k.Class != flow.Outside || k.WaitsFor != "" || !reads { // the others are never executed
			continue
		}
		found, err := s.Server.Store.CountRecordings(ctx, f.ID, document.NodeHash(n))
		if err != nil {
			return err
		}
		recorded := min(runs, int(found))
		calls := runs
		switch mode {
		case flow.CaseReplay:
			calls = 0
		case flow.CaseFill:
			calls -= recorded
		}
		e.Steps, e.Recorded, e.Calls = e.Steps+runs, e.Recorded+recorded, e.Calls+calls
		if err := s.addCost(ctx, f.WorkspaceID, k, n, calls, e); err != nil {
			return err
		}
	}
	return nil
}

// addCost adds the upper estimate of the cost of calls of a node, as a run reserves it.
func (s testServer) addCost(ctx context.Context, ws flow.WorkspaceID, k *flow.Kind, n *flow.Node, calls int, e *estimate) error {
	if calls == 0 || k.Charge == nil {
		return nil
	}
	charge, paid := k.Charge(n.Config)
	if !paid {
		return nil
	}
	price, known, err := charge.Price(ctx, s.Server.Prices, ws)
	switch {
	case err != nil:
		return err
	case known:
		e.USD += price.Cost(charge.Use, charge.Seconds) * flow.NanoUSD(calls)
	case !charge.Free:
		e.Priced = false
	}
	return nil
}
