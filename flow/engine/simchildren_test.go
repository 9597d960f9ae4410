package engine

import (
	"context"
	"fmt"
	"slices"

	"sluice/flow"
)

// simChildren are the child runs of one step, as the database has them. What a child does
// is durable at once, and everything that was written before it as well.
type simChildren struct {
	keep        bool
	concurrency int
	stopped     bool
	items       []simItem
	seen        int // length of the disk's log when the step knew the end; 0: it does not
}

type simItem struct {
	bad          bool
	state        flow.RunState // empty: it has not started
	starts, ends int
	canceled     bool // asked to end
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

// advance starts as many items as may run.
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
	for round := range s.round { // an attempt before may have been cut
		s.w.stopChildren(roundKey(s.path, round))
	}
	c := s.w.children[roundKey(s.path, s.round)]
	if c == nil {
		c = &simChildren{keep: r.KeepErrors, concurrency: r.Concurrency, items: make([]simItem, len(r.Items))}
		for i := range c.items {
			c.items[i].bad = r.Items[i]["bad"] == true
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
		r := &flow.ChildResult{Item: i, State: c.items[i].state, Outputs: map[string]any{"text": s.path}}
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

// outside lets something happen outside the run that one of its steps waits for: a child
// ends, or a question is answered. It is false if there is nothing.
func (w *world) outside() bool {
	var events []func()
	for _, key := range flow.SortedNames(w.children) {
		c := w.children[key]
		for i := range c.items {
			if c.items[i].state == flow.RunRunning {
				events = append(events, func() { w.endChild(key, c, i) })
			}
		}
	}
	for _, path := range flow.SortedNames(w.questions) {
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

// wakeRun is what the transaction does that ends the last child or answers a question. A
// worker that has the run may be told, or not.
func (w *world) wakeRun() {
	w.disk.sync()
	if w.disk.run.State == flow.RunWaiting {
		w.disk.wakeDecided(w.now)
	}
	if w.plan != nil && w.rng.IntN(4) > 0 {
		w.plan.Wake(w.now)
	}
}

// decided reports whether a step has something to learn of its children or its question.
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

// checkChildren: when a run has ended, none of its children runs, each has started and
// ended once at most, and a step that succeeded has waited for all.
func (w *world) checkChildren() error {
	for key, c := range w.children {
		for i, item := range c.items {
			if item.starts > 1 || item.ends != item.starts {
				return fmt.Errorf("the run is %s and item %d of %s is %q after %d starts and %d ends", w.disk.run.State, i, key, item.state, item.starts, item.ends)
			}
		}
	}
	for i := range w.g.nodes {
		row := w.disk.rows[w.name(i)].step
		c := w.children[roundKey(row.Path, row.Failures)]
		if w.g.nodes[i].Kind == "spawn" && row.State == flow.StepSucceeded && (c == nil || c.stopped || !c.view().Ended()) {
			return fmt.Errorf("%s succeeded before its children", row.Path)
		}
	}
	return nil
}

// waits draws a node that waits for children or an answer.
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
