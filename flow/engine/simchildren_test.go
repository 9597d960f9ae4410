package engine

import (
	"context"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/value"
)

// simChildren simulates the child runs of one step in the database. Each change of a child is
// durable immediately, and so is everything written before it.
type simChildren struct {
	keep        bool
	concurrency int
	stopped     bool
	items       []simItem
	seen        int // length of the disk log when the step learned of the end; 0 if it has not
}

type simItem struct {
	bad          bool
	state        flow.RunState // empty until it starts
	starts, ends int
	canceled     bool // cancel requested
}

// simQuestion is a question that a step asks.
type simQuestion struct {
	answered bool
	seen     int // as of simChildren
}

func (c *simChildren) count(states ...flow.RunState) (n int) {
	for i := range c.items {
		if slices.Contains(states, c.items[i].state) {
			n++
		}
	}
	return n
}

func (c *simChildren) view() *flow.Children {
	v := &flow.Children{Total: len(c.items), Running: c.count(flow.RunRunning), KeepErrors: c.keep,
		Succeeded: c.count(flow.RunSucceeded), Failed: c.count(flow.RunFailed, flow.RunCanceled)}
	if !c.stopped {
		v.Pending = c.count("")
	}
	return v
}

// advance starts items up to the concurrency limit.
func (c *simChildren) advance() {
	if !c.keep && c.count(flow.RunFailed, flow.RunCanceled) > 0 {
		c.stopped = true
	}
	for i := range c.items {
		if item := &c.items[i]; !c.stopped && item.state == "" && c.count(flow.RunRunning) < c.concurrency {
			item.state = flow.RunRunning
			item.starts++
		}
	}
}

// childrenOf implements flow.ChildRuns for a step that has failed round times.
type childrenOf struct {
	w     *world
	path  string
	round int
}

func roundKey(path string, round int) string { return fmt.Sprintf("%s/%d", path, round) }

func (s childrenOf) Start(_ context.Context, r flow.ChildRequest) (*flow.Children, error) {
	for round := range s.round { // a previous attempt may have been interrupted
		s.w.stopChildren(roundKey(s.path, round))
	}
	c := s.w.children[roundKey(s.path, s.round)]
	if c == nil {
		c = &simChildren{keep: r.KeepErrors, concurrency: r.Concurrency, items: make([]simItem, len(r.Items))}
		for i := range c.items {
			c.items[i].bad = r.Items[i].Get("bad") == true
		}
		s.w.children[roundKey(s.path, s.round)] = c
		c.advance()
		s.w.disk.sync()
	}
	if c.view().Decided() {
		c.seen = len(s.w.disk.log)
	}
	return c.view(), nil
}

