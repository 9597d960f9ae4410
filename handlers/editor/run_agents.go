package editor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/handlers/web"
	consoleview "sluice/views/console"
	editorview "sluice/views/editor"
)

// agentEvent is the progress of an agent that is at work, for its node on the canvas.
type agentEvent struct {
	Node    string    `json:"node"`
	Turn    int       `json:"turn"`              // the newest one
	Turns   string    `json:"turns,omitempty"`   // the limit
	Calls   []string  `json:"calls,omitempty"`   // titles of the tools that are being called
	Asks    []toolAsk `json:"asks,omitempty"`    // the tools whose calls wait for an answer
	Context string    `json:"context,omitempty"` // tokens of the conversation, and from which on it is compacted
	Used    float64   `json:"used"`              // the same as a part of 1
	Cost    string    `json:"cost,omitempty"`    // so far
	Limit   string    `json:"limit,omitempty"`   // of the cost
}

// toolAsk is a tool with calls that wait for an answer.
type toolAsk struct {
	Tool string `json:"tool"` // as the model calls it
	Node string `json:"node"`
	Ms   int64  `json:"ms"` // for how long, in milliseconds
}

// askSuffix ends the path of a question about a call.
const askSuffix = ".ask"

// runAgents is the progress of the agents of a run. It is derived from rows that are read once each.
type runAgents map[string]*agentProgress // by node

// agentProgress is what is known of one agent.
type agentProgress struct {
	node     *flow.Node
	cost     map[string]flow.NanoUSD // of sub-steps, by path
	open     map[string]flow.Step    // calls and questions that have not ended, by path
	children flow.NanoUSD            // cost of the runs that calls started
	turn     int
	context  int64
	room     int64
	changed  bool
}

// track takes over the steps that changed. It returns the agents that it met for the first time.
func (a runAgents) track(s *runStream, steps []flow.Step) (met []string) {
	for i := range steps {
		path := steps[i].Path
		node, name, is := strings.Cut(path, flow.SubSeparator)
		if !is {
			continue
		}
		p := a[node]
		if p == nil {
			n := s.graph.Node(node)
			if n == nil {
				continue
			}
			p = &agentProgress{node: n, cost: map[string]flow.NanoUSD{}, open: map[string]flow.Step{}}
			a[node], met = p, append(met, node)
		}
		p.take(name, &steps[i])
	}
	return met
}

// take takes over one sub-step.
func (p *agentProgress) take(name string, step *flow.Step) {
	p.changed = true
	p.cost[step.Path] = step.Usage.CostNanoUSD
	if number, _, isCall := strings.Cut(name, flow.SubSeparator); isCall {
		if step.State.Ended() {
			delete(p.open, step.Path)
		} else {
			p.open[step.Path] = *step
		}
	} else if turn, err := strconv.Atoi(strings.TrimSuffix(number, "s")); err == nil {
		p.turn = max(p.turn, turn)
		if turn == p.turn && step.Input["context"] != nil { // a compaction makes it shorter
			p.context, p.room = wholeOf(step.Input["context"]), wholeOf(step.Input["compact_at"])
		}
	}
}

// wholeOf returns a number that a step recorded, or 0.
func wholeOf(v any) int64 {
	n, _ := flow.Float(v)
	return int64(n)
}

// trackAgents takes over the sub-steps that changed. Those that were sent over an earlier connection are read once.
func (s *runStream) trackAgents(steps []flow.Step) error {
	for _, node := range s.agents.track(s, steps) {
		if s.last == 0 {
			continue // all rows are among steps
		}
		heads, err := s.s.Store.FindStepHeads(s.Ctx(), s.WorkspaceID(), s.run.ID, node+flow.SubSeparator)
		if err != nil {
			return err
		}
		if err := s.restore(s.agents[node], heads); err != nil {
			return err
		}
	}
	return nil
}

