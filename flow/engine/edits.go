package engine

import (
	"strings"

	"sluice/flow"
)

// HasStep reports whether a run can begin again at a path: that of a node, or of a sub-step of one.
func (g *Graph) HasStep(path string) bool {
	node, _, isSub := strings.Cut(path, flow.SubSeparator)
	i, ok := g.index[node]
	return ok && (!isSub || g.nodes[i].kind.Expand != nil)
}

// Depends reports whether a node is the one at a path, or depends on it.
func (g *Graph) Depends(node, path string) bool {
	from, _, _ := strings.Cut(path, flow.SubSeparator)
	i, ok := g.index[from]
	if !ok {
		return false
	}
	r := &Reuse{Forced: map[string]bool{}}
	r.force(g, i)
	return r.Forced[node]
}

// EditCall returns the sub-step with which a rerun replaces the arguments of a call. asked is the
// sub-step of the parent run that asked for the call.
func (g *Graph) EditCall(call, asked *flow.Step, number int, arguments *flow.Object) (flow.Step, error) {
	node, _, _ := strings.Cut(call.Path, flow.SubSeparator)
	i, ok := g.index[node]
	if !ok || g.nodes[i].kind.Edit == nil {
		return flow.Step{}, flow.Errorf(flow.CodeInputInvalid, "This run has no agent %q.", node)
	}
	n := &g.nodes[i]
	for k := range n.tools {
		t := &n.tools[k]
		if t.ID != call.Node {
			continue
		}
		outputs, err := n.kind.Edit(flow.CallEdit{Outputs: asked.Outputs, Number: number, Tool: t.Node, Schema: flow.ToolSchema(t.Node, t.kind, t.open), Arguments: arguments})
		if err != nil {
			return flow.Step{}, err
		}
		return flow.Step{Path: call.Path + flow.EditSuffix, Node: n.ID, Kind: flow.EditKind, State: flow.StepSucceeded, Outputs: outputs}, nil
	}
	return flow.Step{}, flow.Errorf(flow.CodeInputInvalid, "The agent has no tool %q.", call.Node)
}

// SubStep returns a sub-step of a run as the step that it belongs to asked for it, from the recorded
// steps of the run before it. It includes what is not recorded, such as the whole request of a turn.
func (g *Graph) SubStep(run *flow.Run, steps []flow.Step, path string) (*flow.SubStep, error) {
	node, name, _ := strings.Cut(path, flow.SubSeparator)
	i, ok := g.index[node]
	if !ok || g.nodes[i].kind.Expand == nil {
		return nil, flow.Errorf(flow.CodeNotFound, "There is no such step.")
	}
	so, above := g.recorded(i, steps, func(sub string) bool { return flow.CompareSubSteps(sub, name) < 0 })
	in, failed := g.inputThen(run, above, i)
	if failed != nil {
		return nil, failed
	}
	next, err := g.nodes[i].kind.Expand(in, so)
	for k := range next.Steps {
		if next.Steps[k].Name == name {
			return &next.Steps[k], nil
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, flow.Errorf(flow.CodeNotFound, "There is no such step.")
}

// recorded returns what a run recorded of a node: its sub-steps that have ended and for which which holds, and the steps of the nodes
// that it depends on.
func (g *Graph) recorded(i int, steps []flow.Step, which func(sub string) bool) (so *flow.Expansion, above []flow.Step) {
	nodes := map[string]bool{}
	g.markAbove(i, nodes)
	so = &flow.Expansion{Done: map[string]*flow.SubResult{}}
	for k := range steps {
		s := &steps[k]
		own, sub, isSub := strings.Cut(s.Path, flow.SubSeparator)
		switch {
		case !s.State.Ended():
		case !isSub && nodes[s.Path]:
			above = append(above, *s)
		case isSub && own == g.nodes[i].ID && which(sub):
			so.Done[sub] = subResult(s)
		}
	}
	return so, above
}

// inputThen returns the input that a node of a run had, from the steps of the nodes that it depends on.
func (g *Graph) inputThen(run *flow.Run, above []flow.Step, i int) (*flow.In, *flow.Error) {
	past := *run
	past.State, past.Error, past.CancelRequested, past.StopRequested = flow.RunRunning, nil, false, false
	return NewPlan(g, &past, above, nil).resolve(i)
}

// markAbove collects the nodes that a node depends on.
func (g *Graph) markAbove(i int, above map[string]bool) {
	for _, e := range g.nodes[i].in {
		if from := &g.nodes[e.from]; !above[from.ID] {
			above[from.ID] = true
			g.markAbove(e.from, above)
		}
	}
}
