package editor

import (
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
)

// pin is POST /flows/{id}/pin/{node}: it pins outputs, which replace those of the
// node in runs of the draft.
func pin(c *call) error {
	d, n, err := findPinned(c)
	if err != nil {
		return err
	}
	if err := c.ParseForm(); err != nil {
		return err
	}
	typed := c.FormValue("outputs")
	outputs, err := pinOutputs(c, d, n)
	if err != nil {
		return refusePin(c, d, n, typed, err)
	}
	if err := c.s.Store.SavePin(c.Ctx(), c.WorkspaceID(), d.flow.ID, flow.Pin{Node: n.ID, Outputs: outputs}); err != nil {
		return refusePin(c, d, n, typed, err)
	}
	return pinChanged(c, d, n, true)
}

// unpin is POST /flows/{id}/unpin/{node}. Removing a pin that does not exist
// succeeds.
func unpin(c *call) error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	if err := c.ParseForm(); err != nil {
		return err
	}
	err = c.s.Store.RemovePin(c.Ctx(), c.WorkspaceID(), f.ID, c.Param("node"))
	if err != nil && !flow.IsNotFound(err) {
		return err
	}
	d, n, err := findPinned(c)
	if err != nil {
		return err
	}
	return pinChanged(c, d, n, false)
}

// findPinned finds the node of the path in the draft.
func findPinned(c *call) (*draft, *flow.Node, error) {
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

// pinOutputs returns the outputs to pin: the submitted JSON, or else the outputs of
// the node in the run.
func pinOutputs(c *call, d *draft, n *flow.Node) (map[string]any, error) {
	if k := c.s.Kinds.For(n); k == nil || !k.CanPin() {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The outputs of this kind of node cannot be pinned. Pin those of the node before it.")
	}
	if text := strings.TrimSpace(c.FormValue("outputs")); text != "" {
		return typedOutputs(c, text)
	}
	run, err := c.findRunOrLast(d.flow.ID, flow.RunID(c.FormValue("run")))
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
	return nil, flow.Errorf(flow.CodeInputInvalid, "This node has no outputs yet. Run the draft up to it first, or type the outputs.")
}

// typedOutputs parses submitted outputs. Files are identified by ID only; their
// name, type and size come from the store.
func typedOutputs(c *call, text string) (map[string]any, error) {
	v, err := flow.DecodeJSON([]byte(text))
	if err != nil {
		return nil, flow.Errorf(flow.CodeInputInvalid, "This is not valid JSON: %v.", err)
	}
	outputs, ok := flow.AsMap(v)
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
			return nil, flow.Errorf(flow.CodeInputInvalid, "The file %s does not exist. Upload it first.", id)
		}
	}
	outputs, _ = flow.AsMap(flow.MapFiles(outputs, func(id string, _ map[string]any) map[string]any { return files[id].Value() }))
	return outputs, nil
}

// pinChanged notifies the pages of the flow and renders the data of the node.
func pinChanged(c *call, d *draft, n *flow.Node, pinned bool) error {
	c.s.Announce(d.flow.ID, "flow:pinned", map[string]any{"node": n.ID, "pinned": pinned})
	if !c.IsFragment() {
		return c.Redirect("/flows/" + string(d.flow.ID) + "?node=" + n.ID)
	}
	return c.dataPanel(http.StatusOK, d, n, flow.RunID(c.FormValue("run")), nil)
}

// refusePin renders the data of the node with the submitted text and the error.
// Internal errors are returned.
func refusePin(c *call, d *draft, n *flow.Node, typed string, cause error) error {
	e := flow.AsError(cause)
	if e.Code == flow.CodeInternal || e.Code == flow.CodeNotFound {
		return cause
	}
	return c.dataPanel(http.StatusUnprocessableEntity, d, n, flow.RunID(c.FormValue("run")), &pinError{typed, e.Message})
}

// pinError is a refused pin: the submitted text and the error message.
type pinError struct{ typed, text string }
