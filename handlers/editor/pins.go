package editor

import (
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
)

// pin is POST /flows/{id}/pin/{node}: outputs of a run, or typed ones, stand in
// for the node when the draft is tried out.
func (c *call) pin() error {
	d, n, err := c.findPinned()
	if err != nil {
		return err
	}
	if err := c.ParseForm(); err != nil {
		return err
	}
	typed := c.FormValue("outputs")
	outputs, err := c.pinOutputs(d, n)
	if err != nil {
		return c.refusePin(d, n, typed, err)
	}
	if err := c.s.Store.SavePin(c.Ctx(), c.WorkspaceID(), d.flow.ID, flow.Pin{Node: n.ID, Outputs: outputs}); err != nil {
		return c.refusePin(d, n, typed, err)
	}
	return c.pinChanged(d, n, true)
}

// unpin is POST /flows/{id}/unpin/{node}. What is not pinned stays so.
func (c *call) unpin() error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	if err := c.ParseForm(); err != nil {
		return err
	}
	err = c.s.Store.RemovePin(c.Ctx(), c.WorkspaceID(), f.ID, c.Param("node"))
	if err != nil && !web.IsNotFound(err) {
		return err
	}
	d, n, err := c.findPinned()
	if err != nil {
		return err
	}
	return c.pinChanged(d, n, false)
}

// findPinned finds the node of the address in the draft.
func (c *call) findPinned() (*draft, *flow.Node, error) {
	d, err := c.findDraft()
	if err != nil {
		return nil, nil, err
	}
	n := d.Node(c.Param("node"))
	if n == nil {
		return nil, nil, web.ErrNotFound
	}
	return d, n, nil
}

// pinOutputs are the outputs to pin: typed as JSON, or those of a run's step.
func (c *call) pinOutputs(d *draft, n *flow.Node) (map[string]any, error) {
	if k := c.s.Kinds.For(n); k == nil || !k.CanPin() {
		return nil, flow.Errorf(flow.CodeInputInvalid, "Outputs cannot be pinned to this kind of node.")
	}
	if text := strings.TrimSpace(c.FormValue("outputs")); text != "" {
		return c.typedOutputs(text)
	}
	run, err := c.shownRun(d.flow.ID, c.FormValue("run"))
	if err != nil {
		return nil, err
	}
	if run != nil {
		step, err := c.findStep(run, n.ID)
		if err != nil {
			return nil, err
		}
		if step != nil && step.Outputs != nil && step.State != flow.StepFailed {
			return step.Outputs, nil
		}
	}
	return nil, flow.Errorf(flow.CodeInputInvalid, "This node has given nothing yet that could be pinned. Run the draft to it first, or type outputs.")
}

// typedOutputs reads outputs that were typed. Files in them are those of the
// workspace, whatever else was written about them.
func (c *call) typedOutputs(text string) (map[string]any, error) {
	v, err := flow.DecodeJSON([]byte(text))
	if err != nil {
		return nil, flow.Errorf(flow.CodeInputInvalid, "This is not JSON: %v.", err)
	}
	outputs, ok := v.(map[string]any)
	if !ok {
		return nil, flow.Errorf(flow.CodeInputInvalid, `Write an object with a value for each port, such as {"text": "Hello"}.`)
	}
	ids := flow.FileIDs(outputs)
	files, err := c.s.Store.FindFiles(c.Ctx(), c.WorkspaceID(), ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if files[id] == nil {
			return nil, flow.Errorf(flow.CodeInputInvalid, "There is no file %s. Upload it first.", id)
		}
	}
	outputs, _ = flow.MapFiles(outputs, func(id string, _ map[string]any) map[string]any { return files[id].Value() }).(map[string]any)
	return outputs, nil
}

// pinChanged tells the pages that show the flow, and shows the node's data again.
func (c *call) pinChanged(d *draft, n *flow.Node, is bool) error {
	c.s.Announce(d.flow.ID, "flow:pinned", map[string]any{"node": n.ID, "pinned": is})
	if !c.IsFragment() {
		return c.Redirect("/flows/" + d.flow.ID + "?node=" + n.ID)
	}
	return c.dataPanel(http.StatusOK, d, n, c.FormValue("run"), nil)
}

func (c *call) refusePin(d *draft, n *flow.Node, typed string, cause error) error {
	e := flow.AsError(cause)
	if e.Code == flow.CodeInternal || e.Code == flow.CodeNotFound {
		return cause
	}
	return c.dataPanel(http.StatusUnprocessableEntity, d, n, c.FormValue("run"), &pinTrouble{typed, e.Message})
}

// pinTrouble is an edited pin that was not taken.
type pinTrouble struct{ typed, text string }
