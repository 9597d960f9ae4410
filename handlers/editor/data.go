package editor

import (
	"fmt"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/web"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// findRunOrLast returns the run with the ID, or the last run of the flow if the ID
// is empty. It returns nil if the flow has no runs.
func (c *call) findRunOrLast(flowID flow.FlowID, runID flow.RunID) (*flow.Run, error) {
	if runID != "" {
		return c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), flowID, runID)
	}
	runs, err := c.s.Store.ListRuns(c.Ctx(), flow.RunFilter{WorkspaceID: c.WorkspaceID(), FlowID: flowID, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("find the last run of %s: %w", flowID, err)
	}
	if len(runs) == 0 {
		return nil, nil
	}
	return &runs[0], nil
}

// lastSteps returns the last run of a flow and its steps by node. Without a run, both are
// nil.
func (c *call) lastSteps(flowID flow.FlowID) (*flow.Run, map[string]*flow.Step, error) {
	run, err := c.findRunOrLast(flowID, "")
	if err != nil || run == nil {
		return nil, nil, err
	}
	steps, err := c.s.Store.FindSteps(c.Ctx(), c.WorkspaceID(), run.ID)
	byNode := make(map[string]*flow.Step, len(steps))
	for i := range steps {
		if s := &steps[i]; s.Path == s.Node { // skips steps inside other nodes
			byNode[s.Node] = s
		}
	}
	return run, byNode, err
}

// findStep returns the step of a node in a run, or nil if it has not started.
func (c *call) findStep(run *flow.Run, node string) (*flow.Step, error) {
	steps, err := c.s.Store.FindSteps(c.Ctx(), c.WorkspaceID(), run.ID)
	if err != nil {
		return nil, err
	}
	for i := range steps {
		if steps[i].Path == node {
			return &steps[i], nil
		}
	}
	return nil, nil
}

// showData is GET /flows/{id}/data/{node}?run=: the inputs and outputs of a node in
// a run. With ?side= it renders a part of one value; see showBranch.
func (c *call) showData() error {
	if c.QueryParam("side") != "" {
		return c.showBranch()
	}
	d, err := c.findDraft()
	if err != nil {
		return err
	}
	n := d.Node(c.Param("node"))
	if n == nil {
		n, err = c.nodeOfRun(d)
	}
	if err != nil {
		return err
	}
	return c.dataPanel(http.StatusOK, d, n, flow.RunID(c.QueryParam("run")), nil)
}

// nodeOfRun returns the node of the path from the document of the run, for nodes
// that the draft no longer has.
func (c *call) nodeOfRun(d *draft) (*flow.Node, error) {
	run, err := c.findRunOrLast(d.flow.ID, flow.RunID(c.QueryParam("run")))
	if err != nil {
		return nil, err
	}
	if run != nil {
		doc, err := c.findRunDocument(run)
		if err != nil {
			return nil, err
		}
		if n := doc.Node(c.Param("node")); n != nil {
			return n, nil
		}
	}
	return nil, web.ErrNotFound
}

// dataPanel renders the data of a node, and the error of a refused pin unless
// pinErr is nil.
func (c *call) dataPanel(status int, d *draft, n *flow.Node, runID flow.RunID, pinErr *pinError) error {
	panel := editorview.DataPanel{FlowID: string(d.flow.ID), Node: n.ID, Now: c.s.Now(), MayPin: c.MayEdit() && d.Node(n.ID) != nil}
	k := c.s.Kinds.For(n)
	panel.Title, panel.CanPin = document.NodeTitle(n, k), k != nil && k.CanPin()
	ins, outs := flow.StepPorts(n, k)
	run, err := c.findRunOrLast(d.flow.ID, runID)
	if err != nil {
		return err
	}
	if run != nil {
		if err := c.fillData(&panel, run, ins, outs); err != nil {
			return err
		}
	}
	if err := c.fillPin(&panel, d, outs); err != nil {
		return err
	}
	if pinErr != nil {
		panel.Typed, panel.PinError = pinErr.typed, pinErr.text
	}
	if c.IsFragment() {
		return c.Render(status, editorview.Data(panel))
	}
	return c.builder(status, d, func(b *editorview.BuilderPage) { b.Fill.Data = editorview.Data(panel) })
}

