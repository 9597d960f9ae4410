package editor

import (
	"net/http"
	"slices"

	"sluice/flow"
	editorview "sluice/views/editor"
)

// showLast is GET /flows/{id}/node/{node}/last: what the node got and put out in the last run. The
// response is 204 if it was not executed.
func showLast(c *call, d *draft) error {
	t, err := c.findNodeIn(d)
	if err != nil {
		return err
	}
	run, err := c.findRunOrLast(d.flow.ID, "")
	if err != nil || run == nil {
		return noValue(c, err)
	}
	step, err := c.findStep(run, t.node.ID)
	if err != nil || step == nil {
		return noValue(c, err)
	}
	last := editorview.LastRun{State: step.State}
	if step.Error != nil {
		last.Error = failureOf(step.Error).Text
	}
	if v := mainInput(t, step.Input); v != nil {
		last.Input = previewOf(v).Text
	}
	for _, p := range t.kind.Outputs {
		if v, ok := step.Outputs[p.Name]; ok && last.Output == "" {
			last.Output = previewOf(v).Text
			if p.Branch {
				last.Branch = p.Title
			}
		}
	}
	return c.Render(http.StatusOK, editorview.LastValues(last))
}

// mainInput returns the input of a step that says most about the run: the first that came over an edge, else the first that is not the
// choice of a model, or nil.
func mainInput(t *draftNode, input map[string]any) (main any) {
	for _, p := range flow.InputPorts(t.node, t.kind) {
		v, given := input[p.Name]
		switch {
		case !given:
		case slices.ContainsFunc(t.Edges, func(e flow.Edge) bool { return e.To == t.node.ID+"."+p.Name }):
			return v
		case main == nil && p.Name != "model":
			main = v
		}
	}
	return main
}
