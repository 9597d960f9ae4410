package editor

import (
	"net/http"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/handlers/web"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// showResult is GET /flows/{id}/runs/{run}/result: the inputs and outputs of a run,
// and the next step after a success, which is to publish the draft.
func (c *call) showResult(f *flow.Flow) error {
	run, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), f.ID, flow.RunID(c.Param("run")))
	if err != nil {
		return err
	}
	r, err := resultOf(c, f, run)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, editorview.Result(r))
}

// besideRun returns the IDs of the next older and the next newer run of the flow, "" without one.
func besideRun(c *call, run *flow.Run) (older, newer string, err error) {
	for _, side := range []struct {
		id    *string
		query flow.RunQuery
	}{{&older, flow.RunQuery{Before: string(run.ID)}}, {&newer, flow.RunQuery{After: string(run.ID)}}} {
		side.query.WorkspaceID, side.query.FlowID, side.query.Limit = c.WorkspaceID(), run.FlowID, 1
		found, err := c.s.Store.ListRunRows(c.Ctx(), side.query)
		if err != nil {
			return "", "", err
		}
		if len(found.Rows) > 0 && found.Rows[0].ID != run.ID { // without a newer run, the list starts over
			*side.id = string(found.Rows[0].ID)
		}
	}
	return older, newer, nil
}

// resultOf returns the result of a run.
func resultOf(c *call, f *flow.Flow, run *flow.Run) (r editorview.ResultPane, err error) {
	m, err := c.shownMark(run)
	if err != nil {
		return r, err
	}
	r = editorview.ResultPane{FlowID: string(f.ID), Run: &m, Now: c.s.Now()}
	if r.Older, r.Newer, err = besideRun(c, run); err != nil {
		return r, err
	}
	if run.Erased != "" {
		r.Erased = "The content of this run was erased: it was not saved, or its retention period is over."
		return r, nil
	}
	doc, err := c.findRunDocument(run)
	if err != nil {
		return r, err
	}
	if run.Error != nil && doc.Node(run.Error.Node) != nil {
		r.Failed = web.NodeTitle(doc, c.s.Kinds, run.Error.Node)
	}
	steps := func() ([]flow.Step, error) { return c.s.Store.FindSteps(c.Ctx(), c.WorkspaceID(), run.ID) }
	if r.Outputs, err = web.RunOutputs(run, doc, c.s.Kinds, steps); err != nil {
		return r, err
	}
	open, err := web.OpenQuestions(c.Ctx(), c.s.Store, run, c.s.Now())
	if err != nil {
		return r, err
	}
	for i := range open {
		r.Questions = append(r.Questions, web.ApprovalPath(open[i].RunID, open[i].Path))
	}
	for _, in := range contract.Inputs(doc, c.s.Kinds) {
		if value, given := run.Inputs.Lookup(in.Name); given {
			r.Inputs = append(r.Inputs, components.ValueView{Name: in.Name, Value: value})
		}
	}
	if run.State != flow.RunSucceeded || !c.MayEdit() {
		return r, nil
	}
	state, err := publishState(c, f)
	switch {
	case err != nil:
	case !state.Changed:
		r.Live = state.Live
	case run.Draft && state.Problems == 0:
		r.Publish = state.Next
	}
	return r, err
}

// firstResult returns the result before the first run: the example that would run. It has no values
// if an input needs one and has no example.
func firstResult(c *call, d *draft) editorview.ResultPane {
	r := editorview.ResultPane{FlowID: string(d.flow.ID), MayRun: c.canChange(d), Runnable: len(d.Nodes) > 0}
	inputs := contract.Inputs(d.Document, c.s.Kinds)
	values := exampleInputs(inputs)
	for i := range inputs {
		in := &inputs[i]
		value, given := values.Lookup(in.Name)
		if !given && in.Required {
			return r
		}
		if given && !in.Secret {
			r.Inputs = append(r.Inputs, components.ValueView{Name: in.Name, Value: value})
		}
	}
	r.Example = r.Runnable
	return r
}
