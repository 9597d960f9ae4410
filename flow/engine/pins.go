package engine

import (
	"time"

	"sluice/flow"
)

// InitialSteps returns the steps that a test run is created with. Pinned nodes are marked as
// reused. If until is set, nodes that it does not need, or needs only through pinned nodes,
// are marked as skipped. The steps are stored with the run, so that a restart finds them.
func (g *Graph) InitialSteps(pins []flow.Pin, until string, at time.Time) []flow.Step {
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
			s.Untrusted = n.kind.StartsRuns() || n.kind.Expand != nil || n.kind.Untrusted != nil && n.kind.Untrusted(n.Node)
		default:
			continue
		}
		steps = append(steps, s)
	}
	return steps
}

// needed returns the indexes of the node until and of all nodes that it depends on. The
// dependencies of pinned nodes are not needed. It returns nil if the node does not exist, which
// means that all nodes are needed.
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
