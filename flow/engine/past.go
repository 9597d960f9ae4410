package engine

import (
	"context"
	"maps"
	"strings"

	"sluice/flow"
)

// A test case can be made from a run that has ended. The results of its steps that left the process become recordings, under
// the hashes by which a case run looks for them.

// Past is what the steps of a run that has ended give to a test case.
type Past struct {
	Recordings []flow.Recording
	Models     map[string]bool        // IDs of the nodes that called a model
	Failed     map[string]*flow.Error // by ID: nodes that left the process and failed
	Unrecorded []string               // IDs of nodes whose results go into a field for a secret
}

// SecretTexts calls found with the texts in the outputs of steps that recordings leave out.
func (g *Graph) SecretTexts(steps []flow.Step, found func(text string)) {
	for i := range steps {
		if steps[i].Outputs != nil && g.stepLeaves(&steps[i]) {
			flow.WithoutSecrets(steps[i].Outputs, found)
		}
	}
}

// stepLeaves reports whether a step left the process, as far as its kind says.
func (g *Graph) stepLeaves(s *flow.Step) bool {
	if i, ok := g.index[s.Path]; ok {
		return g.nodes[i].leavesProcess()
	}
	return flow.IsSubStep(s.Path) && !strings.HasSuffix(s.Path, flow.EditSuffix)
}

// Past returns what the steps of a run give to a test case. The outputs of the steps must have no secrets any more.
func (g *Graph) Past(ctx context.Context, files flow.FileStore, run *flow.Run, steps []flow.Step) (*Past, error) {
	p := &Past{Models: map[string]bool{}, Failed: map[string]*flow.Error{}}
	for k := range steps {
		s := &steps[k]
		switch s.State {
		case flow.StepSucceeded, flow.StepReused, flow.StepFailed:
		default:
			continue
		}
		if !g.stepLeaves(s) {
			continue
		}
		n, in, err := g.stepThen(run, steps, s.Path)
		if err != nil {
			return nil, err
		}
		if n == nil || !n.leavesProcess() {
			continue
		}
		if n.kind.Charge != nil || n.kind.ChargeFor != nil {
			p.Models[n.ID] = true
		}
		switch {
		case s.State == flow.StepFailed && n.sub == nil:
			p.Failed[n.ID] = s.Error
			continue
		case s.State == flow.StepFailed, !n.writes() && n.readsStoredFile(in):
			continue
		case g.feedsSecret(n):
			p.Unrecorded = append(p.Unrecorded, n.ID)
			continue
		}
		hash, err := n.recordingHash(ctx, files, in)
		if err != nil {
			return nil, err
		}
		node := n.ID
		if n.sub != nil && n.sub.Tool != "" {
			node = n.sub.Tool
		}
		r := flow.Recording{WorkspaceID: run.WorkspaceID, NodeHash: n.hash, InputHash: hash, Node: node, Untrusted: s.Untrusted, Usage: s.Usage, Duration: s.EndedAt.Sub(s.StartedAt), RunID: run.ID}
		r.Input, _ = n.recorded(in)
		r.Outputs, _ = flow.AsMap(flow.WithoutSecrets(s.Outputs, func(string) {}))
		p.Recordings = append(p.Recordings, r)
	}
	return p, nil
}

// stepThen returns the node of a step with the input that it had; nil if the document does not lead to that step any more.
func (g *Graph) stepThen(run *flow.Run, steps []flow.Step, path string) (*graphNode, *flow.In, error) {
	if i, ok := g.index[path]; ok {
		_, above := g.recorded(i, steps, func(string) bool { return false })
		in, failed := g.inputThen(run, above, i)
		if failed != nil {
			return nil, nil, nil
		}
		return &g.nodes[i], in, nil
	}
	node, _, _ := strings.Cut(path, flow.SubSeparator)
	i, ok := g.index[node]
	if !ok {
		return nil, nil, nil
	}
	sub, err := g.SubStep(run, steps, path)
	if err != nil || sub.Kind == nil {
		return nil, nil, nil
	}
	n := g.nodes[i].subNode(sub)
	return n, &flow.In{WorkspaceID: run.WorkspaceID, Config: maps.Clone(sub.Config), Ports: maps.Clone(sub.Ports)}, nil
}

// OutputsAfter returns the names of the outputs that depend on some nodes.
func (g *Graph) OutputsAfter(nodes map[string]bool) map[string]bool {
	r := &Reuse{Forced: map[string]bool{}}
	for id := range nodes {
		if i, ok := g.index[id]; ok {
			r.force(g, i)
		}
	}
	names := map[string]bool{}
	for i := range g.nodes {
		if n := &g.nodes[i]; n.kind.Role == flow.RoleOutput && r.Forced[n.ID] {
			names[flow.NameOf(n.Node)] = true
		}
	}
	return names
}
