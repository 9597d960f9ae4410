package handlers

import (
	"net/http"
	"slices"
	"strings"

	"sluice/flow"
)

// stepObject is a step as callers see it.
type stepObject struct {
	Path      string         `json:"path"`
	Node      string         `json:"node"`
	Kind      string         `json:"kind"`
	State     flow.StepState `json:"state"`
	Attempts  int            `json:"attempts"`
	StartedAt stamp          `json:"started_at"`
	EndedAt   stamp          `json:"ended_at"`
	WaitUntil stamp          `json:"wait_until"`
	Input     map[string]any `json:"input"`
	Output    map[string]any `json:"output"`
	Usage     flow.Usage     `json:"usage"`
	Cost      costObject     `json:"cost"`
	Error     *errorObject   `json:"error"`
}

// listSteps is GET steps: every node of the document, whether its step began
// or not, and what ran inside of nodes.
func (s *Server) listSteps(c *call) error {
	if _, err := c.wants(typeJSON); err != nil {
		return err
	}
	run, err := c.findRun()
	if err == nil {
		err = contentOf(run)
	}
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	rows, err := s.Store.FindSteps(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return err
	}
	out, err := s.outlines.find(ctx, run.WorkspaceID, run.DocumentHash)
	if err != nil {
		return err
	}
	list := []stepObject{}
	for _, step := range mergeSteps(run, out, rows) {
		list = append(list, newStepObject(&step))
	}
	return c.writeJSON(http.StatusOK, map[string]any{"steps": list})
}

// mergeSteps puts the rows in the order of the document and adds the nodes
// that have none: they are still to come, or were never reached.
func mergeSteps(run *flow.Run, out *outline, rows []flow.Step) []flow.Step {
	missing := flow.StepPending
	if run.State.Ended() {
		missing = flow.StepCanceled
	}
	within := map[string][]flow.Step{} // rows by the top-level node they belong to
	for _, r := range rows {
		within[topNode(r.Path)] = append(within[topNode(r.Path)], r)
	}
	list := make([]flow.Step, 0, max(len(rows), len(out.nodes)))
	for _, n := range out.nodes {
		own := within[n.id]
		slices.SortStableFunc(own, func(a, b flow.Step) int { return strings.Compare(a.Path, b.Path) })
		if len(own) == 0 || own[0].Path != n.id {
			list = append(list, flow.Step{Path: n.id, Node: n.id, Kind: n.kind, State: missing})
		}
		list = append(list, own...)
	}
	return list
}

// topNode is the node of the flow itself in a path such as map[3]/node.
func topNode(path string) string {
	if i := strings.IndexAny(path, "[/"); i >= 0 {
		return path[:i]
	}
	return path
}

func newStepObject(s *flow.Step) stepObject {
	return stepObject{
		Path: s.Path, Node: s.Node, Kind: s.Kind, State: s.State, Attempts: s.Attempt,
		StartedAt: stamp(s.StartedAt), EndedAt: stamp(s.EndedAt), WaitUntil: stamp(s.WaitUntil),
		Input: s.Input, Output: s.Outputs, Usage: s.Usage, Cost: costObject{s.Usage.USD()}, Error: newErrorObject(s.Error),
	}
}
