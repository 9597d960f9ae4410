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

// Store has the flows below, the tests of a flow, and the recorded results.
type Store interface {
	callees.Store
	ListTests(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, before string, limit int) ([]cases.Test, error)
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
	if err := w.findFormer(ctx); err != nil {
		return nil, err
	}
	for id, hash := range t.Spec.Replaced {
		if d, _ := document.ParseDocument(documents[hash]); d != nil {
			w.together[id] = d
		}
	}
	plan := cases.NewPlan(t, file)
	for i := range t.Spec.Candidates {
		c := &t.Spec.Candidates[i]
		news, err := w.add(ctx, documents[c.Hash], t.Spec.Mode, len(plan.Items), 0, c.DraftsBelow())
		if err != nil {
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
			asks, fresh := plan.CountAsks(group, i), 0
			if news > 0 {
				fresh = asks
			}
			w.asking = true
			_, err := w.add(ctx, data, plan.CheckSetting(0).Mode, asks, fresh, c.DraftsBelow())
			if w.asking = false; err != nil {
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
	former   former
	asking   bool // the document asks about outputs; it is made for the test, or that of a flow that checks
}

// callee finds the document that a node runs of another flow. One without a live version counts with its draft: it may be published until then.
func (w *walk) callee(ctx context.Context, ref string, version any, drafts bool) (*flow.Document, string, error) {
	f := callees.Finder{Store: w.Store, Kinds: w.Kinds, Draft: func(f *flow.Flow) bool { return drafts || f.LiveVersion == 0 && version == nil }}
	return f.Document(ctx, w.test.WorkspaceID, ref, version, w.together)
}

// add adds the runs of a document, and of those below it. fresh of the runs may have inputs that no run had before. It returns in how many runs the
// outputs may be new.
func (w *walk) add(ctx context.Context, data []byte, mode flow.CaseMode, runs, fresh int, drafts bool) (news int, err error) {
	d, _ := document.ParseDocument(data)
	if d == nil || runs == 0 {
		return 0, nil
	}
	tree := &callTree{walk: w, drafts: drafts, found: map[string]*called{}}
	if _, err := tree.visit(ctx, d, flow.DocumentHash(data)); err != nil {
		return 0, err
	}
	// Callers come before what they call, so that all of them are counted before.
	top := tree.order[len(tree.order)-1]
	top.runs, top.fresh, top.top = runs, fresh, true
	for i := len(tree.order) - 1; i >= 0; i-- {
		c := tree.order[i]
		fresh, err := w.addSteps(ctx, c, mode)
		if err != nil {
			return 0, err
		}
		for _, call := range c.calls {
			call.runs = min(call.runs+c.runs, maxRuns)
			call.fresh = min(call.fresh+fresh[call.node], maxRuns)
		}
		for _, n := range fresh {
			if c == top {
				news = max(news, n)
			}
		}
	}
	return news, nil
}

// called is a document with those that it runs in other flows, once for each node.
type called struct {
	doc   *flow.Document
	hash  string
	calls []call
	top   bool // no other runs it
	runs  int
	fresh int // of them, that may have inputs that no run had before
}

// call is a node that runs a document.
type call struct {
	*called
	node string
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
	c := &called{doc: d, hash: hash}
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
			c.calls = append(c.calls, call{child, n.ID})
		}
	}
	t.found[hash] = c
	t.order = append(t.order, c)
	return c, nil
}

// addSteps adds the steps of the runs of a document that call models and services. It returns, by node, in how many runs its input may be new:
// a changed step, or one that is called again, is before it.
func (w *walk) addSteps(ctx context.Context, c *called, mode flow.CaseMode) (fresh map[string]int, err error) {
	fresh = map[string]int{}
	given := map[string]int{} // what a node gives to those behind it
	for _, n := range inOrder(c.doc) {
		fresh[n.ID] = c.fresh
		for _, from := range before(c.doc, n.ID) {
			fresh[n.ID] = max(fresh[n.ID], given[from])
		}
		k := w.Kinds.Find(n.Kind)
		if given[n.ID] = fresh[n.ID]; !w.asking && w.former.lacks(c, n) {
			given[n.ID] = c.runs
		}
		if k == nil || n.Disabled || k.Class != flow.Outside || k.WaitsFor != "" || k.StartsRuns() {
			continue
		}
		called := k.Charge != nil || k.Reads || k.Tool != nil && k.Tool.Effect != nil && n.ToolEffect(k) != flow.EffectWrite
		if !called && !(mode == flow.CaseLive && slices.Contains(w.test.Spec.Allow, n.ID)) { // it is never executed
			continue
		}
		found, err := w.Store.CountRecordings(ctx, w.test.FlowID, document.NodeHash(n))
		if err != nil {
			return nil, err
		}
		recorded, calls := min(c.runs-min(c.runs, fresh[n.ID]), int(found)), c.runs
		switch mode {
		case flow.CaseReplay:
			recorded, calls = min(c.runs, int(found)), 0
		case flow.CaseFill:
			calls -= recorded
		}
		given[n.ID] = calls
		w.e.Steps, w.e.Recorded, w.e.Calls = w.e.Steps+c.runs, w.e.Recorded+recorded, w.e.Calls+calls
		if err := w.addCost(ctx, k, n, calls); err != nil {
			return nil, err
		}
	}
	return fresh, nil
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
