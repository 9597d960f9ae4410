package api

import (
	"context"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
)

// stepObject is the JSON of a step.
type stepObject struct {
	Path      string         `json:"path" doc:"The node, map[3]/node for a step of a child run, or agent.3.1 for a step inside of a node."`
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
	TotalCost *costObject    `json:"total_cost" doc:"Of a node with steps inside, such as an agent: what these cost together, with the runs that they started; otherwise null."`
	Untrusted bool           `json:"untrusted" doc:"The output has content from outside: from a form, an incoming webhook, a web page or another service."`
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

// stepList is all steps of the nodes of a run, or a page of the steps inside of one.
type stepList struct {
	Steps      []stepObject `json:"steps"`
	NextCursor *string      `json:"next_cursor" doc:"Of steps inside of a node: pass it as cursor to get the next page; null on the last page."`
}

// listSteps is GET steps: a step for every node of the document, started or not, and the
// steps of child runs.
func (s *Server) listSteps(c *Call) error {
	run, err := c.findContent()
	if err != nil {
		return err
	}
	ctx, q := c.Request().Context(), newQuery(c.Request().URL)
	if under, given := q.single("under"); given {
		return s.listSubSteps(c, run, q, under)
	}
	rows, err := s.Store.FindNodeSteps(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return err
	}
	out, err := s.Outlines.Find(ctx, run.WorkspaceID, run.DocumentHash)
	if err != nil {
		return err
	}
	list := stepList{Steps: []stepObject{}}
	for _, step := range mergeSteps(run, out, rows) {
		o := s.linkedStep(run, &step)
		if k := s.Kinds.Find(step.Kind); k != nil && k.Expand != nil {
			if o.TotalCost, err = s.totalCost(ctx, run, step.Path); err != nil {
				return err
			}
		}
		list.Steps = append(list.Steps, o)
	}
	return c.WriteJSON(http.StatusOK, list)
}

// linkedStep returns the JSON of a step with download links.
func (s *Server) linkedStep(run *flow.Run, step *flow.Step) stepObject {
	o := newStepObject(step)
	o.Input, o.Output = s.linkMap(run.WorkspaceID, o.Input), s.linkMap(run.WorkspaceID, o.Output)
	return o
}

// totalCost returns what the sub-steps of a step cost together, with the child runs that they started.
func (s *Server) totalCost(ctx context.Context, run *flow.Run, path string) (*costObject, error) {
	heads, err := s.Store.FindStepHeads(ctx, run.WorkspaceID, run.ID, path+flow.SubSeparator)
	if err != nil {
		return nil, err
	}
	var sum flow.Usage
	for i := range heads {
		sum = sum.Add(heads[i].Usage)
	}
	children, err := s.Store.ListChildren(ctx, run.WorkspaceID, run.ID)
	if err != nil {
		return nil, err
	}
	for i := range children {
		if strings.HasPrefix(children[i].Caller.Path, path+flow.SubSeparator) {
			sum = sum.Add(children[i].Usage)
		}
	}
	return new(costOf(sum)), nil
}

// subStepPage is the number of steps inside of a node on one page.
const subStepPage = 100

// listSubSteps responds with a page of the steps inside of a node, or inside of one of these.
func (s *Server) listSubSteps(c *Call, run *flow.Run, q *query, under string) error {
	after, contents := q.pathCursor(), q.boolean("contents")
	if under == "" {
		q.add("/under", "required", "wanted the ID of a node, or the path of a step inside of it")
	}
	if err := q.err(); err != nil {
		return err
	}
	ctx := c.Request().Context()
	heads, err := s.Store.FindStepHeads(ctx, run.WorkspaceID, run.ID, under+flow.SubSeparator)
	if err != nil {
		return err
	}
	for len(heads) > 0 && after != "" && flow.CompareSubSteps(heads[0].Path, after) <= 0 {
		heads = heads[1:]
	}
	list := stepList{Steps: []stepObject{}}
	if len(heads) > subStepPage {
		heads = heads[:subStepPage]
		list.NextCursor = newCursor(heads[subStepPage-1].Path)
	}
	for i := range heads {
		step := &heads[i]
		if contents {
			if step, err = s.Store.FindStep(ctx, run.WorkspaceID, run.ID, heads[i].Path); err != nil {
				return err
			}
			if step == nil { // erased meanwhile
				continue
			}
		}
		list.Steps = append(list.Steps, s.linkedStep(run, step))
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

// TopNode returns the top-level node in the path of a step, such as map for map[3]/node, or agent for agent.3.1.
func TopNode(path string) string {
	if i := strings.IndexAny(path, "[/"+flow.SubSeparator); i >= 0 {
		return path[:i]
	}
	return path
}

// newStepObject returns the JSON of a step, without download links.
func newStepObject(s *flow.Step) stepObject {
	return stepObject{
		Path: s.Path, Node: s.Node, Kind: s.Kind, State: s.State, Attempts: s.Attempt,
		StartedAt: stampOrNull(s.StartedAt), EndedAt: stampOrNull(s.EndedAt), WaitUntil: stampOrNull(s.WaitUntil),
		Input: s.Input, Output: s.Outputs, Usage: s.Usage, Cost: costOf(s.Usage), Untrusted: s.Untrusted, Model: orNull(s.Model()), Tries: newTryObjects(s), Log: s.Log(), Error: newErrorObject(s.Error),
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
