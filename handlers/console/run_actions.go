package console

import (
	"net/url"

	"sluice/flow"
	"sluice/flow/contract"
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
	out := &consoleview.RunError{Code: string(e.Code), Message: e.Message, Node: e.Node, Label: v.label(e.Node), Advice: advice.For(e)}
	if e.Message == "" { // an erased run keeps only the code
		out.Message = "The run failed."
	}
	if e.Node != "" && v.doc != nil {
		out.Reused = v.reused(e.Node)
	}
	return out
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
	out, err := c.s.Runner.Rerun(c.Ctx(), flow.Rerun{Start: start, ParentRunID: run.ID, From: c.FormValue("from"), ChildVersions: flow.ParseChildVersions(c.FormValue("children"))})
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
