package console

import (
	"maps"
	"net/url"
	"slices"

	"sluice/flow"
	"sluice/snippets"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

// advice is what to do about each code of a failed run.
var advice = map[flow.Code]string{
	flow.CodeProviderAuth:        "The provider does not take the credential. Test it under Credentials, or choose another one in the node.",
	flow.CodeProviderRateLimited: "The provider takes no more requests for now. Wait a moment and run it again, or give the node retries with a pause.",
	flow.CodeProviderRejected:    "The provider refused what it was asked. Look at the input of the step: its length, its files, the settings of the model.",
	flow.CodeProviderUnavailable: "The provider did not answer as it should. It is likely to pass: run it again, or give the node retries.",
	flow.CodeModelNotFound:       "The provider does not know this model, or this account may not use it. Choose another model in the node.",
	flow.CodeModelIncompatible:   "The model cannot do what the node asks of it. Choose another model, or change what is asked.",
	flow.CodeOutputInvalid:       "What came back does not have the form that was asked for. Loosen the schema, or say in the prompt what is wanted.",
	flow.CodeStepTimeout:         "The step took too long. Give the node a longer time limit, or less to do.",
	flow.CodeRunTimeout:          "The run took too long as a whole. Start it with a longer timeout_s, or part it into several runs.",
	flow.CodeInputInvalid:        "A value is not what the node takes. Compare the input of the step with what the node's ports want.",
	flow.CodeExpressionFailed:    "The expression could not be worked out for this value. Try it in the node with the input of this step.",
	flow.CodeCodeFailed:          "The code of the node failed. Its message says where; try it in the node with the input of this step.",
	flow.CodeDestinationBlocked:  "The address is in a private or reserved network. An operator can allow it with SLUICE_ALLOW_PRIVATE.",
	flow.CodeHTTPFailed:          "The server answered with an error, or not at all. Look at the address and the answer in the step; retries help with what passes.",
	flow.CodeBudgetExceeded:      "The budget of the key or the flow is used up. Raise it, or wait until it begins anew.",
	flow.CodePoisoned:            "Carrying this run out stopped the server several times, so it is not tried again. The log says what happened.",
	flow.CodeInternal:            "This is a fault of Sluice. The log has the details; a rerun may do.",
	flow.CodeQuotaExceeded:       "The Usage page shows what this workspace stores. Delete runs or files, or ask the operator to raise the quota.",
	flow.CodeQueueFull:           "Too many runs wait already. Try again later, or raise the limit of the flow.",
}

// runError is an error with what to do about it.
func (v *runView) runError(e *flow.Error) *consoleview.RunError {
	if e == nil {
		return nil
	}
	out := &consoleview.RunError{Code: string(e.Code), Message: e.Message, Node: e.Node, Label: v.label(e.Node), Advice: advice[e.Code]}
	if e.Message == "" { // an erased run keeps the code alone
		out.Message = "The run failed."
	}
	if e.Node != "" && v.doc != nil {
		out.Reused = v.reused(e.Node)
	}
	return out
}

// reused counts the finished steps that a rerun from a node takes over: those
// that do not depend on it.
func (v *runView) reused(from string) (n int) {
	again := map[string]bool{from: true}
	for _, id := range v.order { // edges go forward in it
		for _, e := range v.doc.Edges {
			if e.ToNode() == id && again[e.FromNode()] {
				again[id] = true
			}
		}
	}
	for i := range v.steps {
		s := &v.steps[i]
		if !again[topNode(s.Path)] && (s.State == flow.StepSucceeded || s.State == flow.StepReused) {
			n++
		}
	}
	return n
}

// cancelRun is POST cancel. Canceling a run that has ended changes nothing.
func (c *call) cancelRun(run *flow.Run) error {
	if run.State.Ended() {
		c.Toast(components.ToneNone, "The run had ended already.")
	} else if _, err := c.s.Runner.CancelRun(c.Ctx(), c.WorkspaceID(), run.FlowID, run.ID); err != nil {
		return err
	} else {
		c.Toast(components.ToneOK, "The run is being canceled.")
	}
	return c.Redirect("/runs/" + url.PathEscape(run.ID))
}

// rerun is POST rerun: a new run of the same document, whole or from a node.
func (c *call) rerun() error {
	run, err := c.findRun()
	if err != nil {
		return err
	}
	start := flow.Start{WorkspaceID: c.WorkspaceID(), FlowID: run.FlowID, UserID: c.Member.UserID, Trigger: flow.TriggerRerun}
	out, err := c.s.Runner.Rerun(c.Ctx(), flow.Rerun{Start: start, ParentRunID: run.ID, From: c.FormValue("from")})
	if err != nil {
		return err
	}
	return c.Redirect("/runs/" + url.PathEscape(out.Run.ID))
}

// maxCURL bounds the inputs, in bytes, that are put into a command to copy:
// shells take no longer argument.
const maxCURL = 100 << 10

// curl is a command that starts a run with the same inputs, as the snippets
// write it; empty if they are too long for one.
func (s *Server) curl(run *flow.Run) (string, error) {
	if len(flow.EncodeJSON(run.Inputs)) > maxCURL {
		return "", nil
	}
	call := snippets.Call{BaseURL: s.PublicURL, FlowID: run.FlowID}
	for _, name := range slices.Sorted(maps.Keys(run.Inputs)) {
		call.Inputs = append(call.Inputs, snippets.Input{Name: name, Value: run.Inputs[name]})
	}
	if run.Draft {
		call.Inputs = append(call.Inputs, snippets.Input{Name: flow.ReservedInput, Value: map[string]any{"version": draftWord}})
	}
	return snippets.Render("curl", snippets.MannerWait, call)
}
