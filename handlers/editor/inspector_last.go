package editor

import (
	"net/http"

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
	for _, p := range flow.InputPorts(t.node, t.kind) {
		if v, ok := step.Input[p.Name]; ok && last.Input == "" {
			last.Input = previewOf(v).Text
		}
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
