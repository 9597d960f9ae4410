package editor

import (
	"time"

	"sluice/flow"
	editorview "sluice/views/editor"
)

// usageOf converts what a step or run consumed.
func usageOf(u flow.Usage) editorview.Usage {
	return editorview.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CostNanoUSD: int64(u.CostNanoUSD)}
}

// markOf converts a run.
func markOf(run *flow.Run, now time.Time) editorview.RunMark {
	m := editorview.RunMark{
		FlowID: run.FlowID, ID: run.ID, State: string(run.State), Draft: run.Draft, Version: run.Version, Trigger: string(run.Trigger),
		Done: run.Progress.Done, All: run.Progress.Total, Usage: usageOf(run.Usage), CreatedAt: run.CreatedAt, Error: troubleOf(run.Error),
	}
	switch {
	case !run.EndedAt.IsZero() && !run.StartedAt.IsZero():
		m.Took = max(0, run.EndedAt.Sub(run.StartedAt))
	case !run.StartedAt.IsZero():
		m.Took = max(0, now.Sub(run.StartedAt))
	}
	return m
}

// troubleOf explains an error. It returns nil for none.
func troubleOf(e *flow.Error) *editorview.Trouble {
	if e == nil {
		return nil
	}
	do := remedies[e.Code]
	if do == "" && e.Retryable {
		do = "Run it again; the error may be temporary."
	}
	return &editorview.Trouble{Code: string(e.Code), Text: editorview.Sentence(e.Message), Do: do, Node: e.Node}
}

// remedies contains what a person can do about a failure.
var remedies = map[flow.Code]string{
	flow.CodeProviderAuth:        "Check the credential that the node uses under Credentials, then run from here.",
	flow.CodeProviderRateLimited: "Wait a moment and run from here, or let the node try again under Retry.",
	flow.CodeProviderRejected:    "Change what the node sends: its model, its prompt or its options.",
	flow.CodeProviderUnavailable: "Run from here in a moment, or let the node try again under Retry.",
	flow.CodeModelNotFound:       "Choose another model in the node.",
	flow.CodeModelIncompatible:   "Choose a model that can do this, or take the option away.",
	flow.CodeOutputInvalid:       "Look at the output and loosen the schema, or ask for it more clearly.",
	flow.CodeChildFailed:         "Open the child run; its page says what to do.",
	flow.CodeOutputTooLarge:      "Let the map write its results to a file.",
	flow.CodeStepTimeout:         "Give the node more time, or less to do.",
	flow.CodeRunTimeout:          "Look at which step takes long; a run may take an hour.",
	flow.CodeInputInvalid:        "Look at the node's input: something came in that it cannot take.",
	flow.CodeExpressionFailed:    "Fix the expression in the node, then run from here.",
	flow.CodeCodeFailed:          "Fix the code in the node, then run from here.",
	flow.CodeDestinationBlocked:  "An operator can allow private addresses with SLUICE_ALLOW_PRIVATE.",
	flow.CodeHTTPFailed:          "Open the address yourself, or list the status under the codes that succeed.",
	flow.CodePriceUnknown:        "Set the price of the model, or allow models without a price under Limits.",
	flow.CodeBudgetExceeded:      "Raise the budget under Usage, or wait for the next period.",
	flow.CodePoisoned:            "The log says what crashed. Change the flow before you run it again.",
	flow.CodeInternal:            "The log has the details. If it happens again, report it with the run's ID.",
}
