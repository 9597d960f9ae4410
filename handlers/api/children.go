package api

import (
	"net/http"
	"slices"
	"strconv"

	"sluice/flow"
)

// callerObject names the step that started a child run.
type callerObject struct {
	RunID flow.RunID `json:"run_id"`
	Path  string     `json:"path" doc:"The step."`
	Item  int        `json:"item" doc:"The item that the run is for, counted from 0."`
}

// childStep is the JSON of the totals of all child runs of one step.
type childStep struct {
	Path      string      `json:"path"`
	FlowID    flow.FlowID `json:"flow_id" doc:"The flow that the children run."`
	Version   int64       `json:"version" doc:"0 for the draft."`
	Total     int         `json:"total" doc:"Items; -1 while the list is being stored."`
	Pending   int         `json:"pending" doc:"Items that have not started."`
	Running   int         `json:"running"`
	Succeeded int         `json:"succeeded" doc:"Reused results included."`
	Failed    int         `json:"failed" doc:"Canceled items included."`
	Reused    int         `json:"reused" doc:"Results taken over from the run that was repeated."`
	Cost      costObject  `json:"cost"`
}

// childObject is the JSON of an item.
type childObject struct {
	Path    string        `json:"path"`
	Item    int           `json:"item"`
	RunID   *flow.RunID   `json:"run_id" doc:"null if the inputs are wrong, so that no run was started."`
	FlowID  flow.FlowID   `json:"flow_id"`
	Status  flow.RunState `json:"status"`
	Reused  bool          `json:"reused" doc:"The run is that of the run that was repeated: the inputs and the flow were the same, so it was not run again."`
	Inputs  *flow.Object  `json:"inputs"`
	Outputs *flow.Object  `json:"outputs"`
	Error   *errorObject  `json:"error"`
}

// childList is one page of the items of a run.
type childList struct {
	Steps      []childStep   `json:"steps"`
	Children   []childObject `json:"children"`
	NextCursor *string       `json:"next_cursor"`
}

// childPage is the number of items that are read at once to find those with a status.
const childPage = 500

// listChildren is GET children: the items that the steps of a run have started, with
// their results. A key that may see the run may see them.
func (s *Server) listChildren(c *Call) error {
	run, err := c.findContent()
	if err != nil {
		return err
	}
	q := newQuery(c.Request().URL)
	states, limit, from := q.states("status"), q.limit(), 0
	if text, ok := q.single("cursor"); ok {
		if from, err = strconv.Atoi(text); err != nil || from < 0 {
			q.add("/cursor", "invalid", "wanted the next_cursor of an earlier answer")
		}
	}
	if err := q.err(); err != nil {
		return err
	}
	steps, err := s.Store.ListChildren(c.Request().Context(), run.WorkspaceID, run.ID)
	if err != nil {
		return err
	}
	list := childList{Steps: convert(steps, newChildStep), Children: []childObject{}}
	offset := 0 // number of items of earlier steps
	for i := range steps {
		step := &steps[i]
		for at := max(from-offset, 0); at < step.Total; at += childPage {
			page, err := s.Store.ReadChildren(c.Request().Context(), run.WorkspaceID, step.Caller, at, min(at+childPage, step.Total))
			if err != nil {
				return err
			}
			for k := range page {
				if states != nil && !slices.Contains(states, page[k].State) {
					continue
				}
				if len(list.Children) == limit {
					next := strconv.Itoa(offset + page[k].Item)
					list.NextCursor = &next
					return c.WriteJSON(http.StatusOK, list)
				}
				list.Children = append(list.Children, s.newChildObject(run, step, &page[k]))
			}
		}
		offset += max(step.Total, 0)
	}
	return c.WriteJSON(http.StatusOK, list)
}

// newChildStep returns the JSON of the children of one step: how many items there are in each
// state, and what they cost together.
func newChildStep(c *flow.Children) childStep {
	return childStep{
		Path: c.Caller.Path, FlowID: c.FlowID, Version: c.Version, Total: c.Total, Pending: c.Pending, Running: c.Running,
		Succeeded: c.Succeeded, Failed: c.Failed, Reused: c.Reused, Cost: costOf(c.Usage),
	}
}

// newChildObject returns the JSON of one item. An item has no run before it starts.
func (s *Server) newChildObject(run *flow.Run, c *flow.Children, r *flow.ChildResult) childObject {
	return childObject{
		Path: c.Caller.Path, Item: r.Item, RunID: orNull(r.RunID), FlowID: c.FlowID, Status: r.State, Reused: r.Reused,
		Inputs: orEmpty(s.LinkFiles(run.WorkspaceID, r.Inputs)), Outputs: s.LinkFiles(run.WorkspaceID, r.Outputs), Error: newErrorObject(r.Error),
	}
}

// encodeRun returns the run object as JSON, including the cost of child runs and, for a child, the
// root run.
func (c *Call) encodeRun(run *flow.Run) ([]byte, error) {
	ctx := c.Request().Context()
	o := c.s.runObject(run)
	children, err := c.s.Runner.ChildUsage(ctx, run)
	if err != nil {
		return nil, err
	}
	o.Cost = costOf(run.Usage.Add(children))
	if run.State == flow.RunWaiting {
		if o.WaitingFor, err = c.waitsFor(run); err != nil {
			return nil, err
		}
	}
	if run.Caller != nil {
		step, err := c.s.Store.FindChildren(ctx, *run.Caller)
		if err != nil {
			return nil, err
		}
		if step != nil {
			o.RootRunID = &step.RootRunID
		}
	}
	return flow.EncodeJSON(&o), nil
}

// writeRun responds with the run object.
func (c *Call) writeRun(status int, run *flow.Run) error {
	body, err := c.encodeRun(run)
	if err != nil {
		return err
	}
	return c.writeBody(status, body)
}

// waitsFor returns what a waiting run waits for. Of several reasons, it returns the one that most
// depends on others: an approval first, a retry last.
func (c *Call) waitsFor(run *flow.Run) (*flow.WaitsFor, error) {
	kinds, err := c.s.Store.WaitingKinds(c.Request().Context(), run.WorkspaceID, run.ID)
	if err != nil {
		return nil, err
	}
	waits := map[flow.WaitsFor]bool{}
	for kind, hasState := range kinds {
		reason := flow.WaitsForRetry
		if k := c.s.Kinds.Find(kind); k != nil && k.WaitsFor != "" && hasState {
			reason = k.WaitsFor
		}
		waits[reason] = true
	}
	if waits[flow.WaitsForRetry] && run.Caller != nil { // rows of batches wait for budgets without a state
		b, err := c.s.Store.UsedUpBudget(c.Request().Context(), run)
		if err != nil {
			return nil, err
		}
		if b != nil {
			waits[flow.WaitsForBudget] = true
		}
	}
	for _, reason := range []flow.WaitsFor{flow.WaitsForApproval, flow.WaitsForChildren, flow.WaitsForPrediction, flow.WaitsForDelay, flow.WaitsForBudget, flow.WaitsForRetry} {
		if waits[reason] {
			return &reason, nil
		}
	}
	return nil, nil
}
