package console

import (
	"net/url"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/items"
	"sluice/handlers/console/advice"
	"sluice/snippets"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

// runError converts an error, with advice. Erased runs have only the code.
func (v *runView) runError(e *flow.Error) *consoleview.RunError {
	if e == nil {
		return nil
	}
	out := &consoleview.RunError{Code: string(e.Code), Message: advice.Plain(e, v.modelOf(e.Node)), Node: e.Node, Label: v.label(e.Node), Advice: advice.For(e)}
	if e.Message == "" { // an erased run keeps only the code
		out.Message = "The run failed."
	}
	if e.Node != "" && v.doc != nil {
		out.Reused = v.reused(e.Node)
	}
	return out
}

// modelOf returns the model that the step of a node has called, or "".
func (v *runView) modelOf(node string) string {
	if s := v.step(node); s != nil {
		return s.Model()
	}
	return ""
}

// headError returns why the run failed. If a step failed because of an item of a list, it is the
// error of the item.
func (c *call) headError(v *runView) (*consoleview.RunError, error) {
	e := v.runError(v.run.Error)
	if e == nil {
		return nil, nil
	}
	s := v.children[e.Node]
	if s == nil || v.run.Erased != "" || !v.isMap(e.Node, s) {
		return e, nil
	}
	failures, err := c.s.Store.ListFailures(c.Ctx(), s.Caller, 1)
	if err != nil || len(failures) == 0 {
		return e, err
	}
	cause := failures[0]
	model, err := c.itemModel(s, cause)
	if err != nil {
		return nil, err
	}
	e.Item = &consoleview.ItemRef{Number: cause.Item, Path: consoleview.ItemPath(e.Node, cause.Item)}
	e.Code, e.Message, e.Advice = string(cause.Error.Code), advice.Plain(cause.Error, model), advice.For(cause.Error)
	counts, err := c.countItems(s)
	if err != nil {
		return nil, err
	}
	e.Retry = itemRetry(s, counts)
	return e, nil
}

// itemModel returns the model that the failed step of an item has called, or "".
func (c *call) itemModel(s *flow.Children, failure items.Failure) (string, error) {
	results, err := c.s.Store.ReadChildren(c.Ctx(), c.WorkspaceID(), s.Caller, failure.Item, failure.Item+1)
	if err != nil || len(results) == 0 || results[0].RunID == "" {
		return "", err
	}
	steps, err := c.s.Store.FindSteps(c.Ctx(), c.WorkspaceID(), results[0].RunID)
	for i := range steps {
		if steps[i].Path == failure.Error.Node {
			return steps[i].Model(), err
		}
	}
	return "", err
}

// reused counts the finished steps that a rerun from a node would reuse: those
// that do not depend on the node.
func (v *runView) reused(from string) (n int) {
	rerun := map[string]bool{from: true}
	for _, id := range v.order { // edges only go forward in this order
		for _, e := range v.doc.Edges {
			if e.ToNode() == id && rerun[e.FromNode()] {
				rerun[id] = true
			}
		}
	}
	for i := range v.steps {
		s := &v.steps[i]
		if !rerun[topNode(s.Path)] && (s.State == flow.StepSucceeded || s.State == flow.StepReused) {
			n++
		}
	}
	return n
}

// cancelRun is POST /runs/{run}/cancel. It is idempotent.
func (c *call) cancelRun(run *flow.Run) error {
	if run.State.Ended() {
		c.Toast(components.ToneNone, "The run had already ended.")
	} else if c.FormValue("after") == "turn" {
		if _, err := c.s.runs.StopAfterTurn(c.Ctx(), c.Actor(), run); err != nil {
			return err
		}
		c.Toast(components.ToneOK, "The run stops after this turn.")
	} else if _, err := c.s.runs.Cancel(c.Ctx(), c.Actor(), run); err != nil {
		return err
	} else {
		c.Toast(components.ToneOK, "The run is being canceled.")
	}
	return c.Redirect("/runs/" + url.PathEscape(string(run.ID)))
}

// rerun is POST /runs/{run}/rerun: a new run of the same document, from the
// start or from a node.
func (c *call) rerun() error {
	run, err := c.findRun()
	if err != nil {
		return err
	}
	start := flow.Start{WorkspaceID: c.WorkspaceID(), FlowID: run.FlowID, UserID: c.Member.UserID, Trigger: flow.TriggerRerun}
	again := flow.Rerun{Start: start, ParentRunID: run.ID, From: c.FormValue("from"), ChildVersions: flow.ParseChildVersions(c.FormValue("children")), SkipFailed: c.FormValue("skip") == "failed"}
	if c.FormValue("edit") != "" {
		if again.Arguments, err = readArguments(c, run, again.From); err != nil {
			return err
		}
	}
	out, err := c.s.Runner.Rerun(c.Ctx(), again)
	if err != nil {
		return err
	}
	return c.Redirect("/runs/" + url.PathEscape(string(out.Run.ID)))
}

// maxCURL bounds the inputs in a command, in bytes: Linux accepts at most 128
// KiB for one argument.
const maxCURL = 100 << 10

// curl returns a command that starts a run with the same inputs, or "" if they
// are too long for a command.
func (s *Server) curl(run *flow.Run) (string, error) {
	if len(flow.EncodeJSON(run.Inputs)) > maxCURL {
		return "", nil
	}
	call := snippets.Call{BaseURL: s.PublicURL, FlowID: string(run.FlowID)}
	for name, v := range run.Inputs.All() {
		call.Inputs = append(call.Inputs, snippets.Input{Name: name, Value: v})
	}
	if run.Draft {
		call.Inputs = append(call.Inputs, snippets.Input{Name: contract.ReservedInput, Value: map[string]any{"version": draftWord}})
	}
	return snippets.Render("curl", snippets.ModeWait, call)
}