// restore takes over the sub-steps of an agent that were sent over an earlier connection. Of these it reads the newest turn,
// and the calls and questions that have not ended.
func (s *runStream) restore(p *agentProgress, heads []flow.Step) error {
	turn, open := "", []string{}
	for i := range heads {
		path := heads[i].Path
		p.cost[path] = heads[i].Usage.CostNanoUSD
		if _, name, _ := strings.Cut(path, flow.SubSeparator); !strings.Contains(name, flow.SubSeparator) {
			turn = path
		} else if !heads[i].State.Ended() {
			open = append(open, path)
		}
	}
	if turn != "" {
		open = append(open, turn)
	}
	for _, path := range open {
		step, err := s.s.Store.FindStep(s.Ctx(), s.WorkspaceID(), s.run.ID, path)
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(path, flow.SubSeparator)
		p.take(name, step)
	}
	return nil
}

// writeAgents adds an event with the agents that changed.
func (s *runStream) writeAgents() {
	var list []agentEvent
	for _, p := range s.agents {
		if p.changed && p.turn > 0 {
			p.changed = false
			list = append(list, s.agentEvent(p))
		}
	}
	if len(list) > 0 {
		sorting.By(list, func(a, b agentEvent) int { return strings.Compare(a.Node, b.Node) })
		s.out.Add("", "agents", list)
	}
}

// agentEvent describes the progress of one agent.
func (s *runStream) agentEvent(p *agentProgress) agentEvent {
	e := agentEvent{Node: p.node.ID, Turn: p.turn, Turns: s.limitOf(p.node, "max_turns")}
	for path := range p.open {
		step := p.open[path]
		switch tool := s.graph.Node(step.Node); {
		case strings.HasSuffix(path, askSuffix):
			e.Asks = append(e.Asks, toolAsk{flow.Text(step.Input["tool"]), flow.Text(step.Input["node"]), stepTook(&step, s.s.Now()).Milliseconds()})
		case tool != nil && step.State != flow.StepPending:
			e.Calls = append(e.Calls, document.NodeTitle(tool, s.s.Kinds.For(tool)))
		}
	}
	slices.Sort(e.Calls)
	e.Calls = slices.Compact(e.Calls)
	sorting.By(e.Asks, func(a, b toolAsk) int { return cmp.Or(strings.Compare(a.Tool, b.Tool), cmp.Compare(b.Ms, a.Ms)) }) // the oldest first
	e.Asks = slices.CompactFunc(e.Asks, func(a, b toolAsk) bool { return a.Tool == b.Tool })
	if p.room > 0 {
		e.Context = consoleview.Thousands(p.context) + " of " + consoleview.Thousands(p.room)
		e.Used = min(1, float64(p.context)/float64(p.room))
	}
	spent := p.children
	for _, usd := range p.cost {
		spent += usd
	}
	e.Cost = editorview.Cost(web.UsageView(flow.Usage{CostNanoUSD: spent}))
	if limit := s.limitOf(p.node, "max_usd"); limit != "" {
		e.Limit = "$" + limit
	}
	return e
}

// limitOf returns the value of a field with a limit, or "" if it is unlimited or an edge sets it.
func (s *runStream) limitOf(n *flow.Node, field string) string {
	f := s.s.Kinds.For(n).Field(field)
	if f == nil || s.graph.IsFed(n.ID, field) {
		return ""
	}
	limit, _ := f.ValueOrDefault(n)
	return flow.Text(limit)
}

// addChildren takes over what the runs cost that calls started.
func (a runAgents) addChildren(list []flow.Children) {
	sums := map[string]flow.NanoUSD{}
	for i := range list {
		if node, _, is := strings.Cut(list[i].Caller.Path, flow.SubSeparator); is {
			sums[node] += list[i].Usage.CostNanoUSD
		}
	}
	for node, p := range a {
		p.changed = p.changed || p.children != sums[node]
		p.children = sums[node]
	}
}