// fillData fills in the step of the node in a run.
func (c *call) fillData(panel *editorview.DataPanel, run *flow.Run, ins, outs []flow.Port) error {
	m := c.mark(run)
	panel.Run = &m
	if run.Erased != "" {
		panel.Erased = "The content of this run was erased: it was not saved, or its retention period is over."
	}
	step, err := c.findStep(run, panel.Node)
	if err != nil || step == nil {
		return err
	}
	panel.State, panel.Attempts, panel.Usage, panel.Error = string(step.State), step.Attempt, web.UsageView(step.Usage), failureOf(step.Error)
	panel.Duration, panel.Log = stepTook(step, c.s.Now()), step.Log()
	panel.Inputs = c.valuesOf(panel, run, "input", step.Input, ins)
	panel.Outputs = c.valuesOf(panel, run, "output", step.Outputs, outs)
	return nil
}

// valuesOf converts values in the order of their ports, each with the URL of its nested parts.
func (c *call) valuesOf(panel *editorview.DataPanel, run *flow.Run, side string, values map[string]any, ports []flow.Port) []components.ValueView {
	list := []components.ValueView{}
	for _, name := range flow.PortNames(values, ports) {
		list = append(list, components.ValueView{Name: name, Value: values[name], More: web.StepValueURL(run, panel.Node, side, name)})
	}
	return list
}

// fillPin fills in the pinned outputs, or else offers the outputs of the run as a
// starting point for a pin.
func (c *call) fillPin(panel *editorview.DataPanel, d *draft, outs []flow.Port) error {
	pins, err := c.s.Store.ListPins(c.Ctx(), c.WorkspaceID(), d.flow.ID)
	if err != nil {
		return err
	}
	for _, p := range pins {
		if p.Node == panel.Node {
			panel.HasPin, panel.PinnedAt = true, p.CreatedAt
			for _, name := range flow.PortNames(p.Outputs, outs) {
				panel.Pinned = append(panel.Pinned, components.ValueView{Name: name, Value: p.Outputs[name]})
			}
			panel.Typed = web.Indented(p.Outputs)
			return nil
		}
	}
	outputs := map[string]any{}
	for _, v := range panel.Outputs {
		outputs[v.Name] = v.Value
	}
	panel.Typed = "{}"
	if text := web.Indented(outputs); len(text) < maxEditable {
		panel.Typed = text
	}
	return nil
}

// maxEditable is the size, in bytes, below which the outputs of a run are offered
// for editing.
const maxEditable = 64 << 10

// showBranch renders the part of a value that ?at= points to, because the tree
// loads nested parts only when they are opened.
func (c *call) showBranch() error {
	f, err := c.FindFlow()
	if err != nil {
		return err
	}
	run, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), f.ID, flow.RunID(c.QueryParam("run")))
	if err != nil {
		return err
	}
	step, err := c.findStep(run, c.Param("node"))
	if err != nil {
		return err
	}
	if step == nil {
		return web.ErrNotFound
	}
	values := step.Outputs
	if c.QueryParam("side") == "input" {
		values = step.Input
	}
	port := c.QueryParam("port")
	v, ok := values[port]
	if ok {
		v, ok = valueAt(v, c.QueryParam("at"))
	}
	if !ok {
		return web.ErrNotFound
	}
	more := web.StepValueURL(run, step.Node, c.QueryParam("side"), port)
	return c.Render(http.StatusOK, components.Value(components.ValueView{Name: port, Value: v, More: more, At: c.QueryParam("at"), All: true}))
}

// valueAt returns the value at a JSON pointer (RFC 6901).
func valueAt(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, true
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		next, ok := flow.JSONMember(v, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}
