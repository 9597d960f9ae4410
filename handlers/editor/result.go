package editor

import (
	"net/http"
	"net/url"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// showResult is GET /flows/{id}/runs/{run}/result: what a run gave.
func (c *call) showResult(f *flow.Flow) error {
	run, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), f.ID, c.Param("run"))
	if err != nil {
		return err
	}
	m := c.mark(run)
	r := editorview.ResultPane{FlowID: f.ID, Run: &m, Now: c.s.Now()}
	if run.Erased != "" {
		r.Erased = "The content of this run was erased: it was not saved, or its retention period is over."
		return c.Render(http.StatusOK, editorview.Result(r))
	}
	doc, err := c.documentOf(run)
	if err != nil {
		return err
	}
	if run.Error != nil && doc.Node(run.Error.Node) != nil {
		r.Failed = web.NodeLabel(doc, run.Error.Node)
	}
	for _, o := range doc.Outputs(c.s.Kinds) {
		if value, there := run.Outputs[o.Name]; there {
			q := url.Values{"run": {run.ID}, "side": {"output"}, "port": {"value"}}
			r.Outputs = append(r.Outputs, components.ValueView{Name: o.Name, Value: value,
				More: components.FlowPath(f.ID) + "/data/" + url.PathEscape(o.Node) + "?" + q.Encode()})
		}
	}
	for _, in := range doc.Inputs(c.s.Kinds) {
		if value, there := run.Inputs[in.Name]; there {
			r.Inputs = append(r.Inputs, components.ValueView{Name: in.Name, Value: value})
		}
	}
	if run.State == flow.RunSucceeded && run.Draft && c.MayEdit() {
		state, err := c.publishState(f)
		if err != nil {
			return err
		}
		if state.Changed && state.Problems == 0 {
			r.Publish = state.Next
		}
	}
	return c.Render(http.StatusOK, editorview.Result(r))
}