func (s childrenOf) Read(_ context.Context, each func(*flow.ChildResult) error) error {
	c := s.w.children[roundKey(s.path, s.round)]
	for i := range c.items {
		r := &flow.ChildResult{Item: i, State: c.items[i].state, Outputs: value.FromMap(map[string]any{"text": s.path})}
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

func (s childrenOf) Stop(context.Context) error {
	s.w.stopChildren(roundKey(s.path, s.round))
	return nil
}

func (w *world) stopChildren(key string) {
	c := w.children[key]
	if c == nil {
		return
	}
	w.say("stop the children of %s", key)
	c.stopped = true
	for i := range c.items {
		if item := &c.items[i]; item.state == flow.RunRunning {
			item.canceled = true
		}
	}
	w.disk.sync()
}

// bindWaits gives a step the simulated children and questions.
func (w *world) bindWaits(in *flow.In) {
	in.Children = childrenOf{w, in.Path, in.Failures}
	in.TakeDecision = func(context.Context) (*flow.Decision, error) {
		q := w.questions[in.Path]
		if q == nil {
			w.questions[in.Path] = &simQuestion{}
			w.disk.sync()
			return nil, nil
		}
		if !q.answered {
			return nil, nil
		}
		w.disk.sync()
		q.seen = len(w.disk.log)
		return &flow.Decision{Outcome: flow.OutcomeApproved}, nil
	}
}

// outside simulates an external event that a step waits for: a child ends or a question is
// answered. It returns false if no such event is possible.
func (w *world) outside() bool {
	var events []func()
	for _, key := range sorting.Keys(w.children) {
		c := w.children[key]
		for i := range c.items {
			if c.items[i].state == flow.RunRunning {
				events = append(events, func() { w.endChild(key, c, i) })
			}
		}
	}
	for _, path := range sorting.Keys(w.questions) {
		if q := w.questions[path]; !q.answered {
			events = append(events, func() {
				w.say("answer %s", path)
				q.answered = true
				w.wakeRun()
			})
		}
	}
	if len(events) == 0 {
		return false
	}
	events[w.rng.IntN(len(events))]()
	return true
}

func (w *world) endChild(key string, c *simChildren, i int) {
	item := &c.items[i]
	item.ends++
	if item.state = flow.RunSucceeded; item.bad {
		item.state = flow.RunFailed
	}
	if item.canceled && w.rng.IntN(4) > 0 { // otherwise it ended before it noticed
		item.state = flow.RunCanceled
	}
	w.say("child %d of %s: %s", i, key, item.state)
	c.advance()
	w.disk.sync()
	if c.view().Decided() {
		w.wakeRun()
	}
}

// childrenRun reports whether any child runs.
func (w *world) childrenRun() bool {
	for _, c := range w.children {
		if c.count(flow.RunRunning) > 0 {
			return true
		}
	}
	return false
}

// wakeRun simulates the transaction that ends the last child or answers a question. A worker
// that holds the run may or may not be notified.
func (w *world) wakeRun() {
	w.disk.sync()
	if w.disk.run.State == flow.RunWaiting {
		w.disk.wakeDecided(w.now)
	}
	if w.plan != nil && w.rng.IntN(4) > 0 {
		w.plan.Wake(w.now)
	}
}

// decided reports whether a step has not yet seen an event of its children or its question.
func (w *world) decided(path string) bool {
	known := func(seen int) bool { return seen > 0 && seen <= len(w.disk.log) }
	if q := w.questions[path]; q != nil && q.answered && !known(q.seen) {
		return true
	}
	for round := 0; ; round++ {
		c := w.children[roundKey(path, round)]
		if c == nil && round > 3 {
			return false
		}
		if c != nil && c.view().Decided() && !known(c.seen) {
			return true
		}
	}
}

// checkChildren checks that no child of an ended run is running, that each started and ended at
// most once, and that a successful step waited for all of its children.
func (w *world) checkChildren() error {
	for key, c := range w.children {
		for i, item := range c.items {
			if item.starts > 1 || item.ends != item.starts {
				return fmt.Errorf("the run is %s and item %d of %s is %q after %d starts and %d ends", w.disk.run.State, i, key, item.state, item.starts, item.ends)
			}
		}
	}
	for _, row := range w.disk.rows {
		row := row.step
		c := w.children[roundKey(row.Path, row.Failures)]
		if row.Kind == "spawn" && row.State == flow.StepSucceeded && (c == nil || c.stopped || !c.view().Ended()) {
			return fmt.Errorf("%s succeeded before its children", row.Path)
		}
	}
	return nil
}

// waits adds a node that waits for children or an answer.
func (w *drawing) waits() {
	if w.rng.IntN(3) == 0 {
		id := w.add("await", map[string]any{})
		w.connect(w.pick(w.any), id+".values")
		w.gives(id+".text", true)
		return
	}
	items := w.rng.IntN(6)
	config := map[string]any{"items": flow.Number(items), "concurrency": flow.Number(1 + w.rng.IntN(4)), "keep": w.rng.IntN(2) == 0}
	id := w.add("spawn", config)
	for range w.rng.IntN(3) {
		w.connect(w.pick(w.any), id+".values")
	}
	n := &w.d.Nodes[len(w.d.Nodes)-1]
	if bad := w.rng.IntN(8); bad > 0 && bad <= items && (config["keep"] == true || !w.fatal) {
		config["bad"] = flow.Number(bad)
		w.fatal = w.fatal || config["keep"] == false
		if w.rng.IntN(2) == 0 {
			n.Retry = &flow.Retry{Attempts: 2, BackoffS: 1}
		}
	} else if w.rng.IntN(4) == 0 {
		w.fail(n)
	}
	w.gives(id+".text", true)
}

var _ flow.ChildRuns = childrenOf{}
