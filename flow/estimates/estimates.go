// Package estimates says what a test of a flow will call and cost, before it starts. It knows nothing of runs in progress.
package estimates

import (
	"context"
	"slices"

	"sluice/flow"
	"sluice/flow/callees"
	"sluice/flow/cases"
	"sluice/flow/document"
)

// Estimate is what a test will do, as far as that is known. Items of lists are unknown: what runs for each counts once.
type Estimate struct {
	Steps    int // of all runs, that call models and services
	Recorded int // of them, that may have a recorded result: there are results for their settings
	Calls    int // that the test makes at most
	// USD is what the calls cost at most, or the limit of the test. Priced is false if that is unknown: a model has no price.
	USD    flow.NanoUSD
	Priced bool
}

// Store has the flows below, and the recorded results.
type Store interface {
	callees.Store
	CountRecordings(ctx context.Context, flowID flow.FlowID, nodeHash string) (int64, error)
}

// Estimator estimates tests.
type Estimator struct {
	Store  Store
	Kinds  *flow.Registry
	Prices flow.PriceStore
}

// maxRuns bounds the runs of a flow below: flows can call each other more often than a number can count.
const maxRuns = 1_000_000_000

// Test estimates a test of the cases in a file. documents are those of its candidates and of flows that go live together, by hash.
func (s *Estimator) Test(ctx context.Context, t *cases.Test, file *cases.File, documents map[string][]byte) (*Estimate, error) {
	w := &walk{Estimator: s, test: t, e: &Estimate{Priced: true}, together: map[flow.FlowID]*flow.Document{}}
	for id, hash := range t.Spec.Replaced {
		if d, _ := document.ParseDocument(documents[hash]); d != nil {
			w.together[id] = d
		}
	}
	plan := cases.NewPlan(t, file)
	for i := range t.Spec.Candidates {
		c := &t.Spec.Candidates[i]
		if err := w.add(ctx, documents[c.Hash], t.Spec.Mode, len(plan.Items), c.DraftsBelow()); err != nil {
			return nil, err
		}
		for g := range t.Spec.Groups {
			group := &t.Spec.Groups[g]
			data := group.Document()
			if data == nil { // a flow checks
				d, _, err := w.callee(ctx, group.Flow, nil, c.DraftsBelow())
				if err != nil {
					return nil, err
				}
				if d != nil {
					data = d.Compact()
				}
			}
			if err := w.add(ctx, data, plan.CheckSetting(0).Mode, plan.CountAsks(group, i), c.DraftsBelow()); err != nil {
				return nil, err
			}
		}
	}
	if most := t.Spec.MaxUSD; most > 0 && w.e.Calls > 0 && (!w.e.Priced || w.e.USD > most) {
		w.e.USD, w.e.Priced = most, true
	}
	return w.e, nil
}

// walk adds up what the runs of documents do.
type walk struct {
	*Estimator
	test     *cases.Test
	e        *Estimate
	together map[flow.FlowID]*flow.Document
}

// callee finds the document that a node runs of another flow. One without a live version counts with its draft: it may be published until then.
func (w *walk) callee(ctx context.Context, ref string, version any, drafts bool) (*flow.Document, string, error) {
	f := callees.Finder{Store: w.Store, Kinds: w.Kinds, Draft: func(f *flow.Flow) bool { return drafts || f.LiveVersion == 0 && version == nil }}
	return f.Document(ctx, w.test.WorkspaceID, ref, version, w.together)
}

// add adds the runs of a document, and of those below it.
func (w *walk) add(ctx context.Context, data []byte, mode flow.CaseMode, runs int, drafts bool) error {
	d, _ := document.ParseDocument(data)
	if d == nil || runs == 0 {
		return nil
	}
	tree := &callTree{walk: w, drafts: drafts, found: map[string]*called{}}
	if _, err := tree.visit(ctx, d, flow.DocumentHash(data)); err != nil {
		return err
	}
	// Callers come before what they call, so that all of them are counted before.
	tree.order[len(tree.order)-1].runs = runs
	for i := len(tree.order) - 1; i >= 0; i-- {
		c := tree.order[i]
		for _, child := range c.calls {
			child.runs = min(child.runs+c.runs, maxRuns)
		}
		if err := w.addSteps(ctx, c.doc, mode, c.runs); err != nil {
			return err
		}
	}
	return nil
}

// called is a document with those that it runs in other flows, once for each node.
type called struct {
	doc   *flow.Document
	calls []*called
	runs  int
}

// callTree finds the documents below one. order has each after what it calls.
type callTree struct {
	*walk
	drafts bool
	found  map[string]*called // by hash; nil while its callees are looked for, because a flow never runs itself
	order  []*called
}

func (t *callTree) visit(ctx context.Context, d *flow.Document, hash string) (*called, error) {
	if c, seen := t.found[hash]; seen {
		return c, nil
	}
	t.found[hash] = nil
	c := &called{doc: d}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		ref, _ := n.Config["flow"].(string)
		if k := t.Kinds.Find(n.Kind); k == nil || n.Disabled || !k.StartsRuns() || ref == "" {
			continue
		}
		below, belowHash, err := t.callee(ctx, ref, n.Config["version"], t.drafts)
		if err != nil {
			return nil, err
		}
		if below == nil {
			continue
		}
		child, err := t.visit(ctx, below, belowHash)
		if err != nil {
			return nil, err
		}
		if child != nil {
			c.calls = append(c.calls, child)
		}
	}
	t.found[hash] = c
	t.order = append(t.order, c)
	return c, nil
}

// addSteps adds the steps of some runs of a document that call models and services.
func (w *walk) addSteps(ctx context.Context, d *flow.Document, mode flow.CaseMode, runs int) error {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := w.Kinds.Find(n.Kind)
		if k == nil || n.Disabled || k.Class != flow.Outside || k.WaitsFor != "" || k.StartsRuns() {
			continue
		}
		called := k.Charge != nil || k.Reads || k.Tool != nil && k.Tool.Effect != nil && n.ToolEffect(k) != flow.EffectWrite
		if !called && !(mode == flow.CaseLive && slices.Contains(w.test.Spec.Allow, n.ID)) { // it is never executed
			continue
		}
		found, err := w.Store.CountRecordings(ctx, w.test.FlowID, document.NodeHash(n))
		if err != nil {
			return err
		}
		recorded, calls := min(runs, int(found)), runs
		switch mode {
		case flow.CaseReplay:
			calls = 0
		case flow.CaseFill:
			calls -= recorded
		}
		w.e.Steps, w.e.Recorded, w.e.Calls = w.e.Steps+runs, w.e.Recorded+recorded, w.e.Calls+calls
		if err := w.addCost(ctx, k, n, calls); err != nil {
			return err
		}
	}
	return nil
}

// addCost adds the upper estimate of the cost of calls of a node, as a run reserves it.
func (w *walk) addCost(ctx context.Context, k *flow.Kind, n *flow.Node, calls int) error {
	if calls == 0 || k.Charge == nil {
		return nil
	}
	charge, paid := k.Charge(n.Config)
	if !paid {
		return nil
	}
	price, known, err := charge.Price(ctx, w.Prices, w.test.WorkspaceID)
	switch {
	case err != nil:
		return err
	case known:
		w.e.USD += price.Cost(charge.Use, charge.Seconds) * flow.NanoUSD(calls)
	case !charge.Free:
		w.e.Priced = false
	}
	return nil
}
