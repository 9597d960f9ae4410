package api

import (
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
)

// stepObject is the JSON of a step.
type stepObject struct {
	Path      string         `json:"path" doc:"The node, or map[3]/node for a step of a child run."`
	Node      string         `json:"node"`
	Kind      string         `json:"kind"`
	State     flow.StepState `json:"state"`
	Attempts  int            `json:"attempts" doc:"Number of attempts."`
	StartedAt stampOrNull    `json:"started_at"`
	EndedAt   stampOrNull    `json:"ended_at"`
	WaitUntil stampOrNull    `json:"wait_until" doc:"When a waiting step continues, if known."`
	Input     map[string]any `json:"input"`
	Output    map[string]any `json:"output" doc:"Values by output port."`
	Usage     flow.Usage     `json:"usage"`
	Cost      costObject     `json:"cost"`
	Model     *string        `json:"model" doc:"The model that the step called last, as provider/model."`
	Tries     []tryObject    `json:"tries" doc:"The attempts, the newest 20 of them."`
	Log       string         `json:"log" doc:"What code wrote to its console in the last attempt."`
	Error     *errorObject   `json:"error"`
}

// tryObject is the JSON of an attempt.
type tryObject struct {
	Number    int          `json:"number"`
	StartedAt stampOrNull  `json:"started_at"`
	EndedAt   stampOrNull  `json:"ended_at"`
	Model     *string      `json:"model"`
	Cost      costObject   `json:"cost"`
	Lost      bool         `json:"lost,omitempty" doc:"The attempt called a model and its bill is unknown: no response came, or it could not be read. Budgets count an estimate."`
	Error     *errorObject `json:"error"`
}

// stepList is all steps of a run, on one page.
type stepList struct {
	Steps []stepObject `json:"steps"`
}

// listSteps is GET steps: a step for every node of the document, started or not, and the
// steps of child runs.
func (s *Server) listSteps(c *Call) error {
	run, err := c.findContent()
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	rows, err := s.Store.FindSteps(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return err
	}
	out, err := s.Outlines.Find(ctx, run.WorkspaceID, run.DocumentHash)
	if err != nil {
		return err
	}
	list := stepList{Steps: []stepObject{}}
	for _, step := range mergeSteps(run, out, rows) {
		o := newStepObject(&step)
		o.Input, o.Output = s.linkMap(run.WorkspaceID, o.Input), s.linkMap(run.WorkspaceID, o.Output)
		list.Steps = append(list.Steps, o)
	}
	return c.WriteJSON(http.StatusOK, list)
}

// mergeSteps returns the stored steps in the order of the document, and adds a pending or
// canceled step for each node without one.
func mergeSteps(run *flow.Run, out *Outline, rows []flow.Step) []flow.Step {
	missing := flow.StepPending
	if run.State.Ended() {
		missing = flow.StepCanceled
	}
	byNode := map[string][]flow.Step{} // rows by top-level node
	for _, r := range rows {
		byNode[TopNode(r.Path)] = append(byNode[TopNode(r.Path)], r)
	}
	list := make([]flow.Step, 0, max(len(rows), len(out.Nodes)))
	for _, n := range out.Nodes {
		own := byNode[n.id]
		sorting.By(own, func(a, b flow.Step) int { return strings.Compare(a.Path, b.Path) })
		if len(own) == 0 || own[0].Path != n.id {
			list = append(list, flow.Step{Path: n.id, Node: n.id, Kind: n.kind, State: missing})
		}
		list = append(list, own...)
	}
	return list
}

// TopNode returns the top-level node in the path of a step, such as map for map[3]/node.
func TopNode(path string) string {
	if i := strings.IndexAny(path, "[/"); i >= 0 {
		return path[:i]
	}
	return path
}

// newStepObject returns the JSON of a step, without download links.
func newStepObject(s *flow.Step) stepObject {
	return stepObject{
		Path: s.Path, Node: s.Node, Kind: s.Kind, State: s.State, Attempts: s.Attempt,
		StartedAt: stampOrNull(s.StartedAt), EndedAt: stampOrNull(s.EndedAt), WaitUntil: stampOrNull(s.WaitUntil),
		Input: s.Input, Output: s.Outputs, Usage: s.Usage, Cost: costOf(s.Usage), Model: orNull(s.Model()), Tries: newTryObjects(s), Log: s.Log(), Error: newErrorObject(s.Error),
	}
}

// newTryObjects returns the JSON of the attempts of a step, oldest first; never null.
func newTryObjects(s *flow.Step) []tryObject {
	list := []tryObject{}
	for _, a := range s.Tries() {
		t := tryObject{Number: a.Number, StartedAt: stampOrNull(a.StartedAt), EndedAt: stampOrNull(a.EndedAt), Model: orNull(a.Model), Error: newErrorObject(a.Error)}
		t.Cost.USD, t.Lost = a.CostNanoUSD.Exact(), a.Lost
		if a.Unpriced {
			t.Cost.UnpricedSteps = 1
		}
		list = append(list, t)
	}
	return list
}
