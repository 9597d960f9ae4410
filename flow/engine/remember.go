package engine

import (
	"sluice/flow"
)

// Remember returns the conversations of a run that has ended, by node ID, from all its recorded steps; see
// flow.Kind.Remember. reused lists the nodes with a conversation that the run took over from its parent run, which
// has its sub-steps.
func (g *Graph) Remember(run *flow.Run, steps []flow.Step) (memory map[string]any, reused []string, err error) {
	memory = map[string]any{}
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.kind.Remember == nil {
			continue
		}
		state := flow.StepState("")
		for k := range steps {
			if steps[k].Path == n.ID && steps[k].State.Ended() {
				state = steps[k].State
			}
		}
		so, above := g.recorded(i, steps, func(string) bool { return true })
		if len(so.Done) == 0 {
			if state == flow.StepReused && run.ParentRunID != "" {
				reused = append(reused, n.ID)
			}
			continue
		}
		in, failed := g.inputThen(run, above, i)
		if failed != nil {
			return nil, nil, failed
		}
		kept, err := n.kind.Remember(in, so)
		if err != nil {
			return nil, nil, err
		}
		if kept != nil {
			memory[n.ID] = kept
		}
	}
	return memory, reused, nil
}

// Remembers reports whether a node can continue the conversation of a node of the same ID in an earlier run.
func (g *Graph) Remembers(node string) bool {
	i, ok := g.index[node]
	return ok && g.nodes[i].kind.Remember != nil
}
