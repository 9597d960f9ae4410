package engine

import (
	"time"

	"sluice/flow"
)

// StepsAhead are the steps that a trial has from its start: pinned nodes count
// as reused, and with until those that only pinned ones ask for are skipped.
// They are written with the run, so that a restart finds them like all others.
func (g *Graph) StepsAhead(pins []flow.Pin, until string, at time.Time) []flow.Step {
	pinned := map[string]map[string]any{}
	for _, p := range pins {
		if i, ok := g.index[p.Node]; ok && g.nodes[i].kind.CanPin() && !g.nodes[i].Disabled {
			pinned[p.Node] = p.Outputs
		}
	}
	needed := g.needed(until, pinned)
	var steps []flow.Step
	for i := range g.nodes {
		n := &g.nodes[i]
		s := flow.Step{Path: n.ID, Node: n.ID, Kind: n.Kind, NodeHash: n.hash}
		outputs, isPinned := pinned[n.ID]
		switch {
		case needed != nil && !needed[i]:
			s.State = flow.StepSkipped
		case isPinned:
			s.State, s.Outputs, s.StartedAt, s.EndedAt = flow.StepReused, outputs, at, at
		default:
			continue
		}
		steps = append(steps, s)
	}
	return steps
}

// needed are the nodes that a node depends on, by place: what is pinned asks
// for nothing. It is nil when there is no such node: then all are.
func (g *Graph) needed(until string, pinned map[string]map[string]any) map[int]bool {
	last, ok := g.index[until]
	if !ok {
		return nil
	}
	needed := map[int]bool{}
	var need func(i int)
	need = func(i int) {
		if needed[i] {
			return
		}
		needed[i] = true
		if _, isPinned := pinned[g.nodes[i].ID]; isPinned {
			return
		}
		for _, e := range g.nodes[i].in {
			need(e.from)
		}
	}
	need(last)
	return needed
}
