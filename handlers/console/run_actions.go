package console

import (
	"maps"
	"net/url"
	"slices"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/snippets"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

// advice is what to do about each code of a failed run or step.
var advice = map[flow.Code]string{
	flow.CodeProviderAuth:        "The provider rejects the credential. Test it under Credentials, or choose another one in the node.",
	flow.CodeProviderRateLimited: "The provider limits the rate of requests. Wait a moment and run it again, or give the node retries with a pause.",
	flow.CodeProviderRejected:    "The provider rejected the request. Check the input of the step: its length, its files, and the settings of the model.",
	flow.CodeProviderUnavailable: "The provider is unavailable, probably for a short time. Run it again, or give the node retries.",
	flow.CodeModelNotFound:       "The provider does not know this model, or this account may not use it. Choose another model in the node.",
	flow.CodeModelIncompatible:   "The model does not support what the node needs. Choose another model, or change the settings of the node.",
	flow.CodeOutputInvalid:       "The output does not match the schema. Loosen the schema, or describe the expected output in the prompt.",
	flow.CodeChildFailed:         "A flow that this node runs failed. Open its run below for the cause. To keep the other items of a map, set \"If an item fails\" to keep.",
	flow.CodeOutputTooLarge:      "The results of the map are too large for lists. Set its results to file.",
	flow.CodeStepTimeout:         "The step took too long. Give the node a longer time limit or less work.",
	flow.CodeRunTimeout:          "The run took too long. Start it with a longer timeout_s, or split it into several runs.",
	flow.CodeInputInvalid:        "The node does not accept a value. Compare the input of the step with the types of the node's ports.",
	flow.CodeExpressionFailed:    "The expression failed for this value. Try it in the node with the input of this step.",
	flow.CodeCodeFailed:          "The code of the node failed. Try it in the node with the input of this step.",
	flow.CodeDestinationBlocked:  "The address is in a private or reserved network. An operator can allow it with SLUICE_ALLOW_PRIVATE.",
	flow.CodeHTTPFailed:          "The server responded with an error, or not at all. Check the address and the response in the step. If the error is temporary, give the node retries.",
	flow.CodePriceUnknown:        "Set the price of the model with 'sluice price set', or allow models without a price under Limits.",
	flow.CodeBudgetExceeded:      "The budget of the key or the flow is used up. Raise it, or wait until it resets.",
	flow.CodePoisoned:            "This run crashed the server several times, so it is not retried. See the server's log for the cause.",
	flow.CodeInternal:            "This is a bug in Sluice. The server's log has the details. A rerun may work.",
	flow.CodeQuotaExceeded:       "The Usage page shows what this workspace stores. Delete runs or files, or ask the operator to raise the quota.",
	flow.CodeQueueFull:           "Too many runs are queued. Try again later, or raise the queue limit of the flow.",
}

// runError converts an error, with advice. Erased runs have only the code.
func (v *runView) runError(e *flow.Error) *consoleview.RunError {
	if e == nil {
		return nil
	}
	out := &consoleview.RunError{Code: string(e.Code), Message: e.Message, Node: e.Node, Label: v.label(e.Node), Advice: advice[e.Code]}
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
	again := map[string]bool{from: true}
	for _, id := range v.order { // edges only go forward in this order
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

// cancelRun is POST /runs/{run}/cancel. Canceling a run that has ended does
// nothing.
func (c *call) cancelRun(run *flow.Run) error {
	if run.State.Ended() {
		c.Toast(components.ToneNone, "The run had already ended.")
	} else if _, err := c.s.Runner.CancelRun(c.Ctx(), c.WorkspaceID(), run.FlowID, run.ID); err != nil {
		return err
	} else {
		c.Toast(components.ToneOK, "The run is being canceled.")
	}
	return c.Redirect("/runs/" + url.PathEscape(run.ID))
}

// rerun is POST /runs/{run}/rerun: a new run of the same document, from the
// start or from a node.
func (c *call) rerun() error {
	run, err := c.findRun()
	if err != nil {
		return err
	}
	start := flow.Start{WorkspaceID: c.WorkspaceID(), FlowID: run.FlowID, UserID: c.Member.UserID, Trigger: flow.TriggerRerun}
	out, err := c.s.Runner.Rerun(c.Ctx(), flow.Rerun{Start: start, ParentRunID: run.ID, From: c.FormValue("from"), ChildrenLive: c.FormValue("children") == "live"})
	if err != nil {
		return err
	}
	return c.Redirect("/runs/" + url.PathEscape(out.Run.ID))
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
	call := snippets.Call{BaseURL: s.PublicURL, FlowID: run.FlowID}
	for _, name := range slices.Sorted(maps.Keys(run.Inputs)) {
		call.Inputs = append(call.Inputs, snippets.Input{Name: name, Value: run.Inputs[name]})
	}
	if run.Draft {
		call.Inputs = append(call.Inputs, snippets.Input{Name: contract.ReservedInput, Value: map[string]any{"version": draftWord}})
	}
	return snippets.Render("curl", snippets.MannerWait, call)
}
