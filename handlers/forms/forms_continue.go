package forms

import (
	"slices"

	"sluice/flow"
	"sluice/flow/contract"
)

// A visitor can continue the conversation that an agent had in a run of theirs: the ticket of the run proves that it
// is theirs. In a chat the page sends the ticket of the last reply.

// continued returns the run whose conversation a ticket continues, or nil if the flow has no agent or the run has nothing that can be
// continued: a chat then continues with its texts only.
func (v *formCall) continued(ticket string) (*flow.Run, error) {
	if ticket == "" || !v.remembers() {
		return nil, nil
	}
	run, err := v.previousRun(ticket)
	if err != nil || run == nil || run.Erased != "" || run.State != flow.RunSucceeded {
		return nil, err
	}
	return run, nil
}

// remembers reports whether the live version has an agent, which can continue a conversation.
func (v *formCall) remembers() bool {
	return slices.ContainsFunc(v.doc.Nodes, func(n flow.Node) bool {
		k := v.s.Kinds.Find(n.Kind)
		return k != nil && k.Remember != nil
	})
}

// startContinued starts a run that continues an earlier one. If that has no conversation, because no agent worked in it or it was
// erased meanwhile, the run starts without.
func (v *formCall) startContinued(s flow.Start, earlier *flow.Run) (flow.Started, error) {
	if earlier != nil {
		s.Options.Continue = earlier.ID
	}
	started, err := v.s.Runner.StartRun(v.Ctx(), s)
	if earlier != nil && isForgotten(err) {
		s.Options.Continue = ""
		started, err = v.s.Runner.StartRun(v.Ctx(), s)
	}
	return started, err
}

// isForgotten reports whether a start failed because there is nothing to continue.
func isForgotten(err error) bool {
	switch e := flow.AsError(err); {
	case err == nil:
		return false
	case e.Code == flow.CodeRunExpired, e.Code == flow.CodeResultNotSaved, e.Code == flow.CodeUpgradeInProgress:
		return true
	default:
		at := flow.Pointer(contract.ReservedInput, "continue")
		return slices.ContainsFunc(e.Fields, func(p flow.Problem) bool { return p.Pointer == at })
	}
}
